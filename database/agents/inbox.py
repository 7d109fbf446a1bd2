"""Inboxes: the activities that wait for agents, each answered once.

An activity is delivered in the transaction that stores it. Whoever answers claims an item, and stores the answer in the
transaction that ends the claim. A claim that was not renewed for `CLAIM_SECONDS` belongs to a process that is gone: the
item can be claimed again, and the one who lost it can't store an answer any more.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    exists,
    func,
    insert,
    or_,
    select,
    text,
)
from sqlalchemy import update as update_of

from database.activities.reading import Activity, live_activities, read_activities, seen, with_conversation
from database.activities.storing import NewActivity, Place, insert_activities
from database.changes import ACTIVITY, INBOX, record
from database.engine.clock import iso_in, now_iso, store_time
from database.engine.database import Database, Urgency
from database.engine.errors import ActivityNotFoundError, ConflictError
from database.engine.statements import Prepared
from database.schema import activities, agents, inbox_items, messages, users
from database.schema.agents import IS_OPEN
from sentences import say

CLAIM_SECONDS = 300.0
"""So long after it was last renewed a claim holds."""
MOST_ATTEMPTS = 3
"""After so many claims of processes that died over it, an item has failed."""
MOST_IN_A_CHAIN = 6
"""So many answers may follow from one activity; then agents answer each other no more by themselves."""
_HOUR = 3600.0

State = Literal["pending", "claimed", "done", "failed"]
WAITING: tuple[State, ...] = ("pending", "claimed", "failed")
"""The states of what is not answered."""
_MINDS = ("agent", "assistant")
_a, _g, _i = activities.c, agents.c, inbox_items.c
_HAS_RULES = and_(_g.deleted_at.is_(None), cast(_g.rules, Text) != "[]")
_WITH_RULES = Prepared(select(_g.agent_id, _g.rules).where(_g.user_email == bindparam("owner"), _HAS_RULES))


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """An activity in an agent's inbox.

    is_automatic: the agent may answer it by itself. error: why it failed, `{code, message, said}` as of an answer.
    answer_id: the activity that answers it.
    """

    agent_id: str
    state: State
    is_automatic: bool
    claimed_at: str | None
    error: Mapping[str, Any] | None
    answer_id: str | None
    activity: Activity


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to answer an item. name: of the claim; an item has a new one each time. by_itself: a worker has it."""

    agent_id: str
    agent_title: str
    user_email: str
    activity: Activity
    origin_id: str
    name: str
    by_itself: bool


class Waiting(NamedTuple):
    """An agent for which something waits that it may answer by itself."""

    user_email: str
    agent_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a person is told of an inbox, as an event in the conversation. said: as of a `Sentence`."""

    text: str
    said: Sequence[Mapping[str, Any]] = ()


def deliver(
    connection: Connection,
    activity_ids: Sequence[str],
    *,
    user_email: str,
    named: Collection[str] = (),
    origin_id: str | None = None,
) -> None:
    """Put activities into the inboxes of the agents whose rules take them, and of those that are `named` (ids).

    Nothing is delivered twice, to the agent that did it, or hidden from models. origin_id: of the activity with which
    the chain of answers began; None: it begins here.
    """
    takers = _WITH_RULES.rows(connection, owner=user_email)
    if not takers and not named:
        return
    arrived = read_activities(connection, live_activities(user_email).where(_a.activity_id.in_(activity_ids)))
    known = select(_i.agent_id, _i.activity_id).where(_i.activity_id.in_(activity_ids))
    delivered = {(row.agent_id, row.activity_id) for row in connection.execute(known)}
    for activity in arrived:
        automatic = {agent_id: not is_of_a_mind(activity) for agent_id in named}
        automatic |= {agent_id: True for agent_id, rules in takers if any(_takes(rule, activity) for rule in rules)}
        for agent_id, is_automatic in automatic.items():
            is_own = activity.actor_type == "agent" and activity.actor_id == agent_id
            if not is_own and not activity.is_hidden and (agent_id, activity.activity_id) not in delivered:
                _insert(connection, agent_id, activity, is_automatic=is_automatic, origin_id=origin_id)


def has_rules(owner: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether any agent of `owner` has rules: without, `deliver` has nothing to do for what names nobody."""
    return exists().where(_g.user_email == owner, _HAS_RULES)


def _takes(rule: Mapping[str, Any], activity: Activity) -> bool:
    """Whether a rule of an agent takes an activity; what other agents and models do, only where the rule says so."""
    return (
        rule.get("conversation_id") in (None, activity.conversation_id)
        and (rule.get("recipe"), rule.get("type")) == (activity.recipe, activity.type)
        and (bool(rule.get("from_agents")) or not is_of_a_mind(activity))
    )


def is_of_a_mind(activity: Activity) -> bool:
    """Whether a model or an agent did it."""
    return activity.actor_type in _MINDS


def _insert(
    connection: Connection, agent_id: str, activity: Activity, *, is_automatic: bool, origin_id: str | None
) -> None:
    connection.execute(
        insert(inbox_items).values(
            agent_id=agent_id,
            activity_id=activity.activity_id,
            activity_seq=activity.seq,
            user_email=activity.user_email,
            state="pending",
            is_automatic=int(is_automatic),
            origin_id=origin_id or activity.activity_id,
        )
    )
    _record(connection, activity.user_email, agent_id, activity.activity_id, "pending")


def peek(
    *, database: Database, user_email: str, agent_id: str, states: Collection[State] = WAITING, limit: int
) -> list[InboxItem]:
    """The items of an agent in these states, the oldest activities first; none whose activity is deleted or hidden."""
    query = _items(user_email).where(_i.agent_id == agent_id, _i.state.in_(states))
    with database.reading() as connection:
        rows = connection.execute(query.order_by(_i.activity_seq).limit(limit)).all()
        these = live_activities(user_email).where(_a.activity_id.in_([row.activity_id for row in rows]))
        found = {each.activity_id: each for each in read_activities(connection, these)}
    return [
        InboxItem(
            agent_id=row.agent_id,
            state=row.state,
            is_automatic=bool(row.is_automatic),
            claimed_at=row.claimed_at,
            error=row.error,
            answer_id=row.answer_id,
            activity=found[row.activity_id],
        )
        for row in rows
    ]


def count_items(*, database: Database, user_email: str) -> dict[str, dict[str, int]]:
    """How many items the person's agents have in each state, by agent id; agents without any are left out."""
    query = _items(user_email, _i.agent_id, _i.state, func.count()).group_by(_i.agent_id, _i.state)
    counted: dict[str, dict[str, int]] = {}
    with database.reading() as connection:
        for agent_id, state, count in connection.execute(query):
            counted.setdefault(agent_id, {})[state] = count
    return counted


def count_by_itself(*, database: Database, agent_id: str) -> int:
    """How many activities the agent has answered, or tried to, by itself within the last hour."""
    with database.reading() as connection:
        return _answered_by_itself(connection, agent_id)


def waiting_agents(*, database: Database) -> list[Waiting]:
    """The agents that are set to answer by themselves and have something to answer, of accounts that are on."""
    query = (
        _items(None, _i.user_email, _i.agent_id)
        .join(agents, _g.agent_id == _i.agent_id)
        .outerjoin(users, users.c.user_email == _i.user_email)
        .where(_g.service == "by_itself", _g.deleted_at.is_(None), _g.hourly_limit > 0, _i.is_automatic == 1)
        .where(users.c.disabled_at.is_(None), users.c.erasing_since.is_(None), _is_free())
        .group_by(_i.user_email, _i.agent_id)
        .order_by(func.min(_i.activity_seq), func.min(_g.created_at), _i.agent_id)
    )
    with database.reading() as connection:
        # Asked for alone, these come from their small index; a planner that joins may read all activities for them.
        open_of = connection.execute(select(_i.agent_id).where(text(IS_OPEN)).distinct()).scalars().all()
        return [Waiting(*row) for row in connection.execute(query.where(_i.agent_id.in_(open_of)))] if open_of else []


def claim_item(
    *,
    database: Database,
    user_email: str,
    agent_id: str,
    by_itself: bool,
    hourly_limit: int,
    notice_of_chain: Notice,
    chain_error: Mapping[str, Any],
    crash_error: Mapping[str, Any],
    admit: Callable[[Connection], None] = lambda _connection: None,
) -> Claim | None:
    """Claim the oldest item of an agent; None where nothing is to be answered.

    by_itself: a worker asks. It gets only what the agent may answer by itself, and nothing once the agent has answered
    `hourly_limit` items within an hour; and where agents have answered each other for too long, what is left of that
    fails with `chain_error`, and the person is told by `notice_of_chain`. crash_error: of items over which processes
    died again and again. admit: called within the transaction for the item that is claimed; raises where there is no
    room for its answer.
    Raises ConflictError where the agent is answering another item (a worker gets None then).
    """
    mine = (_i.user_email == user_email) & (_i.agent_id == agent_id)

    def claim(connection: Connection) -> Claim | None:
        held = select(_i.activity_id).where(mine, _i.state == "claimed", ~_is_free())
        if connection.execute(held.limit(1)).first() is not None:
            if by_itself:
                return None
            raise ConflictError(say("agent_busy"))
        if by_itself and _answered_by_itself(connection, agent_id) >= hourly_limit:
            return None
        while (item := _oldest(connection, mine, is_automatic=by_itself)) is not None:
            if by_itself and _ends_a_chain(connection, item):
                _stop_chain(connection, item, error=chain_error, notice=notice_of_chain)
            elif item.attempts >= MOST_ATTEMPTS:
                _fail(connection, item, error=crash_error)
            else:
                admit(connection)
                return _claimed(connection, item, by_itself=by_itself)
        return None

    return database.write(claim, urgency=Urgency.STREAM)


def renew_claim(*, database: Database, claim: Claim) -> bool:
    """Hold a claim for `CLAIM_SECONDS` from now on; False where it is lost."""
    held = update_of(inbox_items).where(_holds(claim)).values(claimed_at=store_time())
    return database.write(lambda connection: connection.execute(held).rowcount == 1, urgency=Urgency.STREAM)


def release_item(*, database: Database, claim: Claim) -> None:
    """Let an item wait again: the process that answers it stops."""
    again = {"state": "pending", "claim": None, "attempts": _i.attempts - 1, "by_itself": 0}
    held = update_of(inbox_items).where(_holds(claim)).values(again)
    database.write(lambda connection: connection.execute(held).rowcount, urgency=Urgency.STREAM)


def complete_item(
    *,
    database: Database,
    claim: Claim,
    answer: Callable[[Connection], Activity],
    hourly_limit: int,
    paused: Notice,
    notice: Notice | None = None,
) -> Activity | None:
    """Store an answer by `answer` and end the claim, in one transaction; None, and nothing is stored, if it is lost.

    paused: what the person is told where the agent has to pause now, since it has answered `hourly_limit` items within
    an hour and more wait. notice: what they ought to know of the answer.
    """

    def complete(connection: Connection) -> Activity | None:
        if connection.execute(select(_i.activity_id).where(_holds(claim))).first() is None:
            return None
        if notice is not None:
            _tell(connection, claim.activity, claim, notice, once_an_hour=True)
        stored = answer(connection)
        done = {"state": "done", "error": None, "answer_id": stored.activity_id}
        connection.execute(update_of(inbox_items).where(_holds(claim)).values(done))
        _record(connection, claim.user_email, claim.agent_id, claim.activity.activity_id, "done")
        if claim.by_itself and _has_to_pause(connection, claim, hourly_limit):
            _tell(connection, claim.activity, claim, paused, once_an_hour=True)
        return stored

    return database.write(complete, urgency=Urgency.ACCEPT)


def note_waiting(
    *,
    database: Database,
    user_email: str,
    agent_id: str,
    error: Mapping[str, Any],
    notice: Callable[[Activity], Notice],
) -> bool:
    """Store why what an agent would answer by itself next waits; whether the person was told of it just now.

    notice: what the person is told of the activity that waits: once, until the agent waits for another reason.
    """
    mine = (_i.user_email == user_email) & (_i.agent_id == agent_id)
    reasons = select(_i.error).where(mine, _i.state == "pending", _i.error.is_not(None))
    with database.reading() as connection:
        if dict(error) in connection.execute(reasons).scalars().all():
            return False

    def note(connection: Connection) -> bool:
        item = _oldest(connection, mine, is_automatic=True)
        if item is None or dict(error) in connection.execute(reasons).scalars().all():
            return False
        connection.execute(update_of(inbox_items).where(_is(item)).values(error=dict(error)))
        _record(connection, user_email, agent_id, item.activity_id, "pending")
        (activity,) = read_activities(connection, live_activities(user_email, activity_id=item.activity_id))
        _tell(connection, activity, item, notice(activity))
        return True

    return database.write(note, urgency=Urgency.STREAM)


def fail_item(*, database: Database, claim: Claim, error: Mapping[str, Any], notice: Notice) -> bool:
    """Store why an item was not answered, and tell the person; False where the claim is lost."""

    def fail(connection: Connection) -> bool:
        failed = {"state": "failed", "error": dict(error)}
        if connection.execute(update_of(inbox_items).where(_holds(claim)).values(failed)).rowcount == 0:
            return False
        _record(connection, claim.user_email, claim.agent_id, claim.activity.activity_id, "failed")
        _tell(connection, claim.activity, claim, notice)
        return True

    return database.write(fail, urgency=Urgency.STREAM)


def retry_items(*, database: Database, user_email: str, agent_id: str, activity_id: str | None = None) -> int:
    """Let failed items wait again, all or that of one activity; how many.

    A chain of answers that was stopped may go on. Raises ActivityNotFoundError where the one has not failed.
    """
    failed = and_(_i.user_email == user_email, _i.agent_id == agent_id, _i.state == "failed")
    if activity_id is not None:
        failed &= _i.activity_id == activity_id
    again = {"state": "pending", "error": None, "attempts": 0, "is_automatic": 1, "origin_id": _i.activity_id}

    def retry(connection: Connection) -> int:
        ids = connection.execute(select(_i.activity_id).where(failed)).scalars().all()
        if activity_id is not None and not ids:
            raise ActivityNotFoundError("No such activity waits in the inbox as failed.")
        connection.execute(update_of(inbox_items).where(failed).values(again))
        for each in ids:
            _record(connection, user_email, agent_id, each, "pending")
        return len(ids)

    return database.write(retry)


class _Item(NamedTuple):
    """A row of the table, as far as claims need it."""

    agent_id: str
    activity_id: str
    user_email: str
    origin_id: str
    attempts: int
    actor_type: str


def _items(user_email: str | None, *columns: Any) -> Select[Any]:
    """Items whose activities can be seen, also by models; of everybody where `user_email` is None."""
    shown = with_conversation(select(*(columns or (inbox_items,)))).join(
        inbox_items, (_i.activity_id == _a.activity_id) & (_i.user_email == _a.user_email)
    )
    is_visible = and_(seen(), or_(messages.c.show_hide.is_(None), messages.c.show_hide != "hide"))
    return shown.where(is_visible, *([] if user_email is None else [_i.user_email == user_email]))


def _is_free() -> ColumnElement[bool]:
    """Whether an item can be claimed: it waits, or who claimed it is gone."""
    cutoff = store_time(seconds=-CLAIM_SECONDS)
    return or_(_i.state == "pending", and_(_i.state == "claimed", _i.claimed_at < cutoff))


def _holds(claim: Claim) -> ColumnElement[bool]:
    return and_(
        _i.agent_id == claim.agent_id,
        _i.activity_id == claim.activity.activity_id,
        _i.state == "claimed",
        _i.claim == claim.name,
    )


def _oldest(connection: Connection, mine: ColumnElement[bool], *, is_automatic: bool) -> _Item | None:
    query = _items(None, *(_i[name] for name in _Item._fields[:-1]), _a.actor_type).where(mine, _is_free())
    if is_automatic:
        query = query.where(_i.is_automatic == 1)
    row = connection.execute(query.order_by(_i.activity_seq).limit(1)).first()
    return None if row is None else _Item(*row)


def _claimed(connection: Connection, item: _Item, *, by_itself: bool) -> Claim:
    name = uuid.uuid4().hex
    values = {"state": "claimed", "claimed_at": store_time(), "claim": name, "by_itself": int(by_itself), "error": None}
    connection.execute(update_of(inbox_items).where(_is(item)).values(**values, attempts=_i.attempts + 1))
    these = live_activities(item.user_email, activity_id=item.activity_id)
    return Claim(
        agent_id=item.agent_id,
        agent_title=_title_of(connection, item.agent_id),
        user_email=item.user_email,
        activity=read_activities(connection, these)[0],
        origin_id=item.origin_id,
        name=name,
        by_itself=by_itself,
    )


def _is(item: _Item) -> ColumnElement[bool]:
    return (_i.agent_id == item.agent_id) & (_i.activity_id == item.activity_id)


def _title_of(connection: Connection, agent_id: str) -> str:
    return str(connection.execute(select(_g.title).where(_g.agent_id == agent_id)).scalar_one())


def _answered_by_itself(connection: Connection, agent_id: str) -> int:
    lately = _i.claimed_at > store_time(seconds=-_HOUR)
    counted = select(func.count()).where(_i.agent_id == agent_id, _i.by_itself == 1, lately)
    return int(connection.execute(counted).scalar_one())


def _ends_a_chain(connection: Connection, item: _Item) -> bool:
    """Whether agents have answered long enough to what this item follows from."""
    if item.actor_type not in _MINDS:
        return False
    same = (_i.user_email == item.user_email) & (_i.origin_id == item.origin_id)
    answers = select(func.count()).where(same, _i.answer_id.is_not(None))
    return int(connection.execute(answers).scalar_one()) >= MOST_IN_A_CHAIN


def _stop_chain(connection: Connection, item: _Item, *, error: Mapping[str, Any], notice: Notice) -> None:
    """Let all fail that waits for an answer of agents to agents in the chain of this item; the person is told once."""
    of_minds = select(_a.activity_id).where(_a.user_email == item.user_email, _a.actor_type.in_(_MINDS))
    left = and_(_i.user_email == item.user_email, _i.origin_id == item.origin_id, _i.activity_id.in_(of_minds))
    was_told = connection.execute(select(_i.activity_id).where(left, _i.state == "failed").limit(1)).first()
    waiting = connection.execute(select(_i.agent_id, _i.activity_id).where(left, _is_free())).all()
    connection.execute(update_of(inbox_items).where(left, _is_free()).values(state="failed", error=dict(error)))
    for row in waiting:
        _record(connection, item.user_email, row.agent_id, row.activity_id, "failed")
    if was_told is None:
        latest = live_activities(item.user_email, activity_id=item.activity_id)
        _tell(connection, read_activities(connection, latest)[0], item, notice)


def _fail(connection: Connection, item: _Item, *, error: Mapping[str, Any]) -> None:
    connection.execute(update_of(inbox_items).where(_is(item)).values(state="failed", error=dict(error)))
    _record(connection, item.user_email, item.agent_id, item.activity_id, "failed")


def _has_to_pause(connection: Connection, claim: Claim, hourly_limit: int) -> bool:
    if _answered_by_itself(connection, claim.agent_id) < hourly_limit:
        return False
    mine = (_i.user_email == claim.user_email) & (_i.agent_id == claim.agent_id)
    return _oldest(connection, mine, is_automatic=True) is not None


def _tell(
    connection: Connection, activity: Activity, item: Claim | _Item, notice: Notice, *, once_an_hour: bool = False
) -> None:
    """Store a notice as an event behind an activity; it is delivered to no inbox."""
    actor_id = f"inbox of {item.agent_id}"
    if not read_activities(connection, live_activities(activity.user_email, activity_id=activity.activity_id)):
        return  # it was deleted meanwhile, maybe with its conversation
    if once_an_hour and _was_told(connection, activity, actor_id, notice):
        return
    where = {"user_email": activity.user_email, "conversation_id": activity.conversation_id}
    new = NewActivity(
        recipe="system-monitoring",
        type="system_event",
        actor_type="system",
        actor_id=actor_id,
        actor_name=_title_of(connection, item.agent_id),
        created_at=now_iso(),
        place=Place(thread_id=activity.thread_id),
        payload={"description": notice.text, "said": [dict(part) for part in notice.said]},
    )
    (stored,) = insert_activities(connection, [new], **where)
    fields = {"recipe": new.recipe, "type": new.type, "short_id": stored.short_id, "reply_to_id": None}
    fields["thread_id"] = activity.thread_id
    record(connection, ACTIVITY, "created", ids=[stored.activity_id], fields=fields, **where)


def _was_told(connection: Connection, activity: Activity, actor_id: str, notice: Notice) -> bool:
    told = select(_a.payload).where(
        _a.conversation_id == activity.conversation_id,
        _a.type == "system_event",
        _a.actor_id == actor_id,
        _a.created_at > iso_in(seconds=-_HOUR),
    )
    return any(payload["description"] == notice.text for payload in connection.scalars(told))


def _record(connection: Connection, user_email: str, agent_id: str, activity_id: str, state: State) -> None:
    fields = {"activity_id": activity_id, "state": state}
    record(connection, INBOX, "changed", user_email=user_email, ids=[agent_id], fields=fields)
