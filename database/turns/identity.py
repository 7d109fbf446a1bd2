"""The identifiers of a question and its answer, as sent to clients; who answers, and how the answer ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, bindparam, func, select

from database.conversations.conversation import ConversationHead
from database.engine.statements import Prepared
from database.messages.documents import Documents
from database.messages.message import MessageText
from database.messages.parts import Parts
from database.schema import activities, messages

AgentIdentity = Mapping[str, str]
"""The `{id, title}` of an agent, as its answers are stored with it."""


def config_of_answer(model_name: str, agent: AgentIdentity | None) -> dict[str, Any]:
    """The configuration of an answer before it begins: which model or agent gives it."""
    config: dict[str, Any] = {"model": model_name} if model_name else {}
    return config if agent is None else config | {"agent": dict(agent)}


Admission = Callable[[Connection], Callable[[], None]]
"""Asks within the transaction that accepts a turn whether there is room for it; what is returned reads the answer, and
raises where there is none."""


def admit_all(_connection: Connection) -> Callable[[], None]:
    """Accept a turn regardless of what else runs."""
    return _admitted


def _admitted() -> None:
    """There is room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedAnswer:
    """The result of an answer. status: as for `finish_turn`. config: None keeps the stored one.

    references: what the answer cites, in the form of report entries.
    """

    text: str
    status: str
    config: Mapping[str, Any] | None
    parts: Parts = ()
    documents: Documents = ()
    references: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question and its answer.

    user_message_index, response_message_index: 1-based, 0 for a message that was deleted.
    user_message_short_hash, response_message_short_hash, conversation_friendly_id: None until they exist.
    kept: False for a turn of which nothing stays when it has ended. responses: of a turn with several answers, the
    `{message_id, message_short_hash, message_index, short_id}` of each, in order.
    """

    user_message_id: str
    response_message_id: str
    user_message_index: int
    response_message_index: int
    user_short_id: str
    response_short_id: str
    user_message_short_hash: str | None
    response_message_short_hash: str | None
    title: str
    conversation_friendly_id: str | None
    kept: bool = True
    responses: Sequence[dict[str, Any]] = ()

    def message_ids(self) -> dict[str, Any]:
        """The identifiers as the `message_ids` event gives them, with `kept: false` where nothing of them stays.

        The `response_…` ones of a turn with several answers are those of the first.
        """
        ids: dict[str, Any] = {
            "user_message_id": self.user_message_id,
            "response_message_id": self.response_message_id,
            "user_message_short_hash": self.user_message_short_hash,
            "response_message_short_hash": self.response_message_short_hash,
            "user_message_index": self.user_message_index,
            "response_message_index": self.response_message_index,
            "user_short_id": self.user_short_id,
            "response_short_id": self.response_short_id,
        }
        if self.responses:
            ids |= {f"response_{name}": value for name, value in self.responses[0].items()}
            ids["responses"] = [*self.responses]
        if not self.kept:
            ids["kept"] = False
        return ids


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedTurn(Turn):
    """An accepted turn: stored, so that it survives a crash.

    first_turn: the conversation was empty. thread_id: the question's thread; None if it has none, or if only its
    answers will open one. files: the parts of the question that are files. said_before: the newest messages before the
    question, where they were asked for and were read together with the rest.
    """

    first_turn: bool
    created_at: str
    thread_id: str | None = None
    files: tuple[dict[str, Any], ...] = ()
    said_before: Sequence[MessageText] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedTurn(AcceptedTurn):
    """A turn whose answer is regenerated or continued.

    text, question_config, report: of the stored question. answer_config, answer_text, answer_parts, answer_documents:
    of the answer so far. answers_before: earlier answers of others to the question, `{text, config, short_id,
    message_id}` each. asked_by_agent: an agent wrote the question.
    """

    text: str
    question_config: dict[str, Any]
    report: list[dict[str, Any]]
    answer_config: dict[str, Any]
    answer_text: str = ""
    answer_parts: tuple[dict[str, Any], ...] = ()
    answer_documents: tuple[dict[str, Any], ...] = ()
    answers_before: tuple[dict[str, Any], ...] = ()
    asked_by_agent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedTurn(Turn):
    """A turn whose answer is complete, with all its identifiers. `status` is the answer's."""

    status: str


class _Identity(NamedTuple):
    """One message of a turn. `behind`: how many live messages come after it."""

    message_id: str
    ordinal: int
    short_hash: str | None
    in_answer_to: str | None
    status: str
    deleted_at: str | None
    other_branch: int | None
    short_id: str
    behind: int


_later = messages.alias("later")
_asked = messages.alias("asked")


_IDENTITY = select(
    messages.c.message_id,
    messages.c.ordinal,
    messages.c.message_short_hash,
    messages.c.in_answer_to,
    messages.c.status,
    messages.c.deleted_at,
    messages.c.other_branch,
    activities.c.short_id,
    select(func.count())
    .where(
        _later.c.conversation_id == messages.c.conversation_id,
        _later.c.deleted_at.is_(None),
        _later.c.other_branch.is_(None),
        _later.c.ordinal > messages.c.ordinal,
    )
    .correlate(messages)
    .scalar_subquery()
    .label("behind"),
).join(activities, activities.c.seq == messages.c.seq)


def _identities(condition: ColumnElement[bool]) -> Select[Any]:
    return _IDENTITY.where(messages.c.conversation_id == bindparam("conversation_id"), condition)


_TURN = Prepared(
    _identities(
        (messages.c.message_id == bindparam("answer"))
        | (
            messages.c.message_id
            == select(_asked.c.in_answer_to).where(_asked.c.message_id == bindparam("answer")).scalar_subquery()
        )
    )
)
# Answers stand behind their question.
_ANSWERS = Prepared(
    _identities(
        (messages.c.ordinal > bindparam("ordinal"))
        & (messages.c.in_answer_to == bindparam("question"))
        & messages.c.deleted_at.is_(None)
    ).order_by(messages.c.ordinal)
)


def finished_first_turns(connection: Connection, heads: Mapping[str, ConversationHead]) -> dict[str, FinishedTurn]:
    """`finished_turn` of answers that stand right behind their questions, by one statement for all.

    heads: the conversation of each answer, by the answer's id.
    """
    asked = select(_asked.c.in_answer_to).where(_asked.c.message_id.in_(heads))
    rows = connection.execute(_IDENTITY.where(messages.c.message_id.in_(heads) | messages.c.message_id.in_(asked)))
    found = {identity.message_id: identity for identity in map(_Identity._make, rows)}
    return {
        answer: _turn(head, found[found[answer].in_answer_to or ""], found[answer]) for answer, head in heads.items()
    }


def finished_turn(connection: Connection, head: ConversationHead, response_message_id: str) -> FinishedTurn:
    """The turn that `response_message_id` answers, as it is stored.

    An answer without a question (an import) stands for both.
    """
    here = {"conversation_id": head.conversation_id}
    rows = _TURN.rows(connection, **here, answer=response_message_id)
    found = {identity.message_id: identity for identity in map(_Identity._make, rows)}
    response = found[response_message_id]
    question = found.get(response.in_answer_to or "", response)
    turn = _turn(head, question, response)
    # The first answer is stored right behind its question, together with it.
    if response.ordinal <= question.ordinal + 1:
        return turn
    rows = _ANSWERS.rows(connection, **here, question=question.message_id, ordinal=question.ordinal)
    answers = [_response(head, answer) for answer in map(_Identity._make, rows)]
    return replace(turn, responses=answers) if len(answers) > 1 else turn


def _turn(head: ConversationHead, question: _Identity, response: _Identity) -> FinishedTurn:
    return FinishedTurn(
        user_message_id=question.message_id,
        response_message_id=response.message_id,
        user_message_index=_index(head, question),
        response_message_index=_index(head, response),
        user_short_id=question.short_id,
        response_short_id=response.short_id,
        user_message_short_hash=question.short_hash,
        response_message_short_hash=response.short_hash,
        title=head.title,
        conversation_friendly_id=head.friendly_id,
        status=response.status,
    )


def _response(head: ConversationHead, answer: _Identity) -> dict[str, Any]:
    return {
        "message_id": answer.message_id,
        "message_short_hash": answer.short_hash,
        "message_index": _index(head, answer),
        "short_id": answer.short_id,
    }


def _index(head: ConversationHead, identity: _Identity) -> int:
    """Counted from the end, near which the messages of a turn that just finished are."""
    is_shown = identity.deleted_at is None and identity.other_branch is None
    return head.message_count - identity.behind if is_shown else 0
