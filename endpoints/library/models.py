"""Request and response models of presets and prompts."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from endpoints.conversations.models import AnswerOptions, ModelName
from endpoints.http.models import Body, Shape, Text, Title

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
