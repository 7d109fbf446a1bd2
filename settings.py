"""Everything that can be set, read once at start from the command line, the environment and `.env`.

`SETTINGS_TABLE` is the one list of settings: the loader reads by it and `documentation/settings.md` is made from it.
"""

from __future__ import annotations

import argparse
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dotenv import dotenv_values

import setting_values as read

SECRET_FILE = "secret_key"


class SettingsError(Exception):
    """A setting has a value that can't be used. The message names it and says what would be right."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values that one server or command runs with.

    users_dir holds everything that people own. Budgets of distillation are in tokens, `reference_cap` and
    `conversation_cap` in characters, timeouts in seconds. `context_window` and `answer_tokens` are in tokens by
    model, "" for those that are not named. None means "as the model allows" for `distill_budget`, and "as the main
    model" for `cheap_model` and `embedding_model`.
    """

    data_dir: Path
    host: str
    port: int
    allowed_hosts: tuple[str, ...]
    trusted_proxies: tuple[str, ...]
    secret_key: str = field(repr=False)
    database_url: str | None = field(repr=False)
    main_model: str
    cheap_model: str | None
    embedding_model: str | None
    allowed_models: tuple[str, ...]
    admin_models: tuple[str, ...]
    turns_per_person: int
    openai_base_url: str | None
    openai_api_key: str | None = field(repr=False)
    anthropic_api_key: str | None = field(repr=False)
    model_dir: Path
    context_window: Mapping[str, int]
    answer_tokens: Mapping[str, int]
    first_token_timeout: float
    silence_timeout: float
    distill_budget: int | None
    distill_patience: float
    distill_timeout: float
    title_timeout: float
    reference_cap: int
    conversation_cap: int
    memories_of_group: int
    memories_attached: int
    memories_pinned: int
    memories_pinned_to_conversation: int
    memories_found: int
    conversation_cache: int
    threads: int
    search_threads: int
    model_threads: int
    long_threads: int
    password_threads: int
    waiting_requests: int
    connections: int
    connections_of_address: int
    body_memory: int
    synchronous: str
    compact_up_to: int
    log_format: str

    @property
    def users_dir(self) -> str:
        """The folder of the stores, as the functions of `database` take it."""
        return str(self.data_dir / "users")


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting: its variable, its default as written, how its text is read, what it means.

    `parse` takes the text and returns the value, or raises ValueError with what would be right. `flag` is the option
    of `python server.py` that sets it for one start. Without a default, `when_empty` is the value.
    """

    name: str
    default: str
    parse: Callable[[str], Any]
    meaning: str
    flag: str | None = None
    when_empty: Any = None

    @property
    def field(self) -> str:
        """The name of its field in `Settings`."""
        return self.name.removeprefix("ANAPHORA_").lower()


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
    given = {name: text for name, text in dotenv_values(env_file, interpolate=False).items() if text}
    given |= {name: text for name, text in (os.environ if environ is None else environ).items() if text}
    given |= _flags(arguments)
    values = {row.field: _value(row, given) for row in SETTINGS_TABLE}
    _one_way_in(values["openai_base_url"], values["openai_api_key"])
    values["secret_key"] = values["secret_key"] or _kept_secret(values["data_dir"])
    return Settings(**values)


def _flags(arguments: Sequence[str]) -> dict[str, str]:
    parser = argparse.ArgumentParser(prog="server.py", description="Serve Anaphora.")
    for row in SETTINGS_TABLE:
        if row.flag:
            parser.add_argument(row.flag, dest=row.name, metavar=row.field.upper(), help=row.meaning)
    return {name: text for name, text in vars(parser.parse_args(list(arguments))).items() if text}


def _value(row: SettingRow, given: Mapping[str, str]) -> Any:
    text = given.get(row.name, "").strip()
    if not text and row.field == "model_dir":
        cache = given.get("XDG_CACHE_HOME", "")
        return (Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache") / "anaphora" / "models"
    if not text and not row.default:
        return row.when_empty
    try:
        return row.parse(text or row.default)
    except ValueError as error:
        raise SettingsError(row.name, str(error)) from error


def _one_way_in(address: str | None, key: str | None) -> None:
    """Raises SettingsError for a key beside a password in the address: each request could carry only one of them."""
    if key and address and urlsplit(address).username is not None:
        raise SettingsError("OPENAI_BASE_URL", "has a user name in it, and OPENAI_API_KEY is set too; use one of them")


def _kept_secret(data_dir: Path) -> str:
    """The key of this data folder, made at first start; two processes that start at once agree on one."""
    kept = data_dir / SECRET_FILE
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not kept.exists():
            _write_secret(kept)
        return read.long_enough(kept.read_text(encoding="ascii").strip())
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


SETTINGS_TABLE: tuple[SettingRow, ...] = (
    SettingRow("ANAPHORA_DATA_DIR", "storage", read.folder, "Folder of all data.", "--data-dir"),
    SettingRow(
        "ANAPHORA_HOST", "127.0.0.1", read.host, "Address to listen on; `0.0.0.0` is every interface.", "--host"
    ),
    SettingRow("ANAPHORA_PORT", "5000", read.whole(1, 65535), "Port to listen on.", "--port"),
    SettingRow(
        "ANAPHORA_ALLOWED_HOSTS",
        "",
        read.hosts,
        "Host names, separated by commas, under which browsers reach the server, besides loopback names.",
        when_empty=(),
    ),
    SettingRow(
        "ANAPHORA_TRUSTED_PROXIES",
        "",
        read.networks,
        "Addresses or networks of reverse proxies, separated by commas, that may say who asks, and whether under TLS.",
        when_empty=(),
    ),
    SettingRow(
        "ANAPHORA_SECRET_KEY",
        "",
        read.long_enough,
        "Secret of this installation, 32 characters or more; made and kept in the data folder when empty.",
    ),
    SettingRow("DATABASE_URL", "", read.sqlite_only, "Another database than SQLite; must be empty in this version."),
    SettingRow("ANAPHORA_MAIN_MODEL", "embedded", read.model, "Model that answers.", "--main-model"),
    SettingRow(
        "ANAPHORA_CHEAP_MODEL",
        "",
        read.model,
        "Model for titles, summaries and distillation; when empty, the small sibling of the main model at its provider "
        "where one is known, else the main model.",
        "--cheap-model",
    ),
    SettingRow(
        "ANAPHORA_EMBEDDING_MODEL",
        "",
        read.embedding_model,
        "Model that compares by meaning: `embedded` (all-MiniLM-L6-v2, 23 MB; when empty, unless the main model is "
        "`none`), `openai:<model>`; `none`: words alone.",
    ),
    SettingRow(
        "ANAPHORA_ALLOWED_MODELS",
        "",
        read.model_patterns,
        "Models that everybody may choose beside those of the settings, separated by commas: `openai:gpt-4*`, `*` for "
        "all. When empty, embedded models that were fetched already.",
        when_empty=(),
    ),
    SettingRow(
        "ANAPHORA_ADMIN_MODELS",
        "",
        read.model_patterns,
        "Models that administrators may choose besides; embedded ones they may always choose, and have fetched.",
        when_empty=(),
    ),
    SettingRow(
        "ANAPHORA_TURNS_PER_PERSON", "64", read.whole(1, 100_000), "Answers that one person may have written at once."
    ),
    SettingRow(
        "OPENAI_BASE_URL", "", read.web_address, "Service that serves `openai:<model>`; OpenAI's own when empty."
    ),
    SettingRow("OPENAI_API_KEY", "", str, "Key for that service."),
    SettingRow("ANTHROPIC_API_KEY", "", str, "Key for `anthropic:<model>`."),
    SettingRow(
        "ANAPHORA_MODEL_DIR",
        "",
        read.folder,
        "Folder of fetched models; `anaphora/models` in the user's cache folder when empty.",
    ),
    SettingRow(
        "ANAPHORA_CONTEXT_WINDOW",
        "",
        read.tokens_by_model(512, 100_000_000),
        "Context window of the main model in tokens, or of several: `32000, openai:llama3=8192`. When empty, what is "
        "known of a model; an unknown window is taken as 8,192 until it proves larger.",
        when_empty={},
    ),
    SettingRow(
        "ANAPHORA_ANSWER_TOKENS",
        "",
        read.tokens_by_model(1, 100_000_000),
        "The most tokens of one answer, with what is thought before it, for all models or for some: "
        "`8000, openai:o3=30000`. When empty, as much as the model can.",
        when_empty={},
    ),
    SettingRow(
        "ANAPHORA_FIRST_TOKEN_TIMEOUT",
        "600",
        read.seconds,
        "Seconds that a model may be silent before its first word; reasoning models think for minutes.",
    ),
    SettingRow(
        "ANAPHORA_SILENCE_TIMEOUT",
        "120",
        read.seconds,
        "Seconds that a model may be silent in the middle of an answer.",
    ),
    SettingRow(
        "ANAPHORA_DISTILL_BUDGET",
        "",
        read.whole(1, 100_000_000),
        "Tokens of gathered context above which it is condensed; a quarter of the context window when empty.",
    ),
    SettingRow(
        "ANAPHORA_DISTILL_PATIENCE",
        "3",
        read.seconds,
        "Seconds that condensing may delay an answer, by the cheap model's measured speed; what it can't condense in "
        "that time goes in by priority.",
    ),
    SettingRow(
        "ANAPHORA_DISTILL_TIMEOUT", "20", read.seconds, "Seconds that condensing may take before it is given up."
    ),
    SettingRow(
        "ANAPHORA_TITLE_TIMEOUT", "30", read.seconds, "Seconds that making a title may take before it is given up."
    ),
    SettingRow("ANAPHORA_REFERENCE_CAP", "8000", read.whole(1, 10_000_000), "Characters of one referenced message."),
    SettingRow(
        "ANAPHORA_CONVERSATION_CAP", "24000", read.whole(1, 10_000_000), "Characters of one referenced conversation."
    ),
    SettingRow(
        "ANAPHORA_MEMORIES_OF_GROUP",
        "500",
        read.whole(1, 10_000),
        "Memories of one referenced context, entity, tag or domain that a model is given; the newest.",
    ),
    SettingRow("ANAPHORA_MEMORIES_ATTACHED", "50", read.whole(0, 1_000), "Attached memories that a model is given."),
    SettingRow("ANAPHORA_MEMORIES_PINNED", "50", read.whole(0, 1_000), "Pinned memories that a model is given."),
    SettingRow(
        "ANAPHORA_MEMORIES_PINNED_TO_CONVERSATION",
        "50",
        read.whole(0, 1_000),
        "Memories pinned to the conversation that a model is given.",
    ),
    SettingRow(
        "ANAPHORA_MEMORIES_FOUND", "10", read.whole(0, 200), "Memories found by search that a model is given; 0: none."
    ),
    SettingRow("ANAPHORA_CONVERSATION_CACHE", "200", read.whole(1, 1_000_000), "Conversations kept ready in memory."),
    SettingRow("ANAPHORA_THREADS", "8", read.whole(1, 256), "Threads for requests that read or change a few rows."),
    SettingRow(
        "ANAPHORA_SEARCH_THREADS", "4", read.whole(1, 256), "Threads for searches, and as many for changes of memories."
    ),
    SettingRow(
        "ANAPHORA_MODEL_THREADS",
        "8",
        read.whole(1, 256),
        "Threads for requests that wait for a model, messages apart; one person has half of them at most.",
    ),
    SettingRow(
        "ANAPHORA_LONG_THREADS",
        "2",
        read.whole(1, 256),
        "Threads for requests that read, copy or write much: imports, exports, clones, emptying the bin.",
    ),
    SettingRow(
        "ANAPHORA_PASSWORD_THREADS",
        "2",
        read.whole(1, 64),
        "Threads for requests that hash a password. At most half as many as cores hash at once, each with 64 MB of "
        "memory.",
    ),
    SettingRow(
        "ANAPHORA_WAITING_REQUESTS",
        "1000",
        read.whole(1, 100_000),
        "Requests that may wait for one of `ANAPHORA_THREADS`; further ones are answered 503 at once.",
    ),
    SettingRow(
        "ANAPHORA_CONNECTIONS",
        "4000",
        read.whole(1, 1_000_000),
        "Connections at once, as far as the system's limit of open files allows; further ones are answered 503.",
    ),
    SettingRow(
        "ANAPHORA_CONNECTIONS_OF_ADDRESS",
        "1000",
        read.whole(1, 1_000_000),
        "Connections at once of one address (of IPv6: of one /64 network), trusted proxies apart.",
    ),
    SettingRow(
        "ANAPHORA_BODY_MEMORY",
        "256",
        read.whole(8, 1_000_000),
        "Megabytes that the bodies of all requests may take up together; of one person a quarter. Further ones: 503.",
    ),
    SettingRow(
        "ANAPHORA_SYNCHRONOUS",
        "normal",
        read.one_of("normal", "full"),
        "`normal` survives a killed process, `full` also a power failure, at the price of slower writes.",
    ),
    SettingRow(
        "ANAPHORA_COMPACT_UP_TO",
        "100",
        read.whole(0, 1_000_000),
        "Megabytes of a store up to which it is compacted at once when an account was erased; writers wait meanwhile, "
        "about a second for 100 MB. Larger ones wait for `flask data compact`.",
    ),
    SettingRow("ANAPHORA_LOG_FORMAT", "text", read.one_of("text", "json"), "Log lines as `text` or as `json`."),
)
