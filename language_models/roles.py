"""Which model does which work: the main one answers, the cheap one condenses and names, one embeds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, assert_never, cast

from language_models import blocking
from language_models.embedded.runtime import EmbeddedRoom
from language_models.errors import BadCredentialsError, ModelError, ModelUnavailableError
from language_models.names import OPENAI_BASE_URL, Kind, ModelLimits, ModelSetting, RoleName, parse_model_setting
from language_models.openai.chat import ProviderChatModel
from language_models.openai.model_list import ProviderList, offered_models
from language_models.ports import ChatModel, EmbeddingModel, ModelState
from language_models.testing import ScriptedChatModel
from language_models.unavailable import UnavailableChatModel

if TYPE_CHECKING:
    from language_models.embedded.embeddings import EmbeddedEmbeddingModel
    from language_models.embedded.runtime import EmbeddedRuntime
    from language_models.menu import ModelMenu
    from language_models.openai.embeddings import BlockingEmbeddingModel
    from language_models.unavailable import UnavailableEmbeddingModel


ANTHROPIC_BASE_URL = "https://api.anthropic.com/v1"
_MOST_CHOSEN = 64
_PROVIDERS = frozenset({"openai", "anthropic"})
_LIST_TIMEOUT = 8.0
Urgency = Literal["answer", "job"]


class ModelRoles:
    """Models by role, made from settings when first asked for. Roles that name one file share its process.

    Embedded models that no role names, and people choose, have one process among them: a laptop has so much memory.
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

        cheap: None: the small sibling of the main model at its provider where one is known, else the main model itself.
        embedding: None: the embedded one, unless there is no main model either. limits: as the operator set them.
        overrides: models that stand in for a role ("main", "cheap", "embedding") or a setting ("openai:gpt-4o"), for
        tests. Raises ValueError for a setting that names no model, for an embedded model that is not in the catalogue,
        and for one that does other work.
        """
        self._openai_base_url = openai_base_url or OPENAI_BASE_URL
        own = self._checked("main", main)
        self._settings: dict[RoleName, ModelSetting] = {
            "main": own,
            "cheap": self._beside(own) if cheap is None else self._checked("cheap", cheap),
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
            override=cast("EmbeddingModel | None", given.pop("embedding", None)),
        )
        self._overrides = cast("dict[str, ChatModel]", given)
        self._models: dict[tuple[ModelSetting, Urgency], ChatModel] = {}
        self._runtimes: dict[Path, EmbeddedRuntime] = {}
        self._room = EmbeddedRoom()
        self._lists = self._provider_lists()
        # Requests of several threads may be the first to ask for a model, and it is to have one process.
        self._lock = threading.RLock()

    def main(self) -> ChatModel:
        """The model that answers."""
        return self._overrides.get("main") or self._model(self._settings["main"], "answer")

    def cheap(self) -> ChatModel:
        """The model for titles, distillation, summaries; embedded, it gives way to answers."""
        return self._overrides.get("cheap") or self._model(self._settings["cheap"], "job")

    def embedding(self) -> EmbeddingModel | None:
        """The model that embeds, or None where none is configured."""
        return self._embedding.model()

    def for_name(self, setting: str) -> ChatModel:
        """The model that a conversation asks for instead of the main one; "main" and "cheap" are the server's own.

        Raises ValueError for what names no model, and for what only the operator may choose: a file on the server, a
        scripted model.
        """
        if setting in self._overrides:
            return self._overrides[setting]
        if setting in self._settings:
            return self._model(self._settings[setting], "answer")
        wanted = parse_model_setting(setting)
        if wanted not in self._settings.values() and (wanted.is_path or wanted.kind == "scripted"):
            raise ValueError(f"{setting!r} can only be chosen in the server's settings; choose a model by its name")
        self._check_catalogue(wanted)
        return self._model(wanted, "answer")

    def setting(self, role: RoleName) -> ModelSetting:
        """What the setting of a role names."""
        return self._settings[role]

    def made(self, setting: ModelSetting) -> ChatModel | None:
        """The model that answers under `setting`, if anybody has asked for it."""
        with self._lock:
            return self._models.get((setting, "answer"))

    def menu(self) -> ModelMenu:
        """What a conversation may be answered by, with states; never blocks."""
        from language_models.menu import menu

        return menu(self, folder=self._model_dir, lists=self._lists)

    def begin(self, name: str) -> None:
        """Begin to fetch and load the embedded model that `for_name` knows as `name`; returns at once.

        Raises ValueError as `for_name` does, and for a model that is not embedded.
        """
        self._runtime(self._embedded(name)).start()

    def is_own(self, name: str) -> bool:
        """Whether the settings name this model; a role is the name of one."""
        return name in self._overrides or name in self._settings or parse_model_setting(name) in self._settings.values()

    def is_embedded(self, name: str) -> bool:
        """Whether a name that `for_name` knows is an embedded model's."""
        return self._setting_of(name).kind == "embedded"

    def is_there(self, name: str) -> bool:
        """Whether the file of an embedded model lies here. Raises ValueError as `begin` does."""
        from language_models.embedded.runtime import model_file

        return model_file(self._embedded(name).model, folder=self._model_dir).is_there()

    def full_name(self, name: str) -> str:
        """The name without an alias: "embedded:small" is "embedded:qwen2.5-coder-0.5b-instruct"."""
        setting = self._setting_of(name)
        if setting.kind == "embedded" and not setting.is_path:
            from language_models.download.catalogue import entry_named

            return f"embedded:{entry_named(setting.model, work='chat').name}"
        return str(setting)

    def _setting_of(self, name: str) -> ModelSetting:
        return self._settings.get(cast("RoleName", name)) or parse_model_setting(name)

    def _embedded(self, name: str) -> ModelSetting:
        model, setting = self.for_name(name), self._setting_of(name)
        if setting.kind != "embedded":
            raise ValueError(f"{model.name} is not embedded: there is nothing to fetch")
        return setting

    def states(self) -> dict[str, ModelState]:
        """Whether each role's model can answer now, by role."""
        return {
            "main": self.main().state(),
            "cheap": self.cheap().state(),
            "embedding": self._embedding.state(),
        }

    def start(self) -> None:
        """Begin to fetch and load what is embedded; returns at once."""
        for role, setting in self._settings.items():
            if role not in self._overrides and setting.kind == "embedded":
                self._runtime(setting).start()
        self._embedding.start()
        threading.Thread(target=self._find_out_windows, name="context-windows", daemon=True).start()

    async def aclose(self) -> None:
        """Close every model, overrides too, and end their processes and what worker threads ask of them."""
        for model in (*self._models.values(), *self._overrides.values()):
            await model.aclose()
        await self._embedding.aclose()
        await asyncio.to_thread(blocking.close)
        # A process needs a moment to end; the event loop does not wait for it.
        await asyncio.gather(*(asyncio.to_thread(runtime.close) for runtime in self._runtimes.values()))

    def _find_out_windows(self) -> None:
        """The windows that the settings' models have at their providers: the first prompts are to use them."""
        for setting in dict.fromkeys(self._settings.values()):
            model = self._model(setting, "answer") if setting.kind in _PROVIDERS else None
            if isinstance(model, ProviderChatModel):
                with suppress(ModelError):
                    blocking.run(model.find_out_context_window(), timeout=_LIST_TIMEOUT)

    def _beside(self, main: ModelSetting) -> ModelSetting:
        """The model for small jobs where the settings name none: nothing more is fetched for it."""
        if main.kind not in _PROVIDERS:
            return main
        from language_models.download.catalogue import small_sibling

        base_url = ANTHROPIC_BASE_URL if main.kind == "anthropic" else self._openai_base_url
        return ModelSetting(main.kind, small_sibling(main.model, base_url=base_url) or main.model)

    def _checked(self, role: str, text: str) -> ModelSetting:
        try:
            setting = parse_model_setting(text)
            self._check_catalogue(setting)
        except ValueError as error:
            raise ValueError(f"The {role} model: {error}") from None
        return setting

    def _check_catalogue(self, setting: ModelSetting) -> None:
        if setting.kind == "embedded" and not setting.is_path:
            from language_models.download.catalogue import entry_named

            entry_named(setting.model, work="chat")

    def _model(self, setting: ModelSetting, urgency: Urgency) -> ChatModel:
        # Only embedded models share their places; one client of a provider learns for all.
        key: tuple[ModelSetting, Urgency] = (setting, urgency if setting.kind == "embedded" else "answer")
        with self._lock:
            if key not in self._models:
                self._forget_the_oldest_chosen()
                self._models[key] = self._made(setting, urgency)
            return self._models[key]

    def _forget_the_oldest_chosen(self) -> None:
        """Any name of a provider's models may be chosen: few stay. A turn that uses one keeps it for itself."""
        chosen = [key for key in self._models if key[0].kind in _PROVIDERS and key[0] not in self._settings.values()]
        for key in chosen[: 1 - _MOST_CHOSEN]:
            del self._models[key]

    def _made(self, setting: ModelSetting, urgency: Urgency) -> ChatModel:
        match setting.kind:
            case "embedded":
                from language_models.embedded.chat import EmbeddedChatModel

                return EmbeddedChatModel(
                    self._runtime(setting),
                    urgency=urgency,
                    answer_tokens=self._limits.answer_tokens_of(setting),
                    timeouts=self._limits.timeouts,
                )
            case "openai":
                return self._openai(setting)
            case "anthropic":
                return self._anthropic(setting)
            case "scripted":
                return ScriptedChatModel.echoing()
            case "none":
                advice = "No language model is configured: set ANAPHORA_MAIN_MODEL, for instance to 'embedded'."
                return UnavailableChatModel(name="none", advice=advice, error=ModelUnavailableError)
            case _:
                assert_never(setting.kind)

    def _openai(self, setting: ModelSetting) -> ChatModel:
        if self._openai_api_key is None and self._openai_base_url == OPENAI_BASE_URL:
            advice = f"{setting.model} needs a key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a provider without one."
            return UnavailableChatModel(name=setting.model, advice=advice, error=BadCredentialsError, phase="failed")
        return self._provided(setting, base_url=self._openai_base_url, api_key=self._openai_api_key)

    def _anthropic(self, setting: ModelSetting) -> ChatModel:
        if self._anthropic_api_key is None:
            advice = f"{setting.model} needs a key: set ANTHROPIC_API_KEY."
            return UnavailableChatModel(name=setting.model, advice=advice, error=BadCredentialsError, phase="failed")
        return self._provided(setting, base_url=ANTHROPIC_BASE_URL, api_key=self._anthropic_api_key)

    def _provided(self, setting: ModelSetting, *, base_url: str, api_key: str | None) -> ProviderChatModel:
        return ProviderChatModel(
            base_url=base_url,
            api_key=api_key,
            model=setting.model,
            context_window=self._limits.context_window_of(setting, is_main=setting == self._settings["main"]),
            answer_tokens=self._limits.answer_tokens_of(setting),
            wants_limit=setting.kind == "anthropic",
            timeouts=self._limits.timeouts,
        )

    def _runtime(self, setting: ModelSetting) -> EmbeddedRuntime:
        from language_models.embedded.runtime import EmbeddedRuntime, model_file

        file = model_file(setting.model, folder=self._model_dir)
        own = [
            model_file(each.model, folder=self._model_dir).path
            for each in self._settings.values()
            if each.kind == "embedded"
        ]
        with self._lock:
            if file.path not in self._runtimes:
                room = None if file.path in own else self._room
                self._runtimes[file.path] = EmbeddedRuntime(file, room=room)
            return self._runtimes[file.path]

    def _provider_lists(self) -> dict[Kind, ProviderList]:
        lists: dict[Kind, ProviderList] = {}
        if self._openai_api_key is not None or self._openai_base_url != OPENAI_BASE_URL:
            ask = partial(offered_models, base_url=self._openai_base_url, api_key=self._openai_api_key)
            lists["openai"] = ProviderList(ask)
        if self._anthropic_api_key is not None:
            ask = partial(offered_models, base_url=ANTHROPIC_BASE_URL, api_key=self._anthropic_api_key)
            lists["anthropic"] = ProviderList(ask)
        return lists


_NONE = ModelState(
    name="none",
    phase="none",
    detail="No embedding model is configured: set ANAPHORA_EMBEDDING_MODEL, for instance to 'embedded'.",
)


class EmbeddingRole:
    """The embedding model of one server, made when first asked for."""

    def __init__(
        self,
        setting: str,
        *,
        openai_base_url: str,
        openai_api_key: str | None,
        model_dir: Path,
        override: EmbeddingModel | None = None,
    ) -> None:
        """`model_dir` holds the embedded model's files; `override` stands in for what `setting` names, for tests.

        Raises ValueError for a setting that names no model that embeds.
        """
        self._setting = _checked(setting)
        self._openai_base_url = openai_base_url
        self._openai_api_key = openai_api_key
        self._model_dir = model_dir
        self._override = override
        self._made: EmbeddedEmbeddingModel | BlockingEmbeddingModel | UnavailableEmbeddingModel | None = None
        self._lock = threading.Lock()

    def model(self) -> EmbeddingModel | None:
        """The model, or None where none is configured."""
        if self._override is not None:
            return self._override
        with self._lock:
            if self._made is None and self._setting.kind == "embedded":
                self._made = self._embedded()
            elif self._made is None and self._setting.kind == "openai":
                self._made = self._provided()
            return self._made

    def state(self) -> ModelState:
        """Whether it can embed now."""
        model = self.model()
        return _NONE if model is None else model.state()

    def start(self) -> None:
        """Begin to fetch the model where it is embedded; returns at once."""
        from language_models.embedded.embeddings import EmbeddedEmbeddingModel

        model = self.model()
        if isinstance(model, EmbeddedEmbeddingModel):
            model.start()

    async def aclose(self) -> None:
        """Close what was made; what stands in is closed by who made it."""
        if self._made is not None:
            await self._made.aclose()

    def _embedded(self) -> EmbeddedEmbeddingModel:
        from language_models.download.catalogue import entry_named
        from language_models.embedded.embeddings import EmbeddedEmbeddingModel

        return EmbeddedEmbeddingModel(entry_named(self._setting.model, work="embedding"), folder=self._model_dir)

    def _provided(self) -> BlockingEmbeddingModel | UnavailableEmbeddingModel:
        from language_models.openai.client import Timeouts
        from language_models.openai.embeddings import BlockingEmbeddingModel, ProviderEmbeddingModel
        from language_models.unavailable import UnavailableEmbeddingModel

        name = self._setting.model
        if self._openai_api_key is None and self._openai_base_url == OPENAI_BASE_URL:
            advice = f"{name} needs a key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a provider without one."
            return UnavailableEmbeddingModel(name=name, advice=advice, error=BadCredentialsError)
        client = ProviderEmbeddingModel(
            base_url=self._openai_base_url,
            api_key=self._openai_api_key,
            model=name,
            # Somebody waits for the search behind it.
            timeouts=Timeouts(connect=5.0, answer=30.0),
        )
        return BlockingEmbeddingModel(client)


def _checked(text: str) -> ModelSetting:
    try:
        setting = parse_model_setting(text)
        if setting.kind in ("anthropic", "scripted"):
            raise ValueError(f"{text!r} does not embed; right would be 'embedded', 'openai:<model>' or 'none'")
        if setting.kind == "embedded":
            from language_models.download.catalogue import entry_named

            entry_named(setting.model, work="embedding")
    except ValueError as error:
        raise ValueError(f"The embedding model: {error}") from None
    return setting
