"""A message as it is stored, with its variants, and the queries that read it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Integer,
    Label,
    RowMapping,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    distinct,
    false,
    func,
    literal,
    not_,
    or_,
    select,
)

from database.engine.statements import Prepared
from database.schema import activities, conversations, message_references, message_variants, messages

from .branch_tree import IS_BRANCHED, BranchTree, branches_of, last_ones_of, stand_ins_of
from .documents import documents_of
from .parts import parts_of

Message = Mapping[str, Any]
"""A message in the shape of the message list: message_id, text, sender, message_short_hash, message_index, …"""

MAX_MESSAGE_CHARS = 200_000
"""How long a message is at most that a person sends, edits or posts; answers and imported messages may be longer."""
WRITTEN_BY_MODEL = "written_by_model"
"""The field of a query, and of its stored question, that says that a model of a program may have written it: what is
hidden from models stays hidden. Only the server sets it."""
# A statement holds at most 32,766 parameters.
_AT_ONCE = 10_000
_PREVIEW = 200


def variants_of(connection: Connection, message_ids: Sequence[str]) -> dict[str, tuple[dict[str, Any], ...]]:
    """The variants of these messages by message id, in order: `{number, status, created_at, model, chosen}` each."""
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for start in range(0, len(message_ids), _AT_ONCE):
        for row in connection.execute(_query(message_ids[start : start + _AT_ONCE])):
            found[row.message_id].append(
                {
                    "number": row.number,
                    "status": row.status,
                    "created_at": row.created_at,
                    "model": row.config.get("model"),
                    "chosen": row.number == row.chosen_variant,
                }
            )
    return {message_id: tuple(variants) for message_id, variants in found.items()}


def _query(message_ids: Sequence[str]) -> Any:
    columns = message_variants.c
    return (
        select(
            columns.message_id,
            columns.number,
            columns.status,
            columns.created_at,
            columns.config,
            messages.c.chosen_variant,
        )
        .join(messages, messages.c.message_id == columns.message_id)
        .where(columns.message_id.in_(message_ids))
        .order_by(columns.message_id, columns.number)
    )


_sources = messages.alias("sources")
_source_conversations = conversations.alias("source_conversations")

_backlink_count = (
    select(func.count(distinct(message_references.c.message_id)))
    .join(_sources, _sources.c.message_id == message_references.c.message_id)
    .join(_source_conversations, _source_conversations.c.conversation_id == _sources.c.conversation_id)
    .where(
        message_references.c.user_email == messages.c.user_email,
        message_references.c.target_message_id == messages.c.message_id,
        _sources.c.deleted_at.is_(None),
        _source_conversations.c.deleted_at.is_(None),
    )
    .correlate(messages)
    .scalar_subquery()
)

_ROWS: Select[*tuple[Any, ...]] = select(
    messages.c.seq,
    messages.c.message_id,
    messages.c.conversation_id,
    messages.c.user_email,
    messages.c.ordinal,
    messages.c.sender,
    messages.c.text,
    messages.c.status,
    messages.c.message_short_hash,
    messages.c.show_hide,
    messages.c.in_answer_to,
    messages.c.config,
    messages.c.report,
    messages.c.created_at,
    messages.c.edited_at,
    messages.c.deleted_at,
    messages.c.pinned_at,
    messages.c.chosen_variant,
    messages.c.has_parts,
    messages.c.has_documents,
    messages.c.branch_id,
    messages.c.branch_of,
    messages.c.chosen_branch,
    messages.c.other_branch,
    messages.c.source_agent_id,
    messages.c.source_agent_title,
    activities.c.short_id,
    activities.c.reply_to_id,
    activities.c.thread_id,
    _backlink_count.label("backlink_count"),
).join(activities, activities.c.seq == messages.c.seq)


class MessageRow(NamedTuple):
    """One message. A tuple, since long conversations are made of many.

    index: 1-based position among the live messages of the active path; 0 for one that is deleted or beside that.
    sender: "user" or "model". status: "streaming", "complete", "cancelled", "interrupted" or "failed".
    message_short_hash: None until the conversation has its friendly id.
    in_answer_to: the message_id that an answer answers. report: the reference report stored with it.
    backlink_count: how many live messages of this user refer to it. chosen_variant, variants: of an answer that was
    made again, see `variants_of`; variants is empty for others. has_parts: whether any version of it has parts. parts:
    those of the version that the message shows, see `database.messages.parts`; has_documents and documents likewise,
    see `database.messages.documents`. branch_id, branch_of, chosen_branch,
    other_branch: see `database.history.branches`. branch: `{number, count}` of a question
    with alternatives, among those of which something is left; of a deleted question, the next message in a list has it.
    source_agent_id, source_agent_title: of a question that an agent asked; the title is that of the time.
    """

    seq: int
    message_id: str
    conversation_id: str
    user_email: str
    ordinal: int
    sender: str
    text: str
    status: str
    message_short_hash: str | None
    show_hide: str
    in_answer_to: str | None
    config: dict[str, Any]
    report: list[dict[str, Any]]
    created_at: str
    edited_at: str | None
    deleted_at: str | None
    pinned_at: str | None
    chosen_variant: int | None
    has_parts: int
    has_documents: int
    branch_id: str | None
    branch_of: str | None
    chosen_branch: int | None
    other_branch: int | None
    source_agent_id: str | None
    source_agent_title: str | None
    short_id: str
    reply_to_id: str | None
    thread_id: str | None
    backlink_count: int
    index: int  # type: ignore[assignment]  # nobody looks for a place in this tuple
    variants: tuple[dict[str, Any], ...]
    parts: tuple[dict[str, Any], ...]
    documents: tuple[dict[str, Any], ...]
    branch: dict[str, int] | None


class MessageText(NamedTuple):
    """What was said and by whom, without what only lists show of it. `MessageRow` says what the fields are.

    model: the name of the one that gave this answer, where it is known. tools: a line about the tools that it called.
    agent_title: of the agent that gave it; source_agent_title: of the one that asked it. by_another: it is a
    question that an agent, a model of a program or somebody else wrote, and not the person. has_parts: see
    `MessageRow`.
    """

    message_id: str
    sender: str
    text: str
    status: str
    message_short_hash: str | None
    show_hide: str
    created_at: str
    edited_at: str | None
    source_agent_title: str | None
    has_parts: int
    model: str | None
    tools: str | None
    agent_title: str | None
    by_another: bool
    short_id: str
    index: int  # type: ignore[assignment]  # nobody looks for a place in this tuple


_earlier = messages.alias("earlier")
MESSAGE_INDEX = (
    select(func.count())
    .where(
        _earlier.c.conversation_id == messages.c.conversation_id,
        _earlier.c.deleted_at.is_(None),
        _earlier.c.other_branch.is_(None),
        _earlier.c.ordinal <= messages.c.ordinal,
        messages.c.deleted_at.is_(None),
        messages.c.other_branch.is_(None),
    )
    .correlate(messages)
    .scalar_subquery()
)
"""The 1-based place of a message on the active path; 0 for a deleted one, and for one beside the path."""
_INDEXED_ROWS = _ROWS.add_columns(MESSAGE_INDEX.label("index")).order_by(messages.c.seq)

_chosen = messages.c.seq.in_(bindparam("seqs", expanding=True))
_hits = (
    select(
        messages.c.seq,
        messages.c.conversation_id,
        messages.c.ordinal,
        func.lag(messages.c.ordinal, 1, 0)
        .over(partition_by=messages.c.conversation_id, order_by=messages.c.ordinal)
        .label("previous"),
    )
    .where(_chosen, messages.c.deleted_at.is_(None), messages.c.other_branch.is_(None))
    .subquery()
)
_since_previous = (
    select(func.count())
    .where(
        _earlier.c.conversation_id == _hits.c.conversation_id,
        _earlier.c.deleted_at.is_(None),
        _earlier.c.other_branch.is_(None),
        _earlier.c.ordinal > _hits.c.previous,
        _earlier.c.ordinal <= _hits.c.ordinal,
    )
    .correlate(_hits)
    .scalar_subquery()
)
_steps = select(_hits.c.seq, _hits.c.conversation_id, _hits.c.ordinal, _since_previous.label("step")).subquery()
_PLACES = select(
    _steps.c.seq,
    cast(func.sum(_steps.c.step).over(partition_by=_steps.c.conversation_id, order_by=_steps.c.ordinal), Integer).label(
        "index"
    ),
)
_places = _PLACES.subquery()
_PLACED_ROWS = (
    _ROWS.add_columns(func.coalesce(_places.c.index, 0))
    .outerjoin(_places, _places.c.seq == messages.c.seq)
    .where(_chosen, messages.c.deleted_at.is_(None))
    .order_by(messages.c.seq)
)


def answering_model() -> ColumnElement[str | None]:
    """The name of the model that gave an answer; None for a question, and where it is not known."""
    name: ColumnElement[str | None] = messages.c.config["model"].as_string()
    return name


def answering_agent() -> ColumnElement[str | None]:
    """The title of the agent that gave an answer; None where a model alone gave it."""
    title: ColumnElement[str | None] = messages.c.config["agent", "title"].as_string()
    return title


def answering_agent_id() -> ColumnElement[str | None]:
    """The id of the agent that gave an answer, as it was at that time; None where a model alone gave it."""
    agent_id: ColumnElement[str | None] = messages.c.config["agent", "id"].as_string()
    return agent_id


def written_by_another() -> ColumnElement[bool]:
    """Whether a question, beside whose row its activity is read, is not in the words of the person."""
    is_of_person = and_(activities.c.actor_type == "user", activities.c.actor_id == messages.c.user_email)
    may_be_of_model = func.coalesce(messages.c.config[WRITTEN_BY_MODEL].as_boolean(), false())
    return and_(messages.c.sender == "user", or_(not_(is_of_person), may_be_of_model))


def text_beginning() -> Label[str]:
    """The column of which `previewed` makes the preview of a message."""
    return func.substr(messages.c.text, literal(1), literal(2 * _PREVIEW)).label("preview")


def previewed(row: RowMapping) -> dict[str, Any]:
    """A row with the column `text_beginning`; its `preview` is one line of at most 200 characters."""
    fields = {str(name): value for name, value in row.items()}
    return fields | {"preview": " ".join(row["preview"].split())[:_PREVIEW]}


def live_in(conversation_id: str | BindParameter[str]) -> ColumnElement[bool]:
    """The condition that a message is a live one on the active path of this conversation.

    `idx_messages_live` answers it.
    """
    return live_in_any_branch(conversation_id) & messages.c.other_branch.is_(None)


def live_in_any_branch(conversation_id: str | BindParameter[str]) -> ColumnElement[bool]:
    """The condition that a message is a live one of this conversation, on the active path or beside it."""
    return (messages.c.conversation_id == conversation_id) & messages.c.deleted_at.is_(None)


_LIVE = live_in(bindparam("conversation_id", type_=Text))
_ALL = Prepared(_ROWS.add_columns(IS_BRANCHED).where(_LIVE).order_by(messages.c.ordinal))
_begins_branches = messages.c.branch_of.is_not(None) | messages.c.chosen_branch.is_not(None)
_OF_ALL_BRANCHES = Prepared(
    _ROWS.where(
        messages.c.conversation_id == bindparam("conversation_id", type_=Text),
        messages.c.deleted_at.is_(None) | _begins_branches,
    ).order_by(messages.c.ordinal)
)
# A window is cut inside the index: messages before it are counted there, never fetched.
_IN_WINDOW = messages.c.seq.in_(
    select(messages.c.seq)
    .where(_LIVE)
    .order_by(messages.c.ordinal)
    .limit(bindparam("limit", type_=Integer))
    .offset(bindparam("start", type_=Integer))
)
_WINDOW = Prepared(_ROWS.add_columns(IS_BRANCHED).where(_IN_WINDOW).order_by(messages.c.ordinal))
_OWN_COUNT = (
    select(conversations.c.message_count)
    .where(
        conversations.c.conversation_id == bindparam("conversation_id", type_=Text),
        conversations.c.user_email == bindparam("user_email", type_=Text),
        conversations.c.deleted_at.is_(None),
    )
    .scalar_subquery()
)
"""How many live messages the conversation has; NULL where the person has no such conversation."""
_BEHIND = _OWN_COUNT + 1 - bindparam("before", type_=Integer)
# Read backwards through the index, so that only what is asked for is fetched.
_FROM_NEWEST = (
    select(
        *(messages.c[name] for name in MessageText._fields if name in messages.c),
        answering_model().label("model"),
        # Only answers with parts can have called tools: of others nothing is looked up.
        case((messages.c.has_parts == 1, messages.c.config["tools"].as_string())).label("tools"),
        answering_agent().label("agent_title"),
        written_by_another().label("by_another"),
        activities.c.short_id,
        _OWN_COUNT,
    )
    .join(activities, activities.c.seq == messages.c.seq)
    .where(_LIVE, _OWN_COUNT.is_not(None))
    .order_by(messages.c.ordinal.desc())
    .limit(bindparam("limit", type_=Integer))
    .offset(case((_BEHIND > 0, _BEHIND), else_=0))
)
_FROM_END = Prepared(_FROM_NEWEST)
_newest = (
    select(messages.c.text).where(_LIVE).order_by(messages.c.ordinal.desc()).limit(bindparam("limit", type_=Integer))
)
# How long a text is stands beside it: a database server fetches none to tell.
_BYTES = select(func.sum(func.octet_length(_newest.subquery().c.text))).scalar_subquery()
_FROM_END_IF_SMALL = Prepared(_FROM_NEWEST.where(bindparam("most_bytes", type_=Integer) >= _BYTES))
_BEHIND_ALL = 2**31 - 1
_IN_CONVERSATION = messages.c.conversation_id == bindparam("conversation_id", type_=Text)
_BY_ID = Prepared(_INDEXED_ROWS.where(_IN_CONVERSATION, messages.c.message_id == bindparam("message_id", type_=Text)))
_BY_HASH = Prepared(
    _INDEXED_ROWS.where(_IN_CONVERSATION, messages.c.message_short_hash == bindparam("short_hash", type_=Text))
)


def all_rows(connection: Connection, conversation_id: str) -> list[MessageRow]:
    """All live messages of a conversation, in order."""
    return _listed(connection, conversation_id, _ALL.rows(connection, conversation_id=conversation_id), start=0)


def rows_of_all_branches(connection: Connection, conversation_id: str) -> list[MessageRow]:
    """All live messages of a conversation, of every branch, in order, and deleted questions where branches begin."""
    rows = [_message((*row, 0, *_PLAIN)) for row in _OF_ALL_BRANCHES.rows(connection, conversation_id=conversation_id)]
    on_path = (row for row in rows if row.other_branch is None and row.deleted_at is None)
    places = {row.seq: index for index, row in enumerate(on_path, 1)}
    return _whole(connection, [row._replace(index=places.get(row.seq, 0)) for row in rows])


def rows_from(connection: Connection, conversation_id: str, *, start: int, limit: int) -> list[MessageRow]:
    """Up to `limit` live messages in order, the first one being that of index `start + 1`."""
    rows = _WINDOW.rows(connection, conversation_id=conversation_id, start=start, limit=limit)
    return _listed(connection, conversation_id, rows, start=start)


def _listed(connection: Connection, conversation_id: str, found: Sequence[Any], *, start: int) -> list[MessageRow]:
    """Neighbours on the active path; the first one has the index `start + 1`. Each says last if there are branches."""
    rows = _whole(connection, [_message((*row[:-1], index, *_PLAIN)) for index, row in enumerate(found, start + 1)])
    if not found or not found[0][-1]:
        return rows
    tree = branches_of(connection, conversation_id)
    stand_ins = stand_ins_of(connection, tree, conversation_id)
    if not stand_ins:
        return rows
    numbers = _numbers(tree, last_ones_of(connection, tree, conversation_id))
    return [
        row._replace(branch=numbers.get(stand_ins[row.ordinal]))
        if row.branch is None and row.ordinal in stand_ins
        else row
        for row in rows
    ]


def newest_first(
    connection: Connection, *, user_email: str, conversation_id: str, before: int | None, limit: int | None
) -> Generator[MessageText, None, None]:
    """The live messages from index `before - 1` downwards, at most `limit`, read as they are asked for; None: all.

    By one statement. None too where the person has no such conversation.
    """
    window = {
        "user_email": user_email,
        "conversation_id": conversation_id,
        "before": _BEHIND_ALL if before is None else before,
        "limit": _BEHIND_ALL if limit is None else limit,
    }
    with closing(_FROM_END.some(connection, **window)) as rows:
        for position, (*row, count) in enumerate(rows, 1):
            yield MessageText._make((*row, min(window["before"], count + 1) - position))


def asked_for_newest(
    connection: Connection, *, user_email: str, conversation_id: str, limit: int, most_bytes: int
) -> Callable[[], list[MessageText]]:
    """Asks a database server for the newest live messages, at most `limit`; what is returned reads the answer.

    The newest comes first; none comes where their texts have more than `most_bytes` together.
    """
    own = {"user_email": user_email, "conversation_id": conversation_id}
    rows = _FROM_END_IF_SMALL.asked(connection, **own, before=_BEHIND_ALL, limit=limit, most_bytes=most_bytes)
    return lambda: [MessageText._make((*row, count + 1 - position)) for position, (*row, count) in enumerate(rows(), 1)]


def row_with_id(connection: Connection, conversation_id: str, message_id: str) -> MessageRow | None:
    """The message of this conversation with this id, deleted or not, or None."""
    row = _BY_ID.row(connection, conversation_id=conversation_id, message_id=message_id)
    return None if row is None else _whole(connection, [_message((*row, *_PLAIN))])[0]


def row_with_hash(connection: Connection, conversation_id: str, short_hash: str) -> MessageRow | None:
    """The message of this conversation with this short hash, deleted or not, or None."""
    row = _BY_HASH.row(connection, conversation_id=conversation_id, short_hash=short_hash)
    return None if row is None else _whole(connection, [_message((*row, *_PLAIN))])[0]


def rows_where(connection: Connection, condition: ColumnElement[bool]) -> list[MessageRow]:
    """The few messages that fulfil `condition`, deleted ones included, in order of `seq`."""
    rows = connection.execute(_INDEXED_ROWS.where(condition))
    return _whole(connection, [_message((*row, *_PLAIN)) for row in rows])


def rows_numbered(connection: Connection, seqs: Sequence[int]) -> list[MessageRow]:
    """The live messages with these `seq`, in order of it. Each conversation is counted through once, however many."""
    rows = connection.execute(_PLACED_ROWS, {"seqs": list(seqs)})
    return _whole(connection, [_message((*row, *_PLAIN)) for row in rows])


def places_of(connection: Connection, seqs: Sequence[int]) -> dict[int, int]:
    """The 1-based places on the active path of the messages with these `seq`; others are left out.

    Each conversation is counted through once, however many of its messages are asked for.
    """
    if not seqs:
        return {}
    return {seq: index for seq, index in connection.execute(_PLACES, {"seqs": list(seqs)})}  # noqa: C416


def rows_with_seqs(connection: Connection, seqs: Sequence[int]) -> list[MessageRow]:
    """The messages with these `seq`, in order of it, of all branches; `index` is 0: nobody has counted them."""
    rows = connection.execute(_ROWS.where(_chosen).order_by(messages.c.seq), {"seqs": list(seqs)}) if seqs else ()
    return _whole(connection, [_message((*row, 0, *_PLAIN)) for row in rows])


_message = MessageRow._make
_PLAIN = ((), (), (), None)


def _whole(connection: Connection, rows: list[MessageRow]) -> list[MessageRow]:
    """`rows` with their variants, parts and documents; plain messages ask for nothing more."""
    repeated = [row.message_id for row in rows if row.chosen_variant is not None]
    if repeated:
        variants = variants_of(connection, repeated)
        rows = [row._replace(variants=variants.get(row.message_id, ())) for row in rows]
    having_parts = [row.message_id for row in rows if row.has_parts]
    if having_parts:
        parts = parts_of(connection, having_parts)
        rows = [row._replace(parts=parts.get((row.message_id, row.chosen_variant or 1), ())) for row in rows]
    having_documents = [row.message_id for row in rows if row.has_documents]
    if having_documents:
        documents = documents_of(connection, having_documents)
        rows = [row._replace(documents=documents.get((row.message_id, row.chosen_variant or 1), ())) for row in rows]
    first_ones = {row.branch_of or row.message_id for row in rows if row.branch_of or row.chosen_branch}
    if first_ones:
        branches = _alternatives(connection, first_ones)
        rows = [row._replace(branch=branches.get(row.message_id)) for row in rows]
    return rows


def _alternatives(connection: Connection, first_ones: Collection[str]) -> dict[str, dict[str, int]]:
    """Of each question that is an alternative to one of `first_ones`, or one of them, which one of how many."""
    first = func.coalesce(messages.c.branch_of, messages.c.message_id)
    here = select(messages.c.conversation_id).where(messages.c.message_id.in_(first_ones))
    others = messages.c.conversation_id.in_(here) & messages.c.branch_of.in_(first_ones)
    query = (
        select(messages.c.message_id, first, messages.c.conversation_id, messages.c.deleted_at)
        .where(others | messages.c.message_id.in_(first_ones))
        .order_by(messages.c.seq)
    )
    groups: defaultdict[str, list[str]] = defaultdict(list)
    to_be_looked_at: set[str] = set()
    for message_id, group, conversation_id, deleted_at in connection.execute(query):
        groups[group].append(message_id)
        if deleted_at is not None:
            to_be_looked_at.add(conversation_id)
    numbers = {
        message_id: {"number": number, "count": len(group)}
        for group in groups.values()
        for number, message_id in enumerate(group, 1)
    }
    for conversation_id in to_be_looked_at:
        tree = branches_of(connection, conversation_id)
        left = _numbers(tree, last_ones_of(connection, tree, conversation_id))
        here_now = {fork.message_id for fork in tree.forks}
        numbers = {key: value for key, value in numbers.items() if key not in here_now} | left
    return numbers


def _numbers(tree: BranchTree, last_ones: Mapping[str | None, int]) -> dict[str, dict[str, int]]:
    """Of each question of the tree of which something is left, which one of how many."""
    groups = [tree.alternatives(fork.message_id, last_ones) for fork in tree.forks if fork.branch_of is None]
    return {
        fork.message_id: {"number": number, "count": len(group)}
        for group in groups
        for number, fork in enumerate(group, 1)
    }


def text_shape(row: MessageText) -> dict[str, Any]:
    """`row` with the names that `message_shape` gives."""
    shape = row._asdict()
    shape["message_index"] = shape.pop("index")
    shape["by_another"] = bool(row.by_another)
    return shape


def message_shape(row: MessageRow) -> dict[str, Any]:
    """`row` as an item of the message list; a deleted one also says since when (`deleted_at`)."""
    shape: dict[str, Any] = {
        "message_id": row.message_id,
        "text": row.text,
        "sender": row.sender,
        "user_id": row.user_email,
        "conversation_id": row.conversation_id,
        "message_short_hash": row.message_short_hash,
        "message_index": row.index,
        "short_id": row.short_id,
        "reply_to_id": row.reply_to_id,
        "thread_id": row.thread_id,
        "created_at": row.created_at,
        "status": row.status,
        "show_hide": row.show_hide,
        "config": row.config,
        "references": row.report,
        "document_references": list(row.documents),
        "backlink_count": row.backlink_count,
        "variants": list(row.variants),
        "parts": list(row.parts),
        "pinned_at": row.pinned_at,
        "edited_at": row.edited_at,
        "branch": row.branch,
        "agent": row.config.get("agent"),
        "source_agent_id": row.source_agent_id,
        "source_agent_title": row.source_agent_title,
    }
    if row.other_branch is not None:
        shape["other_branch"] = True
    if row.deleted_at is not None:
        shape["deleted_at"] = row.deleted_at
    return shape
