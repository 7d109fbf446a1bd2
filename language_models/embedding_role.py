"""Which model embeds, as its setting names it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from language_models.errors import BadCredentialsError
from language_models.model_settings import OPENAI_BASE_URL, ModelSetting, parse_model_setting
from language_models.ports import EmbeddingModel, ModelState

if TYPE_CHECKING:
    from language_models.embedding_embedded import EmbeddedEmbeddingModel
    from language_models.embedding_provider import BlockingEmbeddingModel
    from language_models.unavailable import UnavailableEmbeddingModel

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
        from language_models.embedding_embedded import EmbeddedEmbeddingModel

        model = self.model()
        if isinstance(model, EmbeddedEmbeddingModel):
            model.start()

    async def aclose(self) -> None:
        """Close what was made; what stands in is closed by who made it."""
        if self._made is not None:
            await self._made.aclose()

    def _embedded(self) -> EmbeddedEmbeddingModel:
        from language_models.catalogue import entry_named
        from language_models.embedding_embedded import EmbeddedEmbeddingModel

        return EmbeddedEmbeddingModel(entry_named(self._setting.model, work="embedding"), folder=self._model_dir)

    def _provided(self) -> BlockingEmbeddingModel | UnavailableEmbeddingModel:
        from language_models.embedding_provider import BlockingEmbeddingModel
        from language_models.http_client import Timeouts
        from language_models.provider import ProviderEmbeddingModel
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
            from language_models.catalogue import entry_named

            entry_named(setting.model, work="embedding")
    except ValueError as error:
        raise ValueError(f"The embedding model: {error}") from None
    return setting
