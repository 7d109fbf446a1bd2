"""The models of a server by role: main answers, cheap condenses and names, embedding embeds."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, assert_never, cast

from language_models import blocking
from language_models.anthropic.chat import AnthropicChatModel
from language_models.download.catalogue import entry_named, small_sibling
from language_models.embedded.chat import EmbeddedChatModel
from language_models.embedded.embeddings import EmbeddedEmbeddingModel
from language_models.embedded.runtime import EmbeddedRuntime, ModelFile, ProcessLimit, Urgency, model_file
from language_models.errors import BadCredentialsError, ModelError, ModelUnavailableError
from language_models.openai.chat import ProviderChatModel
from language_models.openai.client import Timeouts
from language_models.openai.embeddings import ProviderEmbeddingModel
from language_models.openai.model_list import ProviderList, offered_models
from language_models.ports import ChatModel, EmbeddingModel, ModelState
from sentences import say

from .names import OPENAI_BASE_URL, Kind, ModelLimits, ModelSetting, RoleName, RoleSettingError, parse_model_setting
from .unavailable import UnavailableChatModel, UnavailableEmbeddingModel

if TYPE_CHECKING:
    from .menu import ModelMenu

log = logging.getLogger(__name__)

ANTHROPIC_BASE_URL = "https://api.anthropic.com/v1"
_MOST_CHOSEN = 64
_PROVIDERS = frozenset({"openai", "anthropic"})
_LIST_TIMEOUT = 8.0
# Searches wait for embeddings.
_EMBEDDING_CONNECT_SECONDS = 5.0
_NO_EMBEDDING = ModelState(
    name="none",
    phase="none",
    detail=say("no_embedding_model"),
)


class ModelRoles:
    """Models by role, created by their first use. Roles that name one file share its process.

    Embedded models that no role names, but users choose, share one process: memory is limited.
    """

    def __init__(
        self,
        *,
        main: str,
        cheap: str | None,
        embedding: str | None,
        openai_base_url: str | None,
        openai_api_key: str | None,
        anthropic_api_key: str | None,
        model_dir: Path,
        limits: ModelLimits | None = None,
        overrides: Mapping[str, ChatModel | EmbeddingModel] | None = None,
    ) -> None:
        """Settings as `parse_model_setting` reads them; `model_dir` holds the embedded models' files.

        cheap: None: the small sibling of the main model at its provider if one is known, else the main model.
        embedding: None: the embedded one, unless there is no main model either. limits: the operator's.
        overrides: models that replace a role ("main", "cheap", "embedding") or a setting ("openai:gpt-4o") in tests.
        Raises RoleSettingError for one that names no model, no model of the catalogue, or one that does other work.
        """
        self._openai_base_url = openai_base_url or OPENAI_BASE_URL
        own = self._checked("main", main)
        self._settings: dict[RoleName, ModelSetting] = {
            "main": own,
            "cheap": self._small_beside(own) if cheap is None else self._checked("cheap", cheap),
        }
        self._openai_api_key = openai_api_key
        self._anthropic_api_key = anthropic_api_key
        self._model_dir = model_dir
        self._limits = limits or ModelLimits()
        given = dict(overrides or {})
        self._embedding = EmbeddingRole(
            embedding or ("none" if own.kind == "none" else "embedded"),
            openai_base_url=self._openai_base_url,
            openai_api_key=openai_api_key,
            model_dir=model_dir,
            timeout=self._limits.embedding_timeout,
            override=cast("EmbeddingModel | None", given.pop("embedding", None)),
        )
        self._overrides = cast("dict[str, ChatModel]", given)
        self._models: dict[tuple[ModelSetting, Urgency], ChatModel] = {}
        self._runtimes: dict[Path, EmbeddedRuntime] = {}
        self._process_limit = ProcessLimit()
        self._lists = self._provider_lists()
        # Requests of several threads may be the first for a model, and it must not get two processes.
        self._lock = threading.RLock()
        self._finder: threading.Thread | None = None
        self._is_closing = False

    def main(self) -> ChatModel:
        """The model that answers."""
        return self._overrides.get("main") or self._model(self._settings["main"], "answer")

    def cheap(self) -> ChatModel:
        """The model for titles, distillation, summaries; if it is embedded, it gives way to answers."""
        return self._overrides.get("cheap") or self._model(self._settings["cheap"], "job")

    def embedding(self) -> EmbeddingModel | None:
        """The model that embeds; None: not configured."""
        return self._embedding.model()

    def for_name(self, setting: str) -> ChatModel:
        """The model that a conversation uses instead of the main one; "main" and "cheap" are the server's own.

        Raises ValueError for an unknown name, and for what only the operator may choose: a file on the server, a
        scripted model.
        """
        if setting in self._overrides:
            return self._overrides[setting]
        if setting in self._settings:
            return self._model(self._settings[setting], "answer")
        wanted = parse_model_setting(setting)
        if wanted not in self._settings.values() and (wanted.is_path or wanted.kind == "scripted"):
            raise ValueError(f"{setting!r} can only be chosen in the server's settings; choose a model by its name")
        _check_catalogue(wanted)
        return self._model(wanted, "answer")

    def setting(self, role: RoleName) -> ModelSetting:
        """The setting of a role."""
        return self._settings[role]

    def created(self, setting: ModelSetting) -> ChatModel | None:
        """The model that answers for `setting`, if it was used before."""
        with self._lock:
            return self._models.get((setting, "answer"))

    def menu(self) -> ModelMenu:
        """The models that can be chosen, with states; never blocks."""
        from .menu import menu

        return menu(self, folder=self._model_dir, lists=self._lists)

    def begin(self, name: str) -> None:
        """Begin to download and load the embedded model that `for_name` knows as `name`; returns at once.

        Raises ValueError as `for_name` does, and for a model that is not embedded.
        """
        self._runtime(self._embedded(name)).start()

    def is_own(self, name: str) -> bool:
        """Whether `name` is a role, or a model that the settings name."""
        return name in self._overrides or name in self._settings or parse_model_setting(name) in self._settings.values()

    def is_embedded(self, name: str) -> bool:
        """Whether `name`, which `for_name` knows, is an embedded model's."""
        return self._setting_of(name).kind == "embedded"

    def is_there(self, name: str) -> bool:
        """Whether the file of an embedded model is downloaded. Raises ValueError as `begin` does."""
        return self._file(self._embedded(name)).is_there()

    def full_name(self, name: str) -> str:
        """The name without an alias: "embedded:small" is "embedded:qwen2.5-coder-0.5b-instruct"."""
        setting = self._setting_of(name)
        if setting.kind == "embedded" and not setting.is_path:
            return f"embedded:{entry_named(setting.model, work='chat').name}"
        return str(setting)

    def states(self) -> dict[str, ModelState]:
        """Whether each role's model can answer now, by role."""
        return {
            "main": self.main().state(),
            "cheap": self.cheap().state(),
            "embedding": self._embedding.state(),
        }

    def start(self) -> None:
        """Begin to download and load the embedded models of the roles, and log which can't be used; returns at once."""
        self._log_unusable()
        for role, setting in self._settings.items():
            if role not in self._overrides and setting.kind == "embedded":
                self._runtime(setting).start()
        self._embedding.start()
        self._is_closing = False
        self._finder = threading.Thread(target=self._find_windows, name="context-windows", daemon=True)
        self._finder.start()

    async def aclose(self) -> None:
        """Close every model, overrides too, their processes, and the requests of worker threads."""
        # First, since closing a session under another thread's request breaks that request.
        await asyncio.to_thread(self._end_requests_of_threads)
        for model in (*self._models.values(), *self._overrides.values()):
            await model.aclose()
        await self._embedding.aclose()
        # A process takes a moment to end, which must not block the event loop.
        await asyncio.gather(*(asyncio.to_thread(runtime.close) for runtime in self._runtimes.values()))

    def _log_unusable(self) -> None:
        unusable: dict[str, str] = {}
        for role, state in self.states().items():
            if state.phase == "failed":
                unusable.setdefault(state.detail, role)
        for detail, role in unusable.items():
            log.warning("the %s model can't be used: %s", role, detail)

    def _end_requests_of_threads(self) -> None:
        self._is_closing = True
        blocking.close()
        if self._finder is not None:
            self._finder.join(_LIST_TIMEOUT)

    def _find_windows(self) -> None:
        """Look up the context windows of the settings' models at their providers, for the first prompts."""
        for setting in dict.fromkeys(self._settings.values()):
            model = self._model(setting, "answer") if setting.kind in _PROVIDERS else None
            if isinstance(model, ProviderChatModel):
                with suppress(ModelError):
                    blocking.run(self._find_window(model), timeout=_LIST_TIMEOUT)

    async def _find_window(self, model: ProviderChatModel) -> None:
        # After `blocking.close` a thread's next call runs on a new loop, and must not open a session there.
        if not self._is_closing:
            await model.find_context_window()

    def _small_beside(self, main: ModelSetting) -> ModelSetting:
        """The default for the cheap model, which never requires a download of its own."""
        if main.kind not in _PROVIDERS:
            return main
        base_url = ANTHROPIC_BASE_URL if main.kind == "anthropic" else self._openai_base_url
        return ModelSetting(main.kind, small_sibling(main.model, base_url=base_url) or main.model)

    def _checked(self, role: str, text: str) -> ModelSetting:
        try:
            setting = parse_model_setting(text)
            _check_catalogue(setting)
        except ValueError as error:
            raise RoleSettingError(role, str(error)) from None
        return setting

    def _setting_of(self, name: str) -> ModelSetting:
        return self._settings.get(cast("RoleName", name)) or parse_model_setting(name)

    def _embedded(self, name: str) -> ModelSetting:
        model, setting = self.for_name(name), self._setting_of(name)
        if setting.kind != "embedded":
            raise ValueError(f"{model.name} is not embedded: there is nothing to fetch")
        return setting

    def _model(self, setting: ModelSetting, urgency: Urgency) -> ChatModel:
        # Only embedded models queue for slots; a provider's one client learns for all uses.
        key: tuple[ModelSetting, Urgency] = (setting, urgency if setting.kind == "embedded" else "answer")
        with self._lock:
            if key not in self._models:
                self._drop_oldest_chosen()
                self._models[key] = self._create(setting, urgency)
            return self._models[key]

    def _drop_oldest_chosen(self) -> None:
        """Users may choose any name at a provider: few clients are kept. A running turn keeps its own."""
        chosen = [key for key in self._models if key[0].kind in _PROVIDERS and key[0] not in self._settings.values()]
        for key in chosen[: 1 - _MOST_CHOSEN]:
            del self._models[key]

    def _create(self, setting: ModelSetting, urgency: Urgency) -> ChatModel:
        match setting.kind:
            case "embedded":
                return EmbeddedChatModel(
                    self._runtime(setting),
                    urgency=urgency,
                    answer_tokens=self._limits.answer_tokens_of(setting),
                    timeouts=self._limits.timeouts,
                )
            case "openai" | "anthropic":
                return self._at_provider(setting)
            case "scripted":
                from language_models.testing import ScriptedChatModel

                return ScriptedChatModel.echoing()
            case "none":
                advice = say("no_main_model")
                return UnavailableChatModel(name="none", advice=advice, error=ModelUnavailableError)
            case _:
                assert_never(setting.kind)

    def _at_provider(self, setting: ModelSetting) -> ChatModel:
        is_anthropic = setting.kind == "anthropic"
        base_url = ANTHROPIC_BASE_URL if is_anthropic else self._openai_base_url
        api_key = self._anthropic_api_key if is_anthropic else self._openai_api_key
        is_known = base_url in (OPENAI_BASE_URL, ANTHROPIC_BASE_URL)
        if api_key is None and is_known:
            name, error = setting.model, BadCredentialsError
            return UnavailableChatModel(name=name, advice=_key_advice(setting), error=error, phase="failed")
        return _client_of(setting.kind)(
            base_url=base_url,
            api_key=api_key,
            model=setting.model,
            context_window=self._limits.context_window_of(setting, is_main=setting == self._settings["main"]),
            answer_tokens=self._limits.answer_tokens_of(setting),
            needs_limit=is_anthropic,
            ignores_format=is_anthropic,
            calls_tools=True if is_known else None,
            sees_pictures=is_known or self._limits.sees_pictures(setting),
            price=self._limits.price_of(setting),
            timeouts=self._limits.timeouts,
        )

    def _file(self, setting: ModelSetting) -> ModelFile:
        return model_file(setting.model, folder=self._model_dir)

    def _runtime(self, setting: ModelSetting) -> EmbeddedRuntime:
        file = self._file(setting)
        own = [self._file(each).path for each in self._settings.values() if each.kind == "embedded"]
        with self._lock:
            if file.path not in self._runtimes:
                limit = None if file.path in own else self._process_limit
                self._runtimes[file.path] = EmbeddedRuntime(file, limit=limit, servers=self._limits.servers)
            return self._runtimes[file.path]

    def _provider_lists(self) -> dict[Kind, ProviderList]:
        lists: dict[Kind, ProviderList] = {}
        if self._openai_api_key is not None or self._openai_base_url != OPENAI_BASE_URL:
            request = partial(offered_models, base_url=self._openai_base_url, api_key=self._openai_api_key)
            lists["openai"] = ProviderList(request)
        if self._anthropic_api_key is not None:
            request = partial(
                offered_models,
                base_url=ANTHROPIC_BASE_URL,
                api_key=self._anthropic_api_key,
                kind=_client_of("anthropic"),
            )
            lists["anthropic"] = ProviderList(request)
        return lists


class EmbeddingRole:
    """The embedding model of one server, created by its first use."""

    def __init__(
        self,
        setting: str,
        *,
        openai_base_url: str,
        openai_api_key: str | None,
        model_dir: Path,
        timeout: float,
        override: EmbeddingModel | None = None,
    ) -> None:
        """`model_dir` holds the embedded model's files; `override` replaces the model of `setting` in tests.

        timeout: seconds of one request to a provider.

        Raises RoleSettingError for a setting that names no embedding model.
        """
        self._setting = _checked_embedding(setting)
        self._openai_base_url = openai_base_url
        self._openai_api_key = openai_api_key
        self._model_dir = model_dir
        self._timeout = timeout
        self._override = override
        self._created: EmbeddingModel | None = None
        self._lock = threading.Lock()

    def model(self) -> EmbeddingModel | None:
        """The model; None: not configured."""
        if self._override is not None:
            return self._override
        with self._lock:
            if self._created is None and self._setting.kind == "embedded":
                entry = entry_named(self._setting.model, work="embedding")
                self._created = EmbeddedEmbeddingModel(entry, folder=self._model_dir)
            elif self._created is None and self._setting.kind == "openai":
                self._created = self._at_provider()
            return self._created

    def state(self) -> ModelState:
        """Whether the model can embed now."""
        model = self.model()
        return _NO_EMBEDDING if model is None else model.state()

    def start(self) -> None:
        """Begin to download an embedded model; returns at once."""
        model = self.model()
        if isinstance(model, EmbeddedEmbeddingModel):
            model.start()

    async def aclose(self) -> None:
        """Close the model; an override is closed by its owner."""
        if isinstance(self._created, EmbeddedEmbeddingModel | ProviderEmbeddingModel):
            await self._created.aclose()

    def _at_provider(self) -> EmbeddingModel:
        name = self._setting.model
        if self._openai_api_key is None and self._openai_base_url == OPENAI_BASE_URL:
            advice = _key_advice(self._setting)
            return UnavailableEmbeddingModel(name=name, advice=advice, error=BadCredentialsError, phase="failed")
        return ProviderEmbeddingModel(
            base_url=self._openai_base_url,
            api_key=self._openai_api_key,
            model=name,
            timeouts=Timeouts(connect=_EMBEDDING_CONNECT_SECONDS, answer=self._timeout),
        )


def _client_of(kind: Kind) -> type[ProviderChatModel]:
    """What talks to a provider: Anthropic's own API where the package for it is installed, else the compatible one."""
    is_native = kind == "anthropic" and find_spec("anthropic") is not None
    return AnthropicChatModel if is_native else ProviderChatModel


def _key_advice(setting: ModelSetting) -> str:
    if setting.kind == "anthropic":
        return say("key_missing", model=setting.model, setting="ANTHROPIC_API_KEY")
    return say("key_missing_openai", model=setting.model)


def _check_catalogue(setting: ModelSetting) -> None:
    if setting.kind == "embedded" and not setting.is_path:
        entry_named(setting.model, work="chat")


def _checked_embedding(text: str) -> ModelSetting:
    try:
        setting = parse_model_setting(text)
        if setting.kind in ("anthropic", "scripted"):
            raise ValueError(f"{text!r} does not embed; right would be 'embedded', 'openai:<model>' or 'none'")
        if setting.kind == "embedded":
            entry_named(setting.model, work="embedding")
    except ValueError as error:
        raise RoleSettingError("embedding", str(error)) from None
    return setting
