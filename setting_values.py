"""How the text of a setting becomes its value. Each reader raises ValueError that says what would be right."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

_MODEL_PATTERN = re.compile(r"none|scripted|embedded|(?:embedded|openai|anthropic):\S(?:.*\S)?")
_EMBEDDING_PATTERN = re.compile(r"none|embedded|(?:embedded|openai):\S(?:.*\S)?")
_HOST_PATTERN = re.compile(r"[A-Za-z0-9.:\[\]_-]+")


def long_enough(text: str) -> str:
    """A secret that is long enough to be one."""
    if len(text) < 32:
        raise ValueError("use at least 32 random characters, or leave it out to have a key made")
    return text


def whole(low: int, high: int) -> Callable[[str], int]:
    """A reader of whole numbers from `low` to `high`."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or not low <= int(text) <= high:
            raise ValueError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


def tokens_by_model(low: int, high: int) -> Callable[[str], dict[str, int]]:
    """A reader of numbers of tokens from `low` to `high`: one for all models (under ""), others for some by name."""
    number = whole(low, high)

    def parse(text: str) -> dict[str, int]:
        found = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _, tokens = part.rpartition("=")
            found[model(name.strip()) if name else ""] = number(tokens.strip())
        return found

    return parse


def seconds(text: str) -> float:
    """A length of time above 0, such as 20 or 2.5."""
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) or float(text) <= 0:
        raise ValueError(f"{text!r} is not a number of seconds above 0, such as 20 or 2.5")
    return float(text)


def one_of(*choices: str) -> Callable[[str], str]:
    """A reader that takes one of `choices`."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{text!r} is not one of {', '.join(choices)}")
        return text

    return parse


def folder(text: str) -> Path:
    """The absolute path of a folder that is there or can be made; `~` is the user's own."""
    path = Path(text).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file; name a folder")
    return path


def host(text: str) -> str:
    """A host name or an address."""
    if not _HOST_PATTERN.fullmatch(text):
        raise ValueError(f"{text!r} is not a host name or address, such as 127.0.0.1 or 0.0.0.0")
    return text


def hosts(text: str) -> tuple[str, ...]:
    """Host names, separated by commas, in lower case."""
    return tuple(host(name.strip()).lower() for name in text.split(",") if name.strip())


def networks(text: str) -> tuple[str, ...]:
    """Addresses and networks, separated by commas."""
    return tuple(_network(part.strip()) for part in text.split(",") if part.strip())


def _network(text: str) -> str:
    try:
        found = ipaddress.ip_network(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an address or a network, such as 127.0.0.1 or 10.1.0.0/16") from None
    if not found.prefixlen:
        raise ValueError(f"{text!r} is everybody; name the proxies alone")
    return text


def model(text: str) -> str:
    """The name of a model that can chat."""
    if not _MODEL_PATTERN.fullmatch(text):
        raise ValueError(
            f"{text!r} names no model; use embedded, embedded:<catalogue name or path of a .gguf file>, "
            "openai:<model>, anthropic:<model> or none"
        )
    return text


def model_patterns(text: str) -> tuple[str, ...]:
    """Names of models, separated by commas, in which `*` stands for anything."""
    patterns = tuple(part.strip() for part in text.split(",") if part.strip())
    for pattern in patterns:
        if pattern != "*" and not pattern.startswith(("embedded:", "openai:", "anthropic:")):
            raise ValueError(f"{pattern!r} names no model; use embedded:<name>, openai:<model>, anthropic:<model> or *")
    return patterns


def embedding_model(text: str) -> str:
    """The name of a model that can embed."""
    if not _EMBEDDING_PATTERN.fullmatch(text):
        raise ValueError(f"{text!r} names no model that embeds; use embedded, openai:<model> or none")
    return text


def web_address(text: str) -> str:
    """An http or https address, without the last slash."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{text!r} is not a web address, such as https://api.openai.com/v1")
    return text.rstrip("/")


def sqlite_only(_text: str) -> None:
    """No value at all: there is one kind of database as yet."""
    raise ValueError("this version keeps its data in SQLite below ANAPHORA_DATA_DIR; leave DATABASE_URL empty")
