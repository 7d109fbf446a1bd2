"""Questions to a model whose answers have a given JSON shape: asking, giving up, reading suggestions out of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from language_models import blocking
from language_models.errors import ModelError, ModelFailedError
from language_models.ports import ChatMessage, ChatModel, Completion, json_format, json_object
from sentences import say

from ..constants import EntityRole, EntityType
from .rules import MOST_ENTITIES, MOST_TAGS, grounded_entities, rule_tags

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")
_FOLDER = Path(__file__).parent / "prompts"
# The same question at temperature 0 would get the same wrong answer again.
_SECOND_TEMPERATURE = 0.4


class UnansweredError(Exception):
    """The model gave no answer of use. is_silent: it is not there or too slow, so that asking more is in vain."""

    def __init__(self, reason: str, *, is_silent: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_silent = is_silent


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a model is asked.

    job: names it, and its prompt in `prompts/`. schema: of the answer, JSON Schema. material: the text to look at.
    """

    job: str
    schema: Mapping[str, Any]
    material: str
    max_tokens: int = 300


def ask(
    model: ChatModel,
    question: Question,
    *,
    read: Callable[[Any], Answer],
    timeout: float,
    temperature: float = 0.0,
    is_logged: bool = False,
) -> Answer:
    """The model's answer as `read` makes it of the parsed JSON; `read` raises ValueError for what is no answer.

    Blocks for `timeout` seconds at most for each of two attempts. is_logged: log what is asked and answered. Raises
    UnansweredError, and nothing else.
    """
    if model.state().phase == "fetching":
        raise UnansweredError(say("still_fetched"), is_silent=True)
    reason = ""
    for attempt_temperature in (temperature, max(temperature, _SECOND_TEMPERATURE)):
        try:
            completion = _completed(model, question, timeout=timeout, temperature=attempt_temperature)
            if is_logged:
                log.info("%s was asked: %s\nanswered: %s", question.job, question.material, completion.text)
            return read(json_object(completion.text))
        except (ValueError, KeyError, TypeError) as error:
            reason = str(error) or type(error).__name__
            log.info("%s: the model's answer has not the shape that was asked for: %s", question.job, reason)
    raise UnansweredError(say("answer_of_no_use"), is_silent=False)


def _completed(model: ChatModel, question: Question, *, timeout: float, temperature: float) -> Completion:
    # Stable text first: what a model has read before, it need not read again.
    messages: list[ChatMessage] = [
        {"role": "system", "content": _instruction(question.job)},
        {"role": "user", "content": question.material},
    ]
    try:
        return blocking.run(
            model.complete(
                messages,
                response_format=json_format(question.job, question.schema),
                max_tokens=question.max_tokens,
                temperature=temperature,
            ),
            timeout=timeout,
        )
    except ModelFailedError as error:
        raise UnansweredError(error.message, is_silent=False) from error
    except ModelError as error:
        raise UnansweredError(error.message, is_silent=True) from error
    except (TimeoutError, RuntimeError) as error:
        raise UnansweredError(str(error) or say("model_late"), is_silent=True) from error


@cache
def _instruction(job: str) -> str:
    return (_FOLDER / f"{job}.txt").read_text(encoding="utf-8").strip()


def object_of(**properties: Any) -> dict[str, Any]:
    """The schema of an object that has all of these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(items: Mapping[str, Any], *, most: int) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": dict(items), "maxItems": most}


def text_in(value: Any, *, longest: int) -> str:
    """A string of the answer in one line, without spaces around it. Raises ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")  # noqa: TRY004 (one kind of error for what is no answer)
    line = " ".join(value.split())
    if len(line) > longest:
        raise ValueError(f"a text of {len(line)} characters is too long")
    return line


def items_in(value: Any) -> list[Any]:
    """A list of the answer. Raises ValueError for anything else."""
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is no list")  # noqa: TRY004
    return value


def one_of(value: Any, allowed: Sequence[str]) -> str:
    """One of the `allowed` texts. Raises ValueError for anything else."""
    if value not in {str(one) for one in allowed}:
        raise ValueError(f"{value!r} is none of {', '.join(allowed)}")
    return str(value)


Named = dict[str, str]

_LONGEST_TAG, _LONGEST_NAME, _LONGEST_QUESTION = 40, 120, 300
TEXT = {"type": "string"}
TAGS = list_of(TEXT, most=MOST_TAGS)
ENTITIES = list_of(object_of(name=TEXT, type={"enum": [kind.value for kind in EntityType]}), most=MOST_ENTITIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Suggestions for a statement. entities: `{"name", "type", "role"}`. by: who made them."""

    claim_type: str
    context_domain: str
    tags: list[str]
    entities: list[Named]
    possible_questions: list[str]
    by: Literal["model", "rules"]
    warnings: list[str] = field(default_factory=list)


def analysis_schema(types: Sequence[str], domains: Sequence[str]) -> dict[str, Any]:
    """The shape of an answer that `analysis_in` reads."""
    return object_of(
        type={"enum": [str(kind) for kind in types]},
        domain={"enum": [str(domain) for domain in domains]},
        tags=TAGS,
        entities=ENTITIES,
        question=TEXT,
    )


def analysis_in(answer: Any, statement: str, *, types: Sequence[str], domains: Sequence[str]) -> Analysis:
    """A model's suggestions. Raises ValueError and KeyError for what is none."""
    question = text_in(answer["question"], longest=_LONGEST_QUESTION)
    return Analysis(
        claim_type=one_of(answer["type"], types),
        context_domain=one_of(answer["domain"], domains),
        tags=tags_in(answer["tags"]) or rule_tags(statement),
        entities=entities_in(answer["entities"], statement),
        possible_questions=[question] if question else [],
        by="model",
    )


def tags_in(value: Any) -> list[str]:
    """At most four tags, lowercase, each once."""
    tags = [text_in(tag, longest=_LONGEST_TAG).lower().replace("_", " ").lstrip("#").strip() for tag in items_in(value)]
    return list(dict.fromkeys(filter(None, tags)))[:MOST_TAGS]


def entities_in(value: Any, statement: str) -> list[Named]:
    """Those that the statement really names: small models like to add some."""
    read = [
        {
            "name": text_in(item["name"], longest=_LONGEST_NAME),
            "type": one_of(item["type"], tuple(EntityType)),
            "role": EntityRole.MENTIONED.value,
        }
        for item in items_in(value)
    ]
    return grounded_entities(statement, [entity for entity in read if entity["name"]])


_QUESTIONS_WORTH = 3


class Patience:
    """Ends after so many seconds, or when it is `lost`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @classmethod
    def of(cls, timeout: float) -> Patience:
        """Enough for a few questions of `timeout` seconds each."""
        return cls(_QUESTIONS_WORTH * timeout)

    def is_over(self) -> bool:
        """Whether nothing more is to be asked."""
        return time.monotonic() >= self._end

    def lose(self) -> None:
        """Ask nothing more: the model does not answer."""
        self._end = float("-inf")
