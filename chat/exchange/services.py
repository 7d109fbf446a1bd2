"""The services that a turn needs, made from the settings; for scripts, from the environment."""

from __future__ import annotations

from functools import cache
from typing import Any

from database.accounts.quotas import Quota
from language_models.openai.client import Timeouts
from language_models.ports import Price
from language_models.roles import ModelRoles
from language_models.roles.names import ModelLimits
from settings import Settings, load_settings

from .ports import KnowledgeLimits, ReferenceCaps, TurnServices


def limits_of(settings: Settings) -> dict[str, Any]:
    """What `settings` say of turns, as fields of `TurnServices`."""
    return {
        "distill_budget": settings.distill_budget,
        "file_cap": settings.file_cap,
        "messages_found": settings.messages_found,
        "documents_found": settings.documents_found,
        "embedding_patience": settings.embedding_patience,
        "distill_patience": settings.distill_patience,
        "distill_timeout": settings.distill_timeout,
        "title_timeout": settings.title_timeout,
        "background_timeout": settings.background_timeout,
        "caps": ReferenceCaps(message=settings.reference_cap, conversation=settings.conversation_cap),
        "knowledge_limits": KnowledgeLimits(
            group=settings.memories_of_group,
            attached=settings.memories_attached,
            pinned=settings.memories_pinned,
            conversation_pinned=settings.memories_pinned_to_conversation,
            found=settings.memories_found,
        ),
        "tracks_documents": settings.document_references == "on",
    }


def default_quota(settings: Settings) -> Quota:
    """What a person may use for whom no administrator has set anything else."""
    return Quota(
        messages_a_day=settings.messages_a_day,
        tokens_a_day=settings.tokens_a_day,
        tokens_a_month=settings.tokens_a_month,
        file_megabytes=settings.file_quota,
    )


def models_from(settings: Settings) -> ModelRoles:
    """The models by role, as `settings` name them."""
    return ModelRoles(
        main=settings.main_model,
        cheap=settings.cheap_model,
        embedding=settings.embedding_model,
        openai_base_url=settings.openai_base_url,
        openai_api_key=settings.openai_api_key,
        anthropic_api_key=settings.anthropic_api_key,
        model_dir=settings.model_dir,
        limits=ModelLimits(
            context_windows=settings.context_window,
            answer_tokens=settings.answer_tokens,
            prices={
                pattern: Price(read=read, written=written, currency=settings.currency)
                for pattern, (read, written) in settings.prices.items()
            },
            picture_models=settings.picture_models,
            servers=settings.processes,
            timeouts=Timeouts(first_token=settings.first_token_timeout, idle=settings.silence_timeout),
            embedding_timeout=settings.embedding_timeout,
        ),
    )


@cache
def default_services() -> TurnServices:
    """Services from the environment, made once per process. Raises SettingsError."""
    settings = load_settings()
    return TurnServices(models=models_from(settings), **limits_of(settings))
