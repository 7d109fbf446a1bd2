"""Presets of answers' options, and the prompt library."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Annotated, Any

from flask import Blueprint
from pydantic import AfterValidator, Field

from database.library import PRESETS, PROMPTS, LibraryItem
from endpoints.conversations.views import AnswerOptions, ModelName
from endpoints.http.models import Body, Done, Shape, Text, Title
from endpoints.http.scope import check_model, current_user_scope
from endpoints.http.validation import answers, fails, takes

_WORD = re.compile(r"[^\W\d_][\w-]*")


def _one_word(name: str) -> str:
    if not _WORD.fullmatch(name):
        raise ValueError("one word that begins with a letter, of letters, digits, '-' and '_'")
    return name.lower()


class PresetBody(AnswerOptions):
    """A named set of options of answers; null: the conversation's default. `model`: an `id` of `GET /models`."""

    name: Annotated[Title, Field(max_length=100)]
    model: ModelName | None = None


class Preset(Shape):
    """A preset."""

    preset_id: str
    name: str
    system_prompt: str | None
    temperature: float | None
    answer_tokens: int | None
    model: str | None
    created_at: str
    updated_at: str


class PromptBody(Body):
    """A prompt. `name`: one word, which the composer offers after a slash. `text`: may hold fields, `{{like this}}`."""

    name: Annotated[Text, Field(min_length=1, max_length=50), AfterValidator(_one_word)]
    text: Annotated[Text, Field(min_length=1, max_length=50_000)]


class Prompt(Shape):
    """A prompt."""

    prompt_id: str
    name: str
    text: str
    created_at: str
    updated_at: str


blueprint = Blueprint("library", __name__)


@blueprint.get("/presets")
@answers(list[Preset])
def list_presets() -> object:
    """Your presets by name: sets of options of answers, each with a model."""
    return [_preset(item) for item in PRESETS.items(**current_user_scope())]


@blueprint.post("/presets")
@takes(PresetBody)
@answers(Preset, status=HTTPStatus.CREATED)
@fails("conflict", "model_not_allowed")
def create_preset(body: PresetBody) -> object:
    """A new preset."""
    return _preset(PRESETS.add(**current_user_scope(), name=body.name, content=_checked_options(body)))


@blueprint.get("/presets/<preset_id>")
@answers(Preset)
def get_preset(preset_id: str) -> object:
    """One preset."""
    return _preset(PRESETS.item(**current_user_scope(), item_id=preset_id))


@blueprint.put("/presets/<preset_id>")
@takes(PresetBody)
@answers(Preset)
@fails("conflict", "model_not_allowed")
def replace_preset(preset_id: str, body: PresetBody) -> object:
    """Replace a preset's name and options."""
    content = _checked_options(body)
    return _preset(PRESETS.replace(**current_user_scope(), item_id=preset_id, name=body.name, content=content))


@blueprint.delete("/presets/<preset_id>")
@answers(Done)
def delete_preset(preset_id: str) -> None:
    """Delete a preset; conversations keep the settings that they took from it."""
    PRESETS.remove(**current_user_scope(), item_id=preset_id)


@blueprint.get("/prompts")
@answers(list[Prompt])
def list_prompts() -> object:
    """Your prompts by name: texts with fields to fill."""
    return [_prompt(item) for item in PROMPTS.items(**current_user_scope())]


@blueprint.post("/prompts")
@takes(PromptBody)
@answers(Prompt, status=HTTPStatus.CREATED)
@fails("conflict")
def create_prompt(body: PromptBody) -> object:
    """A new prompt."""
    return _prompt(PROMPTS.add(**current_user_scope(), name=body.name, content={"text": body.text}))


@blueprint.get("/prompts/<prompt_id>")
@answers(Prompt)
def get_prompt(prompt_id: str) -> object:
    """One prompt."""
    return _prompt(PROMPTS.item(**current_user_scope(), item_id=prompt_id))


@blueprint.put("/prompts/<prompt_id>")
@takes(PromptBody)
@answers(Prompt)
@fails("conflict")
def replace_prompt(prompt_id: str, body: PromptBody) -> object:
    """Replace a prompt's name and text."""
    content = {"text": body.text}
    return _prompt(PROMPTS.replace(**current_user_scope(), item_id=prompt_id, name=body.name, content=content))


@blueprint.delete("/prompts/<prompt_id>")
@answers(Done)
def delete_prompt(prompt_id: str) -> None:
    """Delete a prompt."""
    PROMPTS.remove(**current_user_scope(), item_id=prompt_id)


def _checked_options(body: PresetBody) -> dict[str, Any]:
    check_model(body.model)
    return body.model_dump(exclude={"name"})


def _preset(item: LibraryItem) -> dict[str, Any]:
    return {"preset_id": item.item_id, **_shared(item)}


def _prompt(item: LibraryItem) -> dict[str, Any]:
    return {"prompt_id": item.item_id, **_shared(item)}


def _shared(item: LibraryItem) -> dict[str, Any]:
    return {"name": item.name, **item.content, "created_at": item.created_at, "updated_at": item.updated_at}
