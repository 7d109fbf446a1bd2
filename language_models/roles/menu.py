"""The models that a user may choose, each with its state, and what the operator allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from language_models.download.catalogue import CatalogueEntry, entries
from language_models.embedded.runtime import ModelFile, model_file
from language_models.embedded.supervised_process import CONTEXT
from language_models.errors import ModelNotAllowedError
from language_models.openai.model_list import OfferedModels, ProviderList
from language_models.ports import ChatModel, ModelState, Phase
from language_models.tokens import known_context_window

from .names import Kind, ModelSetting, RoleName

if TYPE_CHECKING:
    from .model_roles import ModelRoles

# Parts of the names of models that providers list but that do not chat.
_OTHER_WORK = (
    *("embed", "whisper", "tts", "dall-e", "moderation", "transcribe", "image", "realtime", "audio", "sora"),
    *("davinci-002", "babbage-002", "rerank"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceState:
    """See `ModelState`; "absent": an embedded model whose file is downloaded when it is chosen."""

    phase: Phase | Literal["absent"]
    progress: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """One model.

    id: the argument of `ModelRoles.for_name`. role: the server's role that the model has, if any. size_bytes: of its
    download. context_window: tokens, if known.
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
    """Whether a provider's model list is known; `detail`: a sentence about its failure."""

    kind: Kind
    phase: Literal["loading", "ready", "failed"]
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMenu:
    """All choices, the server's own models first."""

    choices: tuple[ModelChoice, ...]
    providers: tuple[ProviderState, ...]


def menu(models: ModelRoles, *, folder: Path, lists: Mapping[Kind, ProviderList]) -> ModelMenu:
    """The current choices; never blocks. folder: of the embedded models' files. lists: of configured providers."""
    offers = {kind: provider.known() for kind, provider in lists.items()}
    choices: dict[object, ModelChoice] = {}
    for identity, choice in _all_choices(models, folder, offers):
        choices.setdefault(identity, choice)
    providers = tuple(
        ProviderState(kind=kind, phase=offer.phase, detail=offer.detail) for kind, offer in offers.items()
    )
    return ModelMenu(choices=tuple(choices.values()), providers=providers)


def _all_choices(
    models: ModelRoles, folder: Path, offers: Mapping[Kind, OfferedModels]
) -> Iterator[tuple[object, ModelChoice]]:
    """Choices with their identities: a model may be listed under several names."""
    for role in ("main", "cheap"):
        setting = models.setting(role)
        if role == "main" or setting.kind != "none":
            yield _identity(setting, folder), _choice_of_role(models, role, folder)
    for entry in entries():
        if entry.work == "chat":
            setting = ModelSetting("embedded", entry.name)
            yield _identity(setting, folder), _choice_of_catalogue(models, entry, setting, folder)
    for kind, offer in offers.items():
        for name in offer.names:
            if not any(other in name.lower() for other in _OTHER_WORK):
                setting = ModelSetting(kind, name)
                yield setting, _choice_of_provider(models, setting)


def _identity(setting: ModelSetting, folder: Path) -> object:
    return model_file(setting.model, folder=folder).path if setting.kind == "embedded" else setting


def _choice_of_role(models: ModelRoles, role: RoleName, folder: Path) -> ModelChoice:
    """One of the server's own models, identified by its role, since users must not see the operator's paths."""
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


def _choice_of_catalogue(models: ModelRoles, entry: CatalogueEntry, setting: ModelSetting, folder: Path) -> ModelChoice:
    file, created = model_file(entry.name, folder=folder), models.created(setting)
    waiting = ModelState(name=entry.name, phase="waiting", detail="The model is loaded when it is first needed.")
    return ModelChoice(
        id=str(setting),
        name=entry.name,
        kind="embedded",
        state=_state(created.state() if created else waiting, file),
        size_bytes=entry.whole_size,
        context_window=CONTEXT,
    )


def _choice_of_provider(models: ModelRoles, setting: ModelSetting) -> ModelChoice:
    created = models.created(setting)
    state = created.state() if created else ModelState(name=setting.model, phase="ready", progress=1.0)
    return ModelChoice(
        id=str(setting),
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
    """Patterns of the models that may be chosen besides those of the settings ("openai:gpt-4*", "*").

    everybody: if empty, the embedded models that are downloaded. administrators: their choices in addition.
    """

    everybody: tuple[str, ...] = ()
    administrators: tuple[str, ...] = ()

    def include(self, name: str, *, is_admin: bool) -> bool:
        """Whether a pattern allows `name`."""
        patterns = (*self.everybody, *self.administrators) if is_admin else self.everybody
        return any(fnmatchcase(name, pattern) for pattern in patterns)


class AllowedModels:
    """`ModelRoles` for one user: refuses models that are not allowed. Only administrators may start downloads."""

    def __init__(self, models: ModelRoles, names: AllowedNames, *, is_admin: Callable[[], bool]) -> None:
        """`is_admin` is called only for models that the settings do not name."""
        self._models = models
        self._names = names
        self._is_admin = is_admin

    def main(self) -> ChatModel:
        """The model that answers; allowed for everybody."""
        return self._models.main()

    def cheap(self) -> ChatModel:
        """The model for small jobs; allowed for everybody."""
        return self._models.cheap()

    def for_name(self, setting: str) -> ChatModel:
        """The model of that name. Raises ModelNotAllowedError, and ValueError as `ModelRoles.for_name` does."""
        model = self._models.for_name(setting)
        if not self._allows(setting):
            raise ModelNotAllowedError(
                f"The operator of this server does not let you use {model.name}. Choose another model.",
                model=model.name,
            )
        return model

    def begin(self, name: str) -> None:
        """Begin to download and load an embedded model. Raises ValueError, ModelNotAllowedError."""
        if not self._models.is_there(name) and not self._is_admin():
            raise ModelNotAllowedError("Only administrators may have models fetched. Ask one of them.")
        if not self._allows(name):
            raise ModelNotAllowedError("The operator of this server does not let you use this model.")
        self._models.begin(name)

    def menu(self) -> ModelMenu:
        """The choices of this user."""
        menu = self._models.menu()
        return replace(menu, choices=tuple(choice for choice in menu.choices if choice.role or self._allows(choice.id)))

    def _allows(self, name: str) -> bool:
        if self._models.is_own(name):
            return True
        is_admin = self._is_admin()
        if self._models.is_embedded(name):
            # Administrators, who may download models, may use them; others use what is downloaded.
            if is_admin or not self._models.is_there(name):
                return is_admin
            if not self._names.everybody:
                return True
        return self._names.include(self._models.full_name(name), is_admin=is_admin)
