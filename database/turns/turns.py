"""A turn's two moments in the store: accepted, and finished.

Each is one transaction; what lies between is `stream_events`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from conversation_reference_utils import unique_message_short_hash
from database.accounts.quotas import count_tokens
from database.activities.storing import (
    NewActivity,
    Place,
    StoredActivity,
    asked_for_numbers,
    asked_for_short_ids,
    insert_as_asked,
    new_activity_id,
)
from database.agents.inbox import deliver
from database.changes import CONVERSATION, TURN, record
from database.conversations.conversation import (
    ConversationHead,
    asked_for_head,
    head_even_in_bin,
    touch,
    update_keeping_time,
)
from database.conversations.friendly_ids import assign_friendly_id
from database.engine.clock import now_iso
from database.engine.database import Database, Urgency
from database.engine.errors import (
    ActivityNotFoundError,
    AmbiguousReferenceError,
    MessageNotFoundError,
    TurnInProgressError,
)
from database.engine.statements import Asking, Prepared
from database.engine.text import storable
from database.history.attachments import parts_for
from database.history.branches import begin_branch
from database.history.reading import asked_for_last_messages
from database.history.references import add_to_report
from database.history.threads import find_place, open_thread
from database.messages.documents import Documents, store_documents
from database.messages.hashes import TakenHashes, hash_unhashed
from database.messages.message import MessageText
from database.messages.parts import Parts, store_parts
from database.messages.unkept import MARK, is_unkept
from database.schema import messages
from database.search.vectors import renew_vectors_of_title

from .ephemeral import erase_turn
from .idempotency import refuse_message_sent_before
from .identity import (
    AcceptedTurn,
    Admission,
    AgentIdentity,
    EndedAnswer,
    FinishedTurn,
    admit_all,
    config_of_answer,
    finished_turn,
)
from .leases import LEASE_UNTIL, inserted_lease, note_accepted
from .tool_calls import record_tool_calls
from .variants import finish_variant

_RECIPE = "general-discussion"
_TYPE = "chat_message"
_COLUMNS = (
    "seq",
    "message_id",
    "user_email",
    "conversation_id",
    "ordinal",
    "sender",
    "text",
    "status",
    "message_short_hash",
    "in_answer_to",
    "config",
    "report",
    "created_at",
    "client_message_id",
    "owner",
    "branch_id",
    "branch_of",
    "source_agent_id",
    "source_agent_title",
)
_INSERT = Prepared(insert(messages).values(lease_until=LEASE_UNTIL), columns=_COLUMNS)
_RESPONSE_STATUS = Prepared(
    select(
        messages.c.status,
        messages.c.chosen_variant,
        messages.c.config,
        messages.c.owner,
    ).where(
        messages.c.message_id == bindparam("answer"),
        messages.c.conversation_id == bindparam("conversation"),
        messages.c.sender != "user",
    )
)
_RESPONSE = update(messages).where(
    messages.c.message_id == bindparam("answer"), messages.c.conversation_id == bindparam("conversation")
)
STORE_RESPONSE = Prepared(_RESPONSE, columns=("text", "status", "has_parts"))
"""Ends an answer and leaves its config; takes `answer` and `conversation` beside the columns."""
_STORE_RESPONSE_AND_CONFIG = Prepared(_RESPONSE, columns=("text", "status", "has_parts", "config"))


_UNSET = dict.fromkeys(
    ("message_short_hash", "in_answer_to", "client_message_id", "branch_of", "source_agent_id", "source_agent_title")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    user_email: str
    conversation_id: str
    text: str
    config: Mapping[str, Any]
    reply_to: str | None
    thread_id: str | None
    model_name: str
    client_message_id: str | None
    owner: str | None
    instead_of: str | None
    friendly_id: str | None
    asked_by: AgentIdentity | None
    agent: AgentIdentity | None
    opens_thread: bool
    notify: Collection[str]
    files: Sequence[str]
    chars_before: int | None
    admit: Admission


def accept_turn(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    text: str,
    config: Mapping[str, Any],
    reply_to: str | None = None,
    thread_id: str | None = None,
    model_name: str = "",
    client_message_id: str | None = None,
    owner: str | None = None,
    instead_of: str | None = None,
    friendly_id: str | None = None,
    asked_by: AgentIdentity | None = None,
    agent: AgentIdentity | None = None,
    opens_thread: bool = False,
    notify: Collection[str] = (),
    files: Sequence[str] = (),
    chars_before: int | None = None,
    admit: Admission = admit_all,
) -> AcceptedTurn:
    """Store the user's message and an empty answer with status "streaming".

    config is kept with the user's message. reply_to: as `find_activity` takes it. In a stateless conversation the turn
    is marked as one that is not kept, and gets no hash. client_message_id: unique among the user's messages. owner: the
    process that answers and renews the lease of the turn; see `database.turns.leases`.
    instead_of: the question (message_id) in whose place this one is asked; it begins a branch, which is the active one
    from then on. friendly_id: by which the caller knows the conversation, so that the question's hash is looked for
    with what is asked first. asked_by: the agent that asks, if no person does. agent: the agent that answers.
    opens_thread: the answers reply to the question in a thread, since there will be several. notify: the agents (ids)
    whose inboxes the question goes to. files: the attachments of the message. chars_before: how long the messages are
    together that are read with what else is asked, for `said_before`; None: none. admit: called within the transaction,
    raises where there is no room for the turn.
    Raises ConversationNotFoundError, AttachmentNotFoundError, TurnInProgressError, MessageNotFoundError (reply_to,
    instead_of),
    ThreadNotFoundError, ThreadMismatchError, AlreadySentError (the message was sent before under this
    client_message_id), ConflictError (another message was), InvalidChangeError (instead_of is no question, or nothing
    of this conversation is kept).
    """
    question = _Question(
        user_email=user_email,
        conversation_id=conversation_id,
        text=storable(text),
        config=config,
        reply_to=reply_to,
        thread_id=thread_id,
        model_name=model_name,
        client_message_id=client_message_id,
        owner=owner,
        instead_of=instead_of,
        friendly_id=friendly_id,
        asked_by=asked_by,
        agent=agent,
        opens_thread=opens_thread,
        notify=notify,
        files=files,
        chars_before=chars_before,
        admit=admit,
    )

    job = Asking(partial(_ask, question=question), subject=conversation_id)
    return database.write(job, urgency=Urgency.ACCEPT)


def _ask(connection: Connection, *, question: _Question) -> Callable[[], AcceptedTurn]:
    """Ask for what accepting takes; what is returned accepts."""
    who = {"user_email": question.user_email, "conversation_id": question.conversation_id}
    # All that is asked before anything is read is one round trip to a database server.
    ask_head = asked_for_head(connection, **who)
    ask_before = _asked_before(connection, question)
    admit = question.admit(connection)
    ids = new_activity_id(), new_activity_id()
    ask_short_ids = asked_for_short_ids(connection, ids, conversation_id=question.conversation_id)
    ask_numbers = asked_for_numbers(connection, len(ids))
    taken_by_name = _taken_hashes(connection, question, friendly_id=question.friendly_id)

    def accept() -> AcceptedTurn:
        asked = _Answers(ask_head(), ids, ask_short_ids(), ask_numbers(), taken_by_name, admit, ask_before)
        return _accept(connection, question, asked)

    return accept


class _Answers(NamedTuple):
    """What was asked for before a turn is accepted: its conversation, the ids and numbers of its messages, and more.

    admit: raises where there is no room for the turn. said_before: reads what was said before.
    """

    head: ConversationHead
    ids: tuple[str, str]
    short_ids: Sequence[str]
    numbers: Sequence[int] | None
    taken_by_name: TakenHashes | None
    admit: Callable[[], None]
    said_before: Callable[[], Sequence[MessageText] | None]


def _accept(connection: Connection, question: _Question, asked: _Answers) -> AcceptedTurn:
    head, who = asked.head, {"user_email": question.user_email, "conversation_id": question.conversation_id}
    _refuse_unless_free(connection, head, question, asked.admit)
    thread_id, branch_of = question.thread_id, None
    if question.instead_of is not None:
        head, former, branch_of = begin_branch(connection, head, question.instead_of)
        thread_id = thread_id or former.thread_id
    place = _place(connection, head, question, thread_id=thread_id)
    created_at = now_iso()
    friendly_id = None if head.stateless else head.friendly_id
    if friendly_id == question.friendly_id:
        taken = asked.taken_by_name
    else:
        taken = _taken_hashes(connection, question, friendly_id=friendly_id)
    born = _new_activities(connection, head, question, place, ids=asked.ids, created_at=created_at)
    user, response = insert_as_asked(connection, born, **who, short_ids=asked.short_ids, numbers=asked.numbers)
    short_hash = None if taken is None else taken.give(friendly_id or "", question.text)
    branch_id = user.activity_id if branch_of else head.branch_id
    row = _question_row(
        head,
        question,
        user,
        branch_of=branch_of,
        branch_id=branch_id,
        message_short_hash=short_hash,
        created_at=created_at,
    )
    config = config_of_answer(question.model_name, question.agent) | (MARK if head.stateless else {})
    answer = answer_row(
        head,
        response,
        question_id=user.activity_id,
        ordinal=2,
        config=config,
        owner=question.owner,
        branch_id=branch_id,
        created_at=created_at,
    )
    insert_messages(connection, [row, answer])
    note_accepted(connection)
    parts = _store_files(connection, head, question, user.activity_id)
    if not head.stateless and (head.has_takers or question.notify):
        deliver(connection, [user.activity_id], user_email=head.user_email, named=question.notify)
    _count_turn(connection, head, user.activity_id, response.activity_id, branch_id=branch_id)
    return _accepted(
        head,
        user,
        response,
        short_hash=short_hash,
        created_at=created_at,
        thread_id=place.thread_id,
        files=tuple(parts),
        said_before=asked.said_before(),
    )


def _taken_hashes(connection: Connection, question: _Question, *, friendly_id: str | None) -> TakenHashes | None:
    """Asks for the hash that a question will most likely get; None where it gets none yet."""
    if friendly_id is None:
        return None
    expected = unique_message_short_hash(friendly_id, question.text, ())
    return TakenHashes(connection, question.conversation_id, expected=expected)


def _asked_before(connection: Connection, question: _Question) -> Callable[[], Sequence[MessageText] | None]:
    """Asks for what was said before a question; what is returned reads the answer, None where nobody asked.

    In SQLite a question of its own costs less than messages that are read while nobody else can write. Where a branch
    begins, the question has other messages before it than are on the path now.
    """
    if connection.dialect.name == "sqlite" or question.chars_before is None or question.instead_of is not None:
        return lambda: None
    who = {"user_email": question.user_email, "conversation_id": question.conversation_id}
    return asked_for_last_messages(connection, **who, max_chars=question.chars_before)


def _store_files(
    connection: Connection, head: ConversationHead, question: _Question, message_id: str
) -> list[dict[str, Any]]:
    """Store the files of a question as its parts; none asks for nothing. Raises AttachmentNotFoundError."""
    parts = parts_for(connection, question.files, user_email=head.user_email, at=len(question.text))
    if parts:
        store_parts(connection, message_id, parts, version=1)
        connection.execute(update(messages).where(messages.c.message_id == message_id).values(has_parts=1))
    return parts


def _place(connection: Connection, head: ConversationHead, question: _Question, *, thread_id: str | None) -> Place:
    """Raises MessageNotFoundError where there is nothing, or more than one thing, that `reply_to` means."""
    try:
        return find_place(
            connection,
            user_email=head.user_email,
            conversation_id=head.conversation_id,
            reply_to=question.reply_to,
            thread_id=thread_id,
            may_open_thread=not head.stateless,
        )
    except (ActivityNotFoundError, AmbiguousReferenceError) as error:
        raise MessageNotFoundError("There is no such message to reply to.") from error


def _refuse_unless_free(
    connection: Connection, head: ConversationHead, question: _Question, admit: Callable[[], None]
) -> None:
    """Raise AlreadySentError, ConflictError, TurnInProgressError or what `admit` raises, for a question of no room."""
    if question.client_message_id is not None:
        refuse_message_sent_before(
            connection,
            user_email=head.user_email,
            conversation_id=head.conversation_id,
            client_message_id=question.client_message_id,
            text=question.text,
        )
    if head.running_message_id is not None:
        raise TurnInProgressError
    admit()


def finish_turn(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    response_message_id: str,
    text: str,
    status: str,
    config: Mapping[str, Any],
    title: str | None = None,
    parts: Parts = (),
    documents: Documents = (),
    references: Sequence[Mapping[str, Any]] = (),
    owner: str | None = None,
) -> FinishedTurn:
    """Store the answer's final text, status, parts, documents and references, and let the next turn begin.

    status: "complete", "cancelled", "interrupted" or "failed". parts: see `database.messages.parts`. documents: see
    `database.messages.documents`. references: what the answer cites, in the shape of a report's entries. owner: the
    process that finishes it; nothing changes where another one makes the answer again meanwhile. None: whoever.

    On the first turn the conversation gets `title` (unless a person has set one) and then its friendly id; whatever
    message has no short hash gets one. Finishing twice changes nothing and answers the same. Works also in the bin.
    A turn that is not kept is erased instead, and can't be finished twice.
    Raises ConversationNotFoundError, MessageNotFoundError.
    """
    ended = EndedAnswer(
        text=storable(text), status=status, config=config, parts=parts, documents=documents, references=references
    )

    def finish(connection: Connection) -> FinishedTurn:
        head = head_even_in_bin(connection, user_email=user_email, conversation_id=conversation_id)
        return finish_in(connection, head, response_message_id, ended, title=title, owner=owner)

    return database.write(finish, urgency=Urgency.STREAM)


def finish_in(
    connection: Connection,
    head: ConversationHead,
    response_message_id: str,
    ended: EndedAnswer,
    *,
    title: str | None,
    owner: str | None = None,
) -> FinishedTurn:
    """`finish_turn` within a transaction."""
    answer = {"answer": response_message_id, "conversation": head.conversation_id}
    found = _RESPONSE_STATUS.row(connection, **answer)
    if found is None:
        raise MessageNotFoundError
    status, chosen_variant, known_config, written_by = found
    if status != "streaming" or owner not in {None, written_by}:
        return finished_turn(connection, head, response_message_id)
    _count_tokens(connection, head, ended, owner=written_by, known_config=known_config)
    if is_unkept(known_config):
        return erase_turn(connection, head, response_message_id, status=ended.status)
    model_name = str((ended.config or {}).get("model") or known_config.get("model") or "")
    record_tool_calls(connection, head, response_message_id, model_name=model_name, parts=ended.parts)
    named = head.friendly_id is None
    head = name_conversation(connection, head, title=title)
    if chosen_variant is None:
        _store_response(connection, head, response_message_id, ended)
    else:
        finish_variant(connection, response_message_id, ended)
    if ended.references:
        add_to_report(connection, ended.references, message_id=response_message_id, user_email=head.user_email)
    hash_unhashed(connection, conversation_id=head.conversation_id, friendly_id=head.friendly_id or "")
    free = {"running_message_id": None} if head.running_message_id == response_message_id else {}
    touch(connection, head.conversation_id, title=head.title, **free)
    if named:
        renew_vectors_of_title(connection, head.conversation_id)
    if head.has_takers and ended.status == "complete" and ended.text and chosen_variant is None:
        deliver(connection, [response_message_id], user_email=head.user_email)
    _record_end(connection, head, response_message_id, status=ended.status, named=named)
    return finished_turn(connection, head, response_message_id)


def _count_tokens(
    connection: Connection, head: ConversationHead, ended: EndedAnswer, *, owner: str | None, known_config: Any
) -> None:
    """Count what an answer took that a server has written; what was imported, or made by a script, took nothing."""
    if owner is not None:
        count_tokens(connection, user_email=head.user_email, config=ended.config or known_config, text=ended.text)


def _store_response(
    connection: Connection, head: ConversationHead, response_message_id: str, ended: EndedAnswer
) -> None:
    answer = {"answer": response_message_id, "conversation": head.conversation_id}
    values = {"text": ended.text, "status": ended.status, "has_parts": int(bool(ended.parts))}
    if ended.config is None:
        STORE_RESPONSE.run(connection, **answer, **values)
    else:
        _STORE_RESPONSE_AND_CONFIG.run(connection, **answer, **values, config=dict(ended.config))
    store_parts(connection, response_message_id, ended.parts, version=1)
    if ended.documents:
        store_documents(
            connection,
            response_message_id,
            ended.documents,
            user_email=head.user_email,
            conversation_id=head.conversation_id,
        )


def _new_activities(
    connection: Connection,
    head: ConversationHead,
    question: _Question,
    place: Place,
    *,
    ids: tuple[str, str],
    created_at: str,
) -> list[NewActivity]:
    """The activities of the question and of its answer."""
    made: dict[str, Any] = {"agent": question.asked_by, "place": place, "created_at": created_at}
    asked = asked_activity(head.user_email, activity_id=ids[0], **made)
    if question.opens_thread and place.thread_id is None and not head.stateless:
        thread_id = open_thread(connection, user_email=head.user_email, root_activity_id=asked.activity_id)
        asked = replace(asked, place=replace(place, thread_id=thread_id))
    answered = answer_activity(
        question.model_name,
        agent=question.agent,
        question=asked.activity_id,
        thread_id=asked.place.thread_id,
        created_at=created_at,
        activity_id=ids[1],
    )
    return [asked, answered]


def _count_turn(
    connection: Connection, head: ConversationHead, question_id: str, response_id: str, *, branch_id: str | None
) -> None:
    note = update_keeping_time if head.stateless else touch
    note(
        connection,
        head.conversation_id,
        message_count=head.message_count + 2,
        last_ordinal=head.last_ordinal + 2,
        running_message_id=response_id,
        **({} if branch_id == head.branch_id else {"branch_id": branch_id}),
    )
    if not head.stateless:
        begun = {"status": "streaming", "user_message_id": question_id, "message_count": head.message_count + 2}
        who = {"user_email": head.user_email, "conversation_id": head.conversation_id}
        record(connection, TURN, "created", ids=[response_id], fields=begun, **who)


def _accepted(
    head: ConversationHead,
    user: StoredActivity,
    response: StoredActivity,
    *,
    short_hash: str | None,
    **values: Any,
) -> AcceptedTurn:
    return AcceptedTurn(
        user_message_id=user.activity_id,
        response_message_id=response.activity_id,
        user_message_index=head.message_count + 1,
        response_message_index=head.message_count + 2,
        user_short_id=user.short_id,
        response_short_id=response.short_id,
        user_message_short_hash=short_hash,
        response_message_short_hash=None,
        title=head.title,
        conversation_friendly_id=head.friendly_id,
        first_turn=head.last_ordinal == 0,
        kept=not head.stateless,
        **values,
    )


def _record_end(
    connection: Connection, head: ConversationHead, response_message_id: str, *, status: str, named: bool
) -> None:
    who = {"user_email": head.user_email, "conversation_id": head.conversation_id}
    record(connection, TURN, "changed", ids=[response_message_id], fields={"status": status}, **who)
    if named:
        names = {"title": head.title, "conversation_friendly_id": head.friendly_id}
        record(
            connection,
            CONVERSATION,
            "changed",
            user_email=head.user_email,
            ids=[head.conversation_id],
            fields=names,
        )


def insert_messages(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Insert rows that `answer_row` and its like have made."""
    _INSERT.run_each(connection, rows)


def _question_row(
    head: ConversationHead, question: _Question, stored: StoredActivity, **values: str | None
) -> dict[str, Any]:
    asked_by: Mapping[str, str | None] = question.asked_by or {"id": None, "title": None}
    return message_row(
        head,
        stored,
        ordinal=head.last_ordinal + 1,
        sender="user",
        text=question.text,
        status="complete",
        config={**question.config, **(MARK if head.stateless else {})},
        client_message_id=question.client_message_id,
        source_agent_id=asked_by["id"],
        source_agent_title=asked_by["title"],
        **inserted_lease(None),
        **values,
    )


def answer_row(
    head: ConversationHead,
    stored: StoredActivity,
    *,
    question_id: str,
    ordinal: int,
    config: Mapping[str, Any],
    owner: str | None,
    branch_id: str | None,
    created_at: str,
) -> dict[str, Any]:
    """The row of an answer that begins, empty. ordinal: counted from the last message of the conversation."""
    return message_row(
        head,
        stored,
        ordinal=head.last_ordinal + ordinal,
        sender="model",
        text="",
        status="streaming",
        in_answer_to=question_id,
        config=config,
        branch_id=branch_id,
        created_at=created_at,
        **inserted_lease(owner),
    )


def message_row(head: ConversationHead, stored: StoredActivity, **values: Any) -> dict[str, Any]:
    """A row of `messages` for `insert_messages`. values: of the other columns; some may be left out."""
    ids = {"seq": stored.seq, "message_id": stored.activity_id}
    where = {"user_email": head.user_email, "conversation_id": head.conversation_id}
    return {**_UNSET, **ids, **where, "report": [], **values}


def asked_activity(
    user_email: str, *, agent: AgentIdentity | None, place: Place, created_at: str, activity_id: str | None = None
) -> NewActivity:
    """A question, which a person asks or an agent of theirs. activity_id: None for a new one."""
    made: dict[str, Any] = {"created_at": created_at, "activity_id": activity_id}
    if agent is None:
        return _chat_activity("user", user_email, user_email, place=place, **made)
    return _chat_activity("agent", agent["id"], agent["title"], place=place, **made)


def answer_activity(
    model_name: str,
    *,
    agent: AgentIdentity | None,
    question: str,
    thread_id: str | None,
    created_at: str,
    activity_id: str | None = None,
) -> NewActivity:
    """An answer to the message `question`, of a model or an agent."""
    # In a thread the answer replies to the question; outside of one, order says enough.
    place = Place(reply_to_id=question, thread_id=thread_id) if thread_id else Place()
    made: dict[str, Any] = {"created_at": created_at, "activity_id": activity_id}
    if agent is None:
        return _chat_activity("assistant", model_name, model_name, place=place, **made)
    return _chat_activity("agent", agent["id"], agent["title"], place=place, **made)


def _chat_activity(
    actor_type: str, actor_id: str, actor_name: str, *, place: Place, created_at: str, activity_id: str | None
) -> NewActivity:
    return NewActivity(
        recipe=_RECIPE,
        type=_TYPE,
        actor_type=actor_type,
        actor_id=actor_id,
        actor_name=actor_name,
        created_at=created_at,
        place=place,
        activity_id=activity_id or new_activity_id(),
    )


def name_conversation(connection: Connection, head: ConversationHead, *, title: str | None) -> ConversationHead:
    """The head with its title, if nobody has set one, and friendly id: a first turn gives both, and stores the id."""
    if head.friendly_id is not None:
        return head
    if title is not None and not head.title_force_set:
        head = replace(head, title=storable(title))
    friendly_id = assign_friendly_id(
        connection,
        user_email=head.user_email,
        conversation_id=head.conversation_id,
        title=head.title,
        created_at=head.created_at,
    )
    return replace(head, friendly_id=friendly_id)
