"""Turns of a conversation become proposals: what a person told about themselves, and what they asked to remember."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sentences import because, say

from ..analysis.asking import Patience, UnansweredError
from ..analysis.comparing import is_first_person
from ..analysis.statements import MOST_TEXT_BYTES, parse_statements, readable, without_request
from ..errors import InvalidKnowledgeError
from .distiller import DEFAULT_DOMAIN, DEFAULT_TYPE, Distiller
from .executing import Approved
from .plans import IngestCandidate, IngestResult, TextIngestionPlan
from .reading import FactReader, Share

_SUMMARY_SHARE, _ANSWER_SHARE = 0.3, 0.7
_CONFIDENCE_OF_REQUEST = 1.0


class ConversationDistiller(Distiller):
    """Proposes claims out of one turn; nothing is stored as a claim until the plan is carried out."""

    kind = "conversation"

    def extract_and_propose(
        self,
        conversation_summary: str,
        user_message: str,
        assistant_message: str,
        *,
        source_message_id: str | None = None,
        use_llm: bool = True,
    ) -> TextIngestionPlan:
        """A plan with what the turn tells about the person.

        What stands behind "remember this:" or "/memory" is always among it, word for word. The texts are material:
        instructions in them change nothing. source_message_id: what the claims will link back to. use_llm: without,
        rules make the plan, at once. Never raises for what is in the texts; without a model, the person's own sentences
        about themselves are taken, and `warnings` say so.
        """
        summary, told, answer = map(readable, (conversation_summary or "", user_message or "", assistant_message or ""))
        told = told.encode()[:MOST_TEXT_BYTES].decode(errors="ignore")
        request = without_request(told)
        reader = self._reader(DEFAULT_TYPE, DEFAULT_DOMAIN)
        patience = Patience.of(self.config.llm_timeout)
        wished = self._wished(reader, request.wish, patience, use_llm=use_llm)
        # A wish of several sentences holds several facts: each is offered beside the whole.
        more = request.wish if len(parse_statements(request.wish)) > 1 else ""
        rest = "\n\n".join(filter(None, (request.rest, more)))
        # Small models take the answer's words for the person's; they see it only where it may be meant.
        is_meant = request.refers_back or (bool(rest) and not self._is_small())
        if use_llm:
            found, warnings = self._read(
                reader, patience, summary=summary, told=rest, answer=answer if is_meant else ""
            )
        else:
            found, warnings = _by_rules(reader, rest), []
        return self._planned(
            [*wished, *found],
            raw_text=told,
            patience=patience,
            warnings=warnings,
            use_llm=use_llm,
            source_message_id=source_message_id,
        )

    def execute_plan(
        self,
        plan_or_plan_id: TextIngestionPlan | str,
        user_response: Approved = "all",
        approved_indices: Sequence[int] | None = None,
    ) -> IngestResult:
        """As of `Distiller`; `user_response` may also be "none", or the numbers of a plan's `user_prompt` ("1,3").

        None is no answer: nothing is carried out.
        approved_indices: used instead, where it is given; counted from 0.
        """
        approved = _approved(user_response) if approved_indices is None else list(approved_indices)
        return super().execute_plan(plan_or_plan_id, approved)

    def _is_small(self) -> bool:
        model = self.llm.models.chat
        return model is not None and Share.of(model).is_small

    def _wished(self, reader: FactReader, wish: str, patience: Patience, *, use_llm: bool) -> list[IngestCandidate]:
        if not wish:
            return []
        if not use_llm:
            return [reader.by_rules(wish, confidence=_CONFIDENCE_OF_REQUEST)]
        troubles = len(self.llm.warnings)
        candidate = reader.analysed(wish, confidence=_CONFIDENCE_OF_REQUEST)
        if len(self.llm.warnings) > troubles:
            patience.lose()
        return [candidate]

    def _read(
        self, reader: FactReader, patience: Patience, *, summary: str, told: str, answer: str
    ) -> tuple[list[IngestCandidate], list[str]]:
        if not told.strip() and not answer.strip():
            return [], []
        model = self.llm.models.chat
        try:
            if model is None:
                raise UnansweredError(say("no_language_model"), is_silent=True)
            if patience.is_over():
                raise UnansweredError(say("does_not_answer"), is_silent=True)
            share = Share.of(model)
            material = _material(summary=summary, told=told, answer=answer, longest=share.longest)
            return reader.read("conversation", material, share=share), []
        except UnansweredError as error:
            if error.is_silent:
                patience.lose()
            warning = because("sentences_as_they_are", error.reason)
            return _by_rules(reader, told), [warning]


def _by_rules(reader: FactReader, told: str) -> list[IngestCandidate]:
    """The person's own sentences about themselves."""
    return [reader.by_rules(statement) for statement in parse_statements(told) if is_first_person(statement)]


def _approved(user_response: Approved) -> Approved:
    if not isinstance(user_response, str):
        return user_response or ()
    if user_response.strip().lower() == "all":
        return None
    numbers = [] if user_response.strip().lower() == "none" else re.split(r"[\s,;]+", user_response.strip(" ,;"))
    if not all(number.isdecimal() for number in numbers):
        raise InvalidKnowledgeError(f'{user_response!r} is no answer; use "all", "none", or numbers such as "1,3".')
    return [int(number) - 1 for number in numbers]


def _material(*, summary: str, told: str, answer: str, longest: int) -> str:
    """The turn as the model reads it: of the person's words the first, of the others as much as there is room for."""
    parts = (
        ("Earlier", summary[: int(longest * _SUMMARY_SHARE)]),
        ("The user said", told[:longest]),
        ("The assistant answered", answer[: int(longest * _ANSWER_SHARE)]),
    )
    return "\n\n".join(f"{heading}:\n{text.strip()}" for heading, text in parts if text.strip())
