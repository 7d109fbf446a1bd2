"""Everything that can be set, read once at start from the command line, the environment and `.env`.

`Settings` is the one list of settings, with their variables, defaults, validation and meaning; `SETTINGS_TABLE` and
`documentation/settings.md` are derived from it.
"""

from __future__ import annotations

import argparse
import ipaddress
import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar
from urllib.parse import SplitResult, urlsplit

from dotenv import dotenv_values
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from version import program

T = TypeVar("T")


class MappedFolder(NamedTuple):
    """A folder of documents that the operator maps to an account."""

    folder: Path
    read_only: bool


SECRET_FILE = "secret_key"
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_WITHOUT_PREFIX = frozenset(
    {
        "database_url",
        "redis_url",
        "openai_base_url",
        "openai_api_key",
        "anthropic_api_key",
        "otel_exporter_otlp_endpoint",
    }
)


class SettingsError(Exception):
    """A setting has an unusable value. The message names the variable and says what would be right."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name


def _reads(read: Callable[[str], object]) -> BeforeValidator:
    """A validator that reads texts other than "" by `read`, which raises ValueError with what would be right."""
    return BeforeValidator(lambda value: read(value) if value and isinstance(value, str) else value)


def _each(read: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """A reader of values separated by commas."""
    return lambda text: tuple(read(part.strip()) for part in text.split(",") if part.strip())


def _matching(pattern: str, otherwise: str) -> Callable[[str], str]:
    """A reader of texts that are whole like `pattern`; otherwise: what is said behind a text that is not."""

    def read(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"{text!r} {otherwise}")
        return text

    return read


_currency = _matching("[A-Z]{3}", "is no currency; use its three letters, such as USD or EUR")
_host = _matching(r"[A-Za-z0-9.:\[\]_-]+", "is not a host name or address, such as 127.0.0.1 or 0.0.0.0")
_model = _matching(
    r"none|scripted|embedded|(?:embedded|openai|anthropic):\S(?:.*\S)?",
    "names no model; use embedded, embedded:<catalogue name or path of a .gguf file>, openai:<model>, "
    "anthropic:<model> or none",
)
_embedding_model = _matching(
    r"none|embedded|(?:embedded|openai):\S(?:.*\S)?",
    "names no model that embeds; use embedded, openai:<model> or none",
)


def _number(text: str, *, low: int, high: int) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text) or not low <= int(text) <= high:
        raise ValueError(f"{text!r} is not a whole number from {low} to {high}")
    return int(text)


def _mapping(read: Callable[[str], tuple[str, T]]) -> Callable[[str], dict[str, T]]:
    """A reader of names with a value each, separated by commas."""

    def all_of(text: str) -> dict[str, T]:
        pairs = _each(read)(text)
        names = [name for name, _ in pairs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{twice[0] or 'the value for all others'} stands in it twice")
        return dict(pairs)

    return all_of


def _whole(low: int, high: int) -> BeforeValidator:
    return _reads(partial(_number, low=low, high=high))


def _tokens_by_model(low: int, high: int) -> BeforeValidator:
    """Numbers of tokens: one for all models (under ""), others for models by name."""

    def read(text: str) -> tuple[str, int]:
        name, _, tokens = text.rpartition("=")
        return _model(name.strip()) if name else "", _number(tokens.strip(), low=low, high=high)

    return _reads(_mapping(read))


def _price(text: str) -> tuple[str, tuple[float, float]]:
    """A model, or a pattern of models, with its prices of a million tokens read and of a million tokens written."""
    name, _, prices = text.rpartition("=")
    if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?/\d{1,6}(\.\d{1,6})?", prices.strip()):
        raise ValueError(f"{text!r} is no price; use <model>=<read>/<written>, such as openai:gpt-4o=2.50/10")
    read, written = prices.split("/")
    return _model_pattern(name.strip()), (float(read), float(written))


def _seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) or float(text) <= 0:
        raise ValueError(f"{text!r} is not a number of seconds above 0, such as 20 or 2.5")
    return float(text)


def _folder(text: str) -> Path:
    try:
        path = Path(text).expanduser().absolute()
        if not path.exists() or path.is_dir():
            return path
    except (OSError, RuntimeError) as error:  # the latter of a `~` that is nobody's
        raise ValueError(f"{text[:200]!r} can't be used: {getattr(error, 'strerror', error)}") from None
    raise ValueError(f"{path} is a file; name a folder")


def _host_alone(text: str) -> str:
    """A host name, or an IPv6 address in brackets, without the port that a browser's `Host` has behind it."""
    if "/" in text:
        raise ValueError(f"{text!r} is no host name alone; leave out https:// and the path, as in chat.example.org")
    name = _host(text).lower()
    if ":" in name and not (name.startswith("[") and name.endswith("]")):
        raise ValueError(f"{text!r} is no host name alone; leave out the port, and put IPv6 addresses in brackets")
    return name


def _network(text: str) -> str:
    try:
        found = ipaddress.ip_network(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an address or a network, such as 127.0.0.1 or 10.1.0.0/16") from None
    if not found.prefixlen:
        raise ValueError(f"{text!r} is everybody; name the proxies alone")
    return text


def _model_pattern(text: str) -> str:
    """The name of a model, in which `*` stands for anything."""
    if text != "*" and not text.startswith(("embedded:", "openai:", "anthropic:")):
        raise ValueError(f"{text!r} names no model; use embedded:<name>, openai:<model>, anthropic:<model> or *")
    return text


def _parts_of(text: str) -> SplitResult:
    """The parts of an address; nothing at all of one whose port, or address in brackets, is none."""
    try:
        parts = urlsplit(text)
        return parts if parts.port != 0 else urlsplit("")
    except ValueError:
        return urlsplit("")


def _web_address(text: str) -> str:
    parts = _parts_of(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{text!r} is not a web address, such as https://example.org/v1")
    if parts.query or parts.fragment:
        raise ValueError(
            f"{text!r} goes on after its path; paths are added to it, so leave out what begins with ? or #"
        )
    return text.rstrip("/")


def _issuer(text: str) -> str:
    """An OpenID provider's address, as it is: what it signs names it to the letter."""
    parts = _parts_of(text)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK_NAMES)
    if not is_safe or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{text!r} is no issuer; use https://<host>/<path>, as the provider calls itself")
    return text


def _scope(text: str) -> str:
    if "openid" not in text.split():
        raise ValueError(f"{text!r} lacks openid; use for example: openid email profile")
    return " ".join(text.split())


def _domain(text: str) -> str:
    if text != "*" and not re.fullmatch(r"[A-Za-z0-9.-]+", text):
        raise ValueError(f"{text!r} is no domain of e-mail addresses, such as example.org; * is every one")
    return text.lower()


def _long_enough(text: str) -> str:
    if len(text) < 32:
        raise ValueError("use at least 32 random characters, or leave it out to have a key made")
    return text


def _vault_folder(text: str) -> tuple[str, MappedFolder]:
    """An account's address with a folder; `:ro` behind the folder for one that is only read."""
    email, _, folder = text.partition("=")
    if "@" not in email or not folder.strip():
        raise ValueError(f"{text!r} maps no folder; use <e-mail address>=<folder>, or <e-mail address>=<folder>:ro")
    path = folder.strip()
    return email.strip().lower(), MappedFolder(_folder(path.removesuffix(":ro")), path.endswith(":ro"))


def _database_url(text: str) -> str:
    parts = _parts_of(text)
    if parts.scheme != "postgresql+psycopg" or not parts.path.strip("/"):
        # The text is not quoted: it may hold a password.
        raise ValueError(
            "use postgresql+psycopg://<user>:<password>@<host>/<database>, or leave it empty for SQLite below "
            "ANAPHORA_DATA_DIR"
        )
    return text


def _redis_url(text: str) -> str:
    parts = _parts_of(text)
    has_host = parts.scheme in ("redis", "rediss") and bool(parts.hostname)
    if not has_host and (parts.scheme != "unix" or parts.path in ("", "/")):
        # The text is not quoted: it may hold a password.
        raise ValueError(
            "use redis://:<password>@<host>:<port>/<number>, rediss://… for TLS, or unix://<path of the socket>"
        )
    return text


Folder = Annotated[Path, _reads(_folder)]
Seconds = Annotated[float, _reads(_seconds)]
Tokens = Mapping[str, int]
Prices = Mapping[str, tuple[float, float]]
Patterns = Annotated[tuple[str, ...], _reads(_each(_model_pattern))]
Names = Annotated[tuple[str, ...], _reads(_each(str))]
Threads = Annotated[int, _whole(1, 256)]


def _setting(default: object, meaning: str, *, flag: str | None = None, secret: bool = False) -> Any:
    """A setting; flag: the option of `python server.py` that sets it for one start."""
    return Field(default=default, description=meaning, repr=not secret, json_schema_extra={"flag": flag})


class Settings(BaseModel):
    """The values that one server or command runs with.

    data_dir holds everything that people own. Budgets of distillation are in tokens, `reference_cap` and
    `conversation_cap` in characters, timeouts in seconds. `context_window` and `answer_tokens` are in tokens by
    model, "" for all others. `prices` are of a million tokens read and written, by model or pattern. None means "as
    the model allows" for `distill_budget`, and "as the main model" for `cheap_model` and `embedding_model`.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        validate_default=True,
        alias_generator=lambda name: name.upper() if name in _WITHOUT_PREFIX else f"ANAPHORA_{name.upper()}",
        protected_namespaces=(),
    )

    data_dir: Folder = _setting("storage", "Folder of all data.", flag="--data-dir")
    host: Annotated[str, _reads(_host)] = _setting(
        "127.0.0.1", "Address to listen on; `0.0.0.0` is every interface.", flag="--host"
    )
    port: Annotated[int, _whole(1, 65535)] = _setting(5000, "Port to listen on.", flag="--port")
    processes: Annotated[int, _whole(1, 64)] = _setting(
        1,
        "Server processes that share the port, for more than one core; more than one needs `DATABASE_URL` and "
        "`REDIS_URL`.",
        flag="--processes",
    )
    drain_seconds: Annotated[int, _whole(7, 3600)] = _setting(
        7,
        "Seconds that running answers may go on after SIGTERM, before they are stored as interrupted. With more than 7 "
        "the server accepts no more connections meanwhile: another one has to serve. Ctrl+C leaves 7, and so does a "
        "second SIGTERM.",
    )
    allowed_hosts: Annotated[tuple[str, ...], _reads(_each(_host_alone))] = _setting(
        (), "Host names, separated by commas, under which browsers reach the server, besides loopback names."
    )
    trusted_proxies: Annotated[tuple[str, ...], _reads(_each(_network))] = _setting(
        (),
        "Addresses or networks of reverse proxies, separated by commas, that may say who asks, and whether under TLS.",
    )
    metrics_from: Annotated[tuple[str, ...], _reads(_each(_network))] = _setting(
        (),
        "Addresses or networks, separated by commas, from which `GET /metrics` is answered without logging in. Behind "
        "a reverse proxy, name it in `ANAPHORA_TRUSTED_PROXIES`: otherwise everybody has its address.",
    )
    vault_folders: Annotated[Mapping[str, MappedFolder], _reads(_mapping(_vault_folder))] = _setting(
        {},
        "Folders of documents for single accounts, instead of the one in the data folder, separated by commas: "
        "`ada@example.org=/home/ada/notes, bob@example.org=/srv/notes:ro`; `:ro`: to be read only.",
    )
    secret_key: Annotated[str, _reads(_long_enough)] = _setting(
        "",
        "Secret of this installation, 32 characters or more; made and kept in the data folder when empty.",
        secret=True,
    )
    password_sign_in: Literal["on", "off"] = _setting(
        "on", "Whether people log in with passwords: `on`, or `off` where an OpenID provider alone says who they are."
    )
    oidc_issuer: Annotated[str | None, _reads(_issuer)] = _setting(
        None,
        "The OpenID provider that people may log in with, by the address that it calls itself (`issuer`): "
        "`https://login.example.org/realms/us`. It has to know the address `https://<this server>/oidc/callback`.",
    )
    oidc_client_id: str | None = _setting(None, "What this server is called at that provider.")
    oidc_client_secret: str | None = _setting(
        None, "The secret that the provider gave this server; when empty, it is a public client.", secret=True
    )
    oidc_scopes: Annotated[str, _reads(_scope)] = _setting(
        "openid email profile", "What the provider is asked to tell, separated by spaces."
    )
    oidc_name: str | None = _setting(None, "What the provider is called on the login page; its host when empty.")
    oidc_groups_claim: str = _setting(
        "groups", "The claim that lists a person's groups; dots lead into objects: `realm_access.roles`."
    )
    oidc_admin_groups: Names = _setting(
        (),
        "Groups whose members are administrators, separated by commas; decided anew at each login. When empty, logging "
        "in changes nobody's role.",
    )
    oidc_allowed_groups: Names = _setting(
        (), "Groups whose members, beside those of the administrators, may log in; when empty, groups don't matter."
    )
    oidc_allowed_domains: Annotated[tuple[str, ...], _reads(_each(_domain))] = _setting(
        (),
        "Domains of e-mail addresses whose owners get an account when they first log in; `*`: everybody whom the "
        "provider knows. When empty, members of allowed groups get one, and people who were invited.",
    )
    database_url: Annotated[str | None, _reads(_database_url)] = _setting(
        None,
        "The PostgreSQL database for accounts, conversations and memories, "
        "`postgresql+psycopg://<user>:<password>@<host>/<database>`; "
        "when empty, they lie in SQLite's files below ANAPHORA_DATA_DIR.",
        secret=True,
    )
    redis_url: Annotated[str | None, _reads(_redis_url)] = _setting(
        None,
        "Valkey or Redis, by which several processes tell each other at once what they committed, and count limits "
        "together: `redis://:<password>@<host>:<port>/<number>`. Nothing is kept there.",
        secret=True,
    )
    main_model: Annotated[str, _reads(_model)] = _setting("embedded", "Model that answers.", flag="--main-model")
    cheap_model: Annotated[str | None, _reads(_model)] = _setting(
        None,
        "Model for titles, summaries and distillation; when empty, the small sibling of the main model at its "
        "provider where one is known, else the main model.",
        flag="--cheap-model",
    )
    embedding_model: Annotated[str | None, _reads(_embedding_model)] = _setting(
        None,
        "Model that compares by meaning: `embedded` (all-MiniLM-L6-v2, 23 MB; when empty, unless the main model "
        "is `none`), `openai:<model>`; `none`: words alone.",
    )
    allowed_models: Patterns = _setting(
        (),
        "Models that everybody may choose beside those of the settings, separated by commas: `openai:gpt-4*`, "
        "`*` for all. When empty, embedded models that were fetched already.",
    )
    admin_models: Patterns = _setting(
        (), "Models that administrators may choose besides; embedded ones they may always choose, and have fetched."
    )
    turns_per_person: Annotated[int, _whole(1, 100_000)] = _setting(
        64, "Answers that one person may have written at once."
    )
    messages_a_day: Annotated[int | None, _whole(0, 1_000_000_000)] = _setting(
        None,
        "Messages that one person may send within a day (UTC), answers made again and answers of inboxes included; any "
        "number when empty. An administrator may set other quotas for an account.",
    )
    tokens_a_day: Annotated[int | None, _whole(0, 1_000_000_000_000)] = _setting(
        None, "Tokens that the answers to one person may take within a day (UTC), read and written; likewise."
    )
    tokens_a_month: Annotated[int | None, _whole(0, 1_000_000_000_000)] = _setting(
        None, "Tokens that they may take within a month (UTC); likewise."
    )
    audit_days: Annotated[int, _whole(1, 36_500)] = _setting(
        400, "Days that the audit log of administrative acts is kept."
    )
    agent_answers_per_hour: Annotated[int, _whole(0, 1000)] = _setting(
        20,
        "Activities of its inbox that an agent answers by itself within an hour at most, whatever its own limit; 0: no "
        "agent answers by itself.",
    )
    openai_base_url: Annotated[str | None, _reads(_web_address)] = _setting(
        None, "Service that serves `openai:<model>`; OpenAI's own when empty."
    )
    openai_api_key: str | None = _setting(None, "Key for that service.", secret=True)
    anthropic_api_key: str | None = _setting(
        None,
        "Key for `anthropic:<model>`, over Anthropic's own Messages API where the package `anthropic` is installed "
        "(`requirements-anthropic.txt`), else over its OpenAI-compatible interface.",
        secret=True,
    )
    model_dir: Folder = _setting(
        None, "Folder of fetched models; `anaphora/models` in the user's cache folder when empty."
    )
    context_window: Annotated[Tokens, _tokens_by_model(512, 100_000_000)] = _setting(
        {},
        "Context window of the main model in tokens, or of several: `32000, openai:llama3=8192`. When empty, "
        "what is known of a model; an unknown window is taken as 8,192 until it proves larger.",
    )
    answer_tokens: Annotated[Tokens, _tokens_by_model(1, 100_000_000)] = _setting(
        {},
        "The most tokens of one answer, with what is thought before it, for all models or for some: `8000, "
        "openai:o3=30000`. When empty, as much as the model can.",
    )
    prices: Annotated[Prices, _reads(_mapping(_price))] = _setting(
        {},
        "Prices of a million tokens that a model reads and writes, separated by commas: `openai:gpt-4o=2.50/10, "
        "anthropic:*=3/15`; the first that fits counts. The page shows what an answer cost "
        "where its model has a price.",
    )
    currency: Annotated[str, _reads(_currency)] = _setting("USD", "Currency of those prices, in three letters.")
    first_token_timeout: Seconds = _setting(
        600, "Seconds that a model may be silent before its first word; reasoning models think for minutes."
    )
    silence_timeout: Seconds = _setting(120, "Seconds that a model may be silent in the middle of an answer.")
    distill_budget: Annotated[int | None, _whole(1, 100_000_000)] = _setting(
        None, "Tokens of gathered context above which it is condensed; a quarter of the context window when empty."
    )
    distill_patience: Seconds = _setting(
        3,
        "Seconds that condensing may delay an answer, by the cheap model's measured speed; what it can't "
        "condense in that time goes in by priority.",
    )
    distill_timeout: Seconds = _setting(20, "Seconds that condensing may take before it is given up.")
    title_timeout: Seconds = _setting(30, "Seconds that making a title may take before it is given up.")
    background_timeout: Seconds = _setting(
        60,
        "Seconds that the cheap model may take for one request of its other work: running summaries, sentences about "
        "documents, suggestions for memories, memories from texts; more for a model that thinks.",
    )
    embedding_patience: Seconds = _setting(
        2,
        "Seconds that a question, or a search of memories, waits for the embedding model; words alone have to do then.",
    )
    embedding_timeout: Seconds = _setting(
        30,
        "Seconds that an embedding model of a provider may take for one request, of at most 64 texts; with retries, "
        "twice as long.",
    )
    reference_cap: Annotated[int, _whole(1, 10_000_000)] = _setting(8000, "Characters of one referenced message.")
    conversation_cap: Annotated[int, _whole(1, 10_000_000)] = _setting(
        24_000, "Characters of one referenced conversation."
    )
    memories_of_group: Annotated[int, _whole(1, 10_000)] = _setting(
        500, "Memories of one referenced context, entity, tag or domain that a model is given; the newest."
    )
    memories_attached: Annotated[int, _whole(0, 1_000)] = _setting(50, "Attached memories that a model is given.")
    memories_pinned: Annotated[int, _whole(0, 1_000)] = _setting(50, "Pinned memories that a model is given.")
    memories_pinned_to_conversation: Annotated[int, _whole(0, 1_000)] = _setting(
        50, "Memories pinned to the conversation that a model is given."
    )
    memories_found: Annotated[int, _whole(0, 200)] = _setting(
        10, "Memories found by search that a model is given; 0: none."
    )
    messages_found: Annotated[int, _whole(0, 20)] = _setting(
        3, "Earlier messages found by meaning that a model is given, as far as it has room for them; 0: none."
    )
    documents_found: Annotated[int, _whole(0, 20)] = _setting(
        3, "Excerpts of documents found by words and meaning that a model is given, likewise; 0: none."
    )
    document_references: Literal["on", "off"] = _setting(
        "on",
        "Whether links to documents in messages are followed, and the documents that answers rest on kept with them: "
        "`on` or `off`. A person can switch it off, too.",
    )
    file_megabytes: Annotated[int, _whole(1, 10_000)] = _setting(50, "Megabytes of one file in a message.")
    file_quota: Annotated[int, _whole(1, 100_000_000)] = _setting(
        5_000, "Megabytes of all files and documents of one person, each file counted once."
    )
    file_cap: Annotated[int | None, _whole(1, 100_000_000)] = _setting(
        None,
        "Tokens of the files of a message that a model is given with it; a quarter of the model's window when empty.",
    )
    picture_models: Patterns = _setting(
        (),
        "Models that see pictures, separated by commas: `openai:llava*`, beside those of OpenAI and Anthropic.",
    )
    conversation_cache: Annotated[int, _whole(1, 1_000_000)] = _setting(200, "Conversations kept ready in memory.")
    # As many as two transactions take messages: the next ones are ready while the first are written.
    threads: Threads = _setting(16, "Threads for requests that read or change a few rows.")
    search_threads: Threads = _setting(
        4,
        "Threads for searches; as many each for changes of memories, for changes of documents, and for reading files.",
    )
    model_threads: Threads = _setting(
        8, "Threads for requests that wait for a model, messages apart; one person has half of them at most."
    )
    long_threads: Threads = _setting(
        2,
        "Threads for requests that read, copy or write much: imports, exports, clones, emptying the bin; as many for "
        "uploading files.",
    )
    mcp_threads: Threads = _setting(
        4, "Threads for requests of programs that speak the Model Context Protocol, questions to agents apart."
    )
    tool_servers: Literal["off", "public", "private"] = _setting(
        "public",
        "Whether people may join MCP servers of their own: `off`; `public`: by https, at public addresses; `private`: "
        "also in private networks and on this machine, there also by http. Metadata and link-local addresses: never.",
    )
    password_threads: Annotated[int, _whole(1, 64)] = _setting(
        2,
        "Threads for requests that hash a password. At most half as many as cores hash at once, each with 64 MB "
        "of memory.",
    )
    waiting_requests: Annotated[int, _whole(1, 100_000)] = _setting(
        1000, "Requests that may wait for one of `ANAPHORA_THREADS`; further ones are answered 503 at once."
    )
    connections: Annotated[int, _whole(1, 1_000_000)] = _setting(
        4000, "Connections at once, as far as the system's limit of open files allows; further ones are answered 503."
    )
    connections_of_address: Annotated[int, _whole(1, 1_000_000)] = _setting(
        1000, "Connections at once of one address (of IPv6: of one /64 network), trusted proxies apart."
    )
    body_memory: Annotated[int, _whole(8, 1_000_000)] = _setting(
        256,
        "Megabytes that the bodies of all requests may take up together; of one person a quarter. Further ones: 503.",
    )
    import_megabytes: Annotated[int, _whole(1, 1_000_000)] = _setting(
        4096, "Megabytes of the largest file that can be imported by the page; the command line knows no limit."
    )
    import_quota: Annotated[int, _whole(1, 100_000_000)] = _setting(
        8192, "Megabytes of all uploaded files of one person whose imports have not ended."
    )
    synchronous: Literal["normal", "full"] = _setting(
        "normal", "`normal` survives a killed process, `full` also a power failure, at the price of slower writes."
    )
    compact_up_to: Annotated[int, _whole(0, 1_000_000)] = _setting(
        100,
        "Megabytes of a store up to which it is compacted at once when an account was erased; writers wait "
        "meanwhile, about a second for 100 MB. Larger ones wait for `flask data compact`.",
    )
    page: Literal["joined", "modules"] = _setting(
        "joined",
        "How the page's own modules and style sheets are sent: `joined` by set-up into a few files, or as single "
        "`modules`, for development. After a change and before the next set-up, always as modules.",
    )
    log_format: Literal["text", "json"] = _setting("text", "Log lines as `text` or as `json`.")
    otel_exporter_otlp_endpoint: Annotated[str | None, _reads(_web_address)] = _setting(
        None,
        "OpenTelemetry collector that is sent traces of requests, turns, requests to models and statements, by OTLP "
        "over HTTP: `http://localhost:4318`. Other variables of OpenTelemetry count, too.",
    )

    @property
    def users_dir(self) -> str:
        """The folder of the stores, as the functions of `database` take it."""
        return str(self.data_dir / "users")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """A setting as the documentation shows it; `name` is its variable, `field` its field in `Settings`."""

    name: str
    field: str
    default: str
    meaning: str
    flag: str | None


SETTINGS_TABLE = tuple(
    SettingRow(
        name=str(info.alias),
        field=field,
        default=str(info.default or "") if info.default != 0 else "0",
        meaning=str(info.description),
        flag=info.json_schema_extra["flag"],  # type: ignore[index, arg-type]
    )
    for field, info in Settings.model_fields.items()
)


def load_settings(
    environ: Mapping[str, str] | None = None,
    env_file: str | Path = ".env",
    *,
    arguments: Sequence[str] = (),
) -> Settings:
    """The settings of this start: `arguments` win over `environ`, `environ` over `env_file`, that over the defaults.

    Makes the data folder, and the secret key in it (mode 0600), when they are not there yet. An empty value counts as
    not set. Raises SettingsError for a malformed value; unknown options end the process as argparse does.
    """
    given: dict[str, str] = {}
    for source in (variables_in(env_file), os.environ if environ is None else environ, _flags(arguments)):
        given |= {name: text.strip() for name, text in source.items() if text and text.strip()}
    given.setdefault("ANAPHORA_MODEL_DIR", str(_cache_dir(given) / "anaphora" / "models"))
    try:
        settings = Settings.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingsError(str(first["loc"][0]), str(first.get("ctx", {}).get("error", first["msg"]))) from None
    _refuse_two_credentials(settings)
    _refuse_processes_alone(settings)
    _refuse_incomplete_sign_in(settings)
    return settings.model_copy(update={"secret_key": settings.secret_key or _kept_secret(settings.data_dir)})


def variables_in(env_file: str | Path) -> Mapping[str, str | None]:
    """The variables that the file sets; none where it is not there. Raises SettingsError."""
    try:
        return dotenv_values(env_file, interpolate=False)
    except OSError as error:
        raise SettingsError(str(env_file), f"can't be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise SettingsError(str(env_file), "can't be read: it is not UTF-8") from None


def _flags(arguments: Sequence[str]) -> dict[str, str | None]:
    parser = argparse.ArgumentParser(prog="server.py", description="Serve Anaphora.")
    parser.add_argument("--version", action="version", version=program())
    for row in SETTINGS_TABLE:
        if row.flag:
            parser.add_argument(row.flag, dest=row.name, metavar=row.field.upper(), help=row.meaning)
    return vars(parser.parse_args(list(arguments)))


def _cache_dir(given: Mapping[str, str]) -> Path:
    cache = Path(given.get("XDG_CACHE_HOME", ""))
    return cache if cache.is_absolute() else Path.home() / ".cache"


def _refuse_two_credentials(settings: Settings) -> None:
    """Raise SettingsError for a key beside a password in the address: a request can carry only one of them."""
    address = settings.openai_base_url
    if settings.openai_api_key and address and urlsplit(address).username is not None:
        raise SettingsError("OPENAI_BASE_URL", "has a user name in it, and OPENAI_API_KEY is set too; use one of them")


def _refuse_processes_alone(settings: Settings) -> None:
    """Raise SettingsError for several processes that lack what they would share."""
    needed = {"DATABASE_URL": settings.database_url, "REDIS_URL": settings.redis_url}
    missing = " and ".join(name for name, value in needed.items() if value is None)
    if settings.processes > 1 and missing:
        raise SettingsError(
            "ANAPHORA_PROCESSES",
            f"several processes share a PostgreSQL database and Valkey; set {missing} as well, or use one process",
        )


_OF_PROVIDER = (
    "oidc_client_id",
    "oidc_client_secret",
    "oidc_name",
    "oidc_admin_groups",
    "oidc_allowed_groups",
    "oidc_allowed_domains",
)


def _refuse_incomplete_sign_in(settings: Settings) -> None:
    """Raise SettingsError for a provider that does not know this server, and where nobody could log in."""
    if settings.oidc_issuer and not settings.oidc_client_id:
        raise SettingsError("ANAPHORA_OIDC_CLIENT_ID", "is missing; the provider of ANAPHORA_OIDC_ISSUER gives one")
    given = next((name for name in _OF_PROVIDER if getattr(settings, name)), None)
    if given and not settings.oidc_issuer:
        raise SettingsError(f"ANAPHORA_{given.upper()}", "does nothing without ANAPHORA_OIDC_ISSUER; set both")
    if settings.password_sign_in == "off" and not settings.oidc_issuer:
        raise SettingsError("ANAPHORA_PASSWORD_SIGN_IN", "nobody could log in; set ANAPHORA_OIDC_ISSUER as well")


def _kept_secret(data_dir: Path) -> str:
    """The key of this data folder, made at first start; two processes that start at once agree on one."""
    kept = data_dir / SECRET_FILE
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not kept.exists():
            _write_secret(kept)
        return _long_enough(kept.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise SettingsError("ANAPHORA_DATA_DIR", f"the secret key in {data_dir} can't be used: {error}") from error


def _write_secret(kept: Path) -> None:
    draft = kept.with_name(f"{kept.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))
        # A link fails where the name is taken, so the first of two processes wins and the second reads its key.
        os.link(draft, kept)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
