"""The models that a conversation may be answered by, each with its state: what a person chooses from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from language_models.download.catalogue import CatalogueEntry, entries
from language_models.embedded.process import CONTEXT
from language_models.embedded.runtime import ModelFile, model_file
from language_models.errors import ModelNotAllowedError
from language_models.names import Kind, ModelSetting, RoleName
from language_models.openai.model_list import OfferedModels, ProviderList
from language_models.ports import ChatModel, ModelState, Phase
from language_models.tokens import known_context_window

if TYPE_CHECKING:
    from language_models.ports import ChatModel
    from language_models.roles import ModelRoles


# What providers list beside models that converse, by a part of the name.
_OTHER_WORK = (
    *("embed", "whisper", "tts", "dall-e", "moderation", "transcribe", "image", "realtime", "audio", "sora"),
    *("davinci-002", "babbage-002", "rerank"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceState:
    """See `ModelState`; "absent" is an embedded model whose file is fetched when it is chosen."""

    phase: Phase | Literal["absent"]
    progress: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """One model.

    id: what `ModelRoles.for_name` takes. role: which of the server's own it is, if any. size_bytes: of what is fetched.
    context_window: tokens, where they are known.
    """

    id: str
    name: str
    kind: Kind
    state: ChoiceState
    role: RoleName | None = None
    size_bytes: int | None = None
    context_window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderState:
    """Whether a provider has said what it offers; `detail` is a sentence where it could not."""

    kind: Kind
    phase: Literal["loading", "ready", "failed"]
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMenu:
    """All that can be chosen, the server's own models first."""

    choices: tuple[ModelChoice, ...]
    providers: tuple[ProviderState, ...]


class KnownModels(Protocol):
    """What the menu asks of `ModelRoles`."""

    def setting(self, role: RoleName) -> ModelSetting:
        """What a role's setting names."""
        ...

    def for_name(self, setting: str) -> ChatModel:
        """The model of that name."""
        ...

    def made(self, setting: ModelSetting) -> ChatModel | None:
        """The model that answers under that setting, if anybody has asked for it."""
        ...


def menu(models: KnownModels, *, folder: Path, lists: Mapping[Kind, ProviderList]) -> ModelMenu:
    """What can be chosen now; never blocks. folder: of the embedded models' files. lists: of configured providers."""
    offers = {kind: provider.known() for kind, provider in lists.items()}
    seen: set[object] = set()
    choices = []
    for identity, choice in _all(models, folder, offers):
        if identity not in seen:
            seen.add(identity)
            choices.append(choice)
    providers = tuple(
        ProviderState(kind=kind, phase=offer.phase, detail=offer.detail) for kind, offer in offers.items()
    )
    return ModelMenu(choices=tuple(choices), providers=providers)


def _all(
    models: KnownModels, folder: Path, offers: Mapping[Kind, OfferedModels]
) -> Iterator[tuple[object, ModelChoice]]:
    """Everything with what it is the same as: a model may be named in several ways."""
    for role in ("main", "cheap"):
        setting = models.setting(role)
        if role == "main" or setting.kind != "none":
            yield _identity(setting, folder), _own(models, role, folder)
    for entry in entries():
        if entry.work == "chat":
            setting = ModelSetting("embedded", entry.name)
            yield _identity(setting, folder), _of_catalogue(models, entry, setting, folder)
    for kind, offer in offers.items():
        for name in offer.names:
            if not any(other in name.lower() for other in _OTHER_WORK):
                setting = ModelSetting(kind, name)
                yield setting, _of_provider(models, setting)


def _identity(setting: ModelSetting, folder: Path) -> object:
    return model_file(setting.model, folder=folder).path if setting.kind == "embedded" else setting


def _own(models: KnownModels, role: RoleName, folder: Path) -> ModelChoice:
    """One of the server's own. It is named by its role: a path of the operator's is nobody else's business."""
    setting, model = models.setting(role), models.for_name(role)
    file = model_file(setting.model, folder=folder) if setting.kind == "embedded" else None
    return ModelChoice(
        id=role,
        name=model.name,
        kind=setting.kind,
        role=role,
        state=_state(model.state(), file),
        size_bytes=file.entry.whole_size if file and file.entry else None,
        context_window=model.context_window if setting.kind != "none" else None,
    )


def _of_catalogue(models: KnownModels, entry: CatalogueEntry, setting: ModelSetting, folder: Path) -> ModelChoice:
    file, made = model_file(entry.name, folder=folder), models.made(setting)
    waiting = ModelState(name=entry.name, phase="waiting", detail="The model is loaded when it is first needed.")
    return ModelChoice(
        id=f"embedded:{entry.name}",
        name=entry.name,
        kind="embedded",
        state=_state(made.state() if made else waiting, file),
        size_bytes=entry.whole_size,
        context_window=CONTEXT,
    )


def _of_provider(models: KnownModels, setting: ModelSetting) -> ModelChoice:
    made = models.made(setting)
    state = made.state() if made else ModelState(name=setting.model, phase="ready", progress=1.0)
    return ModelChoice(
        id=f"{setting.kind}:{setting.model}",
        name=setting.model,
        kind=setting.kind,
        state=_state(state, None),
        context_window=known_context_window(setting.model),
    )


def _state(state: ModelState, file: ModelFile | None) -> ChoiceState:
    if state.phase == "waiting" and file is not None and file.entry is not None and not file.is_there():
        return ChoiceState(phase="absent", detail="The model is fetched when it is chosen.")
    return ChoiceState(phase=state.phase, progress=state.progress, detail=state.detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedNames:
    """Which models may be chosen beside those of the settings, as patterns ("openai:gpt-4*", "*").

    everybody: without any, embedded models that were fetched already. administrators: what they may choose besides.
    """

    everybody: tuple[str, ...] = ()
    administrators: tuple[str, ...] = ()

    def include(self, name: str, *, is_admin: bool) -> bool:
        """Whether a pattern allows `name`."""
        patterns = (*self.everybody, *self.administrators) if is_admin else self.everybody
        return any(fnmatchcase(name, pattern) for pattern in patterns)


class AllowedModels:
    """See `ModelRoles`; models that are not allowed are refused. Only administrators have models fetched."""

    def __init__(self, models: ModelRoles, names: AllowedNames, *, is_admin: Callable[[], bool]) -> None:
        """`is_admin` is asked only where the settings' own models don't do."""
        self._models = models
        self._names = names
        self._is_admin = is_admin

    def main(self) -> ChatModel:
        """The model that answers; everybody may use it."""
        return self._models.main()

    def cheap(self) -> ChatModel:
        """The model for small jobs; everybody may use it."""
        return self._models.cheap()

    def for_name(self, setting: str) -> ChatModel:
        """The model of that name. Raises ValueError as `ModelRoles.for_name` does, ModelNotAllowedError."""
        model = self._models.for_name(setting)
        if not self._allows(setting):
            raise ModelNotAllowedError(
                f"The operator of this server does not let you use {model.name}. Choose another model.",
                model=model.name,
            )
        return model

    def begin(self, name: str) -> None:
        """Begin to fetch and load an embedded model. Raises ValueError, ModelNotAllowedError."""
        if not self._models.is_there(name) and not self._is_admin():
            raise ModelNotAllowedError("Only administrators may have models fetched. Ask one of them.")
        if not self._allows(name):
            raise ModelNotAllowedError("The operator of this server does not let you use this model.")
        self._models.begin(name)

    def menu(self) -> ModelMenu:
        """What this person may choose."""
        menu = self._models.menu()
        return replace(menu, choices=tuple(choice for choice in menu.choices if choice.role or self._allows(choice.id)))

    def _allows(self, name: str) -> bool:
        if self._models.is_own(name):
            return True
        is_admin = self._is_admin()
        if self._models.is_embedded(name):
            # Whoever may have models fetched may use them; others use what is there.
            if is_admin or not self._models.is_there(name):
                return is_admin
            if not self._names.everybody:
                return True
        return self._names.include(self._models.full_name(name), is_admin=is_admin)
