"""Request and response models of language models."""

from __future__ import annotations

from typing import Literal

from endpoints.http.models import Saying, Shape


class ModelItem(Shape):
    """Whether a model can answer now; `progress` is the share of its download or loading that is done."""

    name: str
    phase: Literal["none", "waiting", "fetching", "loading", "ready", "failed"]
    progress: float | None
    detail: str
    said: list[Saying]


class ModelStates(Shape):
    """The models by role."""

    main: ModelItem
    cheap: ModelItem
    embedding: ModelItem | None = None


Kind = Literal["embedded", "openai", "anthropic", "scripted", "none"]


class ChoiceState(Shape):
    """Whether a model can answer now; "absent" is one that is fetched when it is chosen.

    `progress` is the share of its download or loading that is done; `detail` a sentence.
    """

    phase: Literal["none", "absent", "waiting", "fetching", "loading", "ready", "failed"]
    progress: float | None
    detail: str
    said: list[Saying]


class ModelChoice(Shape):
    """A model that a conversation may be answered by.

    `id` is what a message's `model` and a conversation's `model_overrides` take; `role` says which of the server's own
    models it is; `size_bytes` is what is fetched of an embedded one; `context_window` is in tokens, null where unknown.
    """

    id: str
    name: str
    kind: Kind
    role: Literal["main", "cheap"] | None
    state: ChoiceState
    size_bytes: int | None
    context_window: int | None


class ProviderState(Shape):
    """Whether a provider has said which models it offers; it is asked behind the answer, and again after a failure."""

    kind: Kind
    phase: Literal["loading", "ready", "failed"]
    detail: str
    said: list[Saying]


class Models(ModelStates):
    """The models by role, and what conversations may choose from."""

    choices: list[ModelChoice]
    providers: list[ProviderState]


class Begun(Shape):
    """The fetching has begun, or was under way; `GET /models` tells how far it is."""

    status: Literal["ok"]
