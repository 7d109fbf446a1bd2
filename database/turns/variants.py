"""Answers that are made again: each attempt is a variant, and the message is the chosen one.

While an attempt is being written the message keeps what it says, with the status "streaming". A message whose answer
was never made again has no variants at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from database.changes import MESSAGE, TURN, record
from database.conversations.conversation import ConversationHead, access_head, touch
from database.engine.clock import now_iso
from database.engine.database import Database, Urgency
from database.engine.errors import InvalidChangeError, MessageNotFoundError, TurnInProgressError, VariantNotFoundError
from database.history.reading import access_message, access_settled
from database.history.summary import forget_summary
from database.messages.documents import store_documents
from database.messages.message import MessageRow, live_in, row_with_id, rows_where
from database.messages.parts import is_file, store_parts
from database.schema import activities, message_variants, messages, stream_events
from database.search import index as fulltext_index
from sentences import say

from .idempotency import refuse_attempt_sent_before
from .identity import Admission, AgentIdentity, EndedAnswer, RepeatedTurn, admit_all, config_of_answer
from .leases import new_lease

_v = message_variants.c
# What broke off by itself is kept, but not put in the place of an answer that was there.
_ENDED = {"complete", "cancelled"}
AWAITS_CONSENT = "awaits_consent"
"""Set in the `config` of an answer that ended with calls that the person has to agree to."""


def accept_again(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    message_id: str,
    model_name: str,
    client_message_id: str | None = None,
    owner: str | None = None,
    needs_text: bool = False,
    agent: AgentIdentity | None = None,
    admit: Admission = admit_all,
) -> RepeatedTurn:
    """Begin a further variant of an answer; what was said until now becomes the first one.

    owner: as for `accept_turn`. needs_text: the attempt goes on where the answer stopped, so the answer must not be
    empty. agent: who answers, if no model alone does. admit: as for `accept_turn`. `database.turns.turns.finish_turn`
    ends the turn.

    Raises ConversationNotFoundError, MessageNotFoundError, TurnInProgressError,
    InvalidChangeError (it is no answer, what it answers is not there any more, or it has no text), AlreadySentError and
    StreamExpiredError (an attempt of this client_message_id was made before).
    """

    def accept(connection: Connection) -> RepeatedTurn:
        head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
        if client_message_id is not None:
            refuse_attempt_sent_before(connection, message_id=message_id, client_message_id=client_message_id)
        if head.running_message_id is not None:
            raise TurnInProgressError
        admit(connection)()
        who = {"user_email": user_email, "conversation_id": conversation_id}
        answer = access_settled(connection, **who, message_id=message_id, index=None)
        if answer.other_branch is not None:
            raise InvalidChangeError(say("answer_in_other_branch"))
        question = _question_of(connection, answer)
        if needs_text and not answer.text:
            raise InvalidChangeError(say("answer_empty"))
        created_at = now_iso()
        config = config_of_answer(model_name, agent)
        attempt = {"client_message_id": client_message_id, "created_at": created_at, "config": config}
        _begin(connection, answer, attempt=attempt, lease=new_lease(owner))
        touch(connection, conversation_id, running_message_id=message_id)
        begun = {"status": "streaming", "user_message_id": question.message_id}
        record(connection, TURN, "created", ids=[message_id], fields=begun, **who)
        earlier = _answers_before(connection, question, answer)
        return replace(_repeated(head, question, answer, created_at=created_at), answers_before=earlier)

    return database.write(accept, urgency=Urgency.ACCEPT)


def choose_variant(*, database: Database, user_email: str, message_id: str, number: int) -> None:
    """Let a message be another of its variants. Its hash and its place stay.

    Raises MessageNotFoundError, VariantNotFoundError, TurnInProgressError (one is still being written).
    """

    def choose(connection: Connection) -> None:
        message = access_message(connection, user_email=user_email, message_id=message_id)
        if message.status == "streaming":
            raise TurnInProgressError
        variant = _variant(connection, message_id, _v.number == number)
        if variant is None:
            raise VariantNotFoundError
        if number != message.chosen_variant:
            _become(connection, message, variant)
            touch(connection, message.conversation_id)
            who = {"user_email": user_email, "conversation_id": message.conversation_id}
            record(connection, MESSAGE, "changed", ids=[message_id], fields={"chosen_variant": number}, **who)

    database.write(choose)


def finish_variant(connection: Connection, message_id: str, ended: EndedAnswer) -> None:
    """End the variant that is being written, and choose it, if it ended well and says something.

    Where the answer before only waits for consent, one that has gone beyond it is chosen however it ended.
    """
    running = _variant(connection, message_id, _v.status == "streaming")
    if running is None:
        raise MessageNotFoundError
    values = {"text": ended.text, "status": ended.status}
    config = {} if ended.config is None else {"config": dict(ended.config)}
    this_one = (_v.message_id == message_id) & (_v.number == running.number)
    connection.execute(update(message_variants).where(this_one).values(values | config))
    if ended.parts:
        store_parts(connection, message_id, ended.parts, version=running.number)
        connection.execute(update(messages).where(messages.c.message_id == message_id).values(has_parts=1))
    message = rows_where(connection, messages.c.message_id == message_id)[0]
    if ended.documents:
        store_documents(
            connection,
            message_id,
            ended.documents,
            user_email=message.user_email,
            conversation_id=message.conversation_id,
            version=running.number,
        )
    says_something = bool(ended.text) or bool((ended.config or {}).get(AWAITS_CONSENT))
    goes_beyond = bool(ended.parts) and bool(message.config.get(AWAITS_CONSENT))
    is_chosen = (says_something and ended.status in _ENDED) or goes_beyond
    number = running.number if is_chosen else message.chosen_variant
    chosen = _variant(connection, message_id, _v.number == number)
    if chosen is not None:
        _become(connection, message, chosen)


def _question_of(connection: Connection, answer: MessageRow) -> MessageRow:
    """What it was given for; where nobody knows that (an import), the last thing that the person said before."""
    if answer.sender == "user":
        raise InvalidChangeError(say("only_answers_again"))
    if answer.in_answer_to is not None:
        question = row_with_id(connection, answer.conversation_id, answer.in_answer_to)
        if question is not None and question.deleted_at is None:
            return question
    before = (
        select(messages.c.seq)
        .where(live_in(answer.conversation_id), messages.c.ordinal < answer.ordinal, messages.c.sender == "user")
        .order_by(messages.c.ordinal.desc())
        .limit(1)
    )
    found = rows_where(connection, messages.c.seq == before.scalar_subquery())
    if answer.in_answer_to is not None or not found:
        raise InvalidChangeError(say("question_gone"))
    return found[0]


def _answers_before(connection: Connection, question: MessageRow, answer: MessageRow) -> tuple[dict[str, Any], ...]:
    """What others answered to the question before it, in order: `{text, config, short_id, message_id}` each."""
    if answer.ordinal <= question.ordinal + 1:
        return ()
    said = select(messages.c.text, messages.c.config, activities.c.short_id, messages.c.message_id)
    query = said.join(activities, activities.c.seq == messages.c.seq).where(
        live_in(answer.conversation_id),
        messages.c.ordinal > question.ordinal,
        messages.c.ordinal < answer.ordinal,
        messages.c.in_answer_to == question.message_id,
    )
    rows = connection.execute(query.order_by(messages.c.ordinal))
    return tuple(row._asdict() for row in rows)


def _begin(
    connection: Connection,
    answer: MessageRow,
    *,
    attempt: Mapping[str, Any],
    lease: Mapping[str, Any],
) -> None:
    common = {"message_id": answer.message_id}
    rows: list[dict[str, Any]] = []
    if answer.chosen_variant is None:
        said = {"text": answer.text, "status": answer.status, "config": answer.config}
        rows.append(common | said | {"number": 1, "created_at": answer.created_at, "client_message_id": None})
    begun = {"text": "", "status": "streaming", **attempt}
    rows.append(common | begun | {"number": max(len(answer.variants), 1) + 1})
    connection.execute(insert(message_variants), rows)
    # Its events are told from the first again: those of the attempt before have done their work.
    connection.execute(delete(stream_events).where(stream_events.c.message_id == answer.message_id))
    values = {"status": "streaming", "chosen_variant": answer.chosen_variant or 1, **lease}
    connection.execute(update(messages).where(messages.c.seq == answer.seq).values(values))


def _become(connection: Connection, message: MessageRow, variant: Row[*tuple[Any, ...]]) -> None:
    fulltext_index.reindex(connection, message, text=variant.text)
    if variant.text != message.text:
        forget_summary(connection, message.conversation_id, ordinal=message.ordinal)
    values = {
        "text": variant.text,
        "status": variant.status,
        "config": variant.config,
        "chosen_variant": variant.number,
    }
    connection.execute(update(messages).where(messages.c.seq == message.seq).values(values))


def _variant(connection: Connection, message_id: str, condition: Any) -> Row[*tuple[Any, ...]] | None:
    query = select(message_variants).where(_v.message_id == message_id, condition)
    return connection.execute(query).one_or_none()


def _repeated(head: ConversationHead, question: MessageRow, answer: MessageRow, *, created_at: str) -> RepeatedTurn:
    return RepeatedTurn(
        user_message_id=question.message_id,
        response_message_id=answer.message_id,
        user_message_index=question.index,
        response_message_index=answer.index,
        user_short_id=question.short_id,
        response_short_id=answer.short_id,
        thread_id=question.thread_id,
        user_message_short_hash=question.message_short_hash,
        response_message_short_hash=answer.message_short_hash,
        title=head.title,
        conversation_friendly_id=head.friendly_id,
        first_turn=False,
        created_at=created_at,
        text=question.text,
        question_config=question.config,
        report=question.report,
        answer_config=answer.config,
        answer_text=answer.text,
        answer_parts=answer.parts,
        answer_documents=answer.documents,
        files=tuple(part for part in question.parts if is_file(part)),
        asked_by_agent=question.source_agent_title is not None,
    )
