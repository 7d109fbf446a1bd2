"""Presets of answers' options, and the prompt library."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from flask import Blueprint

from database.library import PRESETS, PROMPTS, LibraryItem
from endpoints.http.models import Done
from endpoints.http.scope import check_model, current_user_scope
from endpoints.http.validation import answers, fails, takes

from . import models as library_models

blueprint = Blueprint("library", __name__)


@blueprint.get("/presets")
@answers(list[library_models.Preset])
def list_presets() -> object:
    """Your presets by name: sets of options of answers, each with a model."""
    return [_preset(item) for item in PRESETS.items(**current_user_scope())]


@blueprint.post("/presets")
@takes(library_models.PresetBody)
@answers(library_models.Preset, status=HTTPStatus.CREATED)
@fails("conflict", "model_not_allowed")
def create_preset(body: library_models.PresetBody) -> object:
    """A new preset."""
    return _preset(PRESETS.add(**current_user_scope(), name=body.name, content=_checked_options(body)))


@blueprint.get("/presets/<preset_id>")
@answers(library_models.Preset)
def get_preset(preset_id: str) -> object:
    """One preset."""
    return _preset(PRESETS.item(**current_user_scope(), item_id=preset_id))


@blueprint.put("/presets/<preset_id>")
@takes(library_models.PresetBody)
@answers(library_models.Preset)
@fails("conflict", "model_not_allowed")
def replace_preset(preset_id: str, body: library_models.PresetBody) -> object:
    """Replace a preset's name and options."""
    content = _checked_options(body)
    return _preset(PRESETS.replace(**current_user_scope(), item_id=preset_id, name=body.name, content=content))


@blueprint.delete("/presets/<preset_id>")
@answers(Done)
def delete_preset(preset_id: str) -> None:
    """Delete a preset; conversations keep the settings that they took from it."""
    PRESETS.remove(**current_user_scope(), item_id=preset_id)


@blueprint.get("/prompts")
@answers(list[library_models.Prompt])
def list_prompts() -> object:
    """Your prompts by name: texts with fields to fill."""
    return [_prompt(item) for item in PROMPTS.items(**current_user_scope())]


@blueprint.post("/prompts")
@takes(library_models.PromptBody)
@answers(library_models.Prompt, status=HTTPStatus.CREATED)
@fails("conflict")
def create_prompt(body: library_models.PromptBody) -> object:
    """A new prompt."""
    return _prompt(PROMPTS.add(**current_user_scope(), name=body.name, content={"text": body.text}))


@blueprint.get("/prompts/<prompt_id>")
@answers(library_models.Prompt)
def get_prompt(prompt_id: str) -> object:
    """One prompt."""
    return _prompt(PROMPTS.item(**current_user_scope(), item_id=prompt_id))


@blueprint.put("/prompts/<prompt_id>")
@takes(library_models.PromptBody)
@answers(library_models.Prompt)
@fails("conflict")
def replace_prompt(prompt_id: str, body: library_models.PromptBody) -> object:
    """Replace a prompt's name and text."""
    content = {"text": body.text}
    return _prompt(PROMPTS.replace(**current_user_scope(), item_id=prompt_id, name=body.name, content=content))


@blueprint.delete("/prompts/<prompt_id>")
@answers(Done)
def delete_prompt(prompt_id: str) -> None:
    """Delete a prompt."""
    PROMPTS.remove(**current_user_scope(), item_id=prompt_id)


def _checked_options(body: library_models.PresetBody) -> dict[str, Any]:
    check_model(body.model)
    return body.model_dump(exclude={"name"})


def _preset(item: LibraryItem) -> dict[str, Any]:
    return {"preset_id": item.item_id, **_shared(item)}


def _prompt(item: LibraryItem) -> dict[str, Any]:
    return {"prompt_id": item.item_id, **_shared(item)}


def _shared(item: LibraryItem) -> dict[str, Any]:
    return {"name": item.name, **item.content, "created_at": item.created_at, "updated_at": item.updated_at}
