"""A person's agents: listed, made, changed, deleted, deleted for good."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from anyascii import anyascii
from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from database.changes import AGENT, record
from database.engine.clock import iso_in, now_iso
from database.engine.database import Database, Urgency
from database.engine.errors import AgentNotFoundError, ConversationNotFoundError, InvalidChangeError, NameTakenError
from database.engine.statements import Prepared
from database.engine.text import storable
from database.schema import agents, conversations, inbox_items
from sentences import say

GLOBAL_TITLE = "Global Assistant"
GLOBAL_SLUG = "global_assistant"
"""Of the agent that everybody has: its slug can't be changed, and it can't be deleted."""
MOST_AGENTS = 200
"""How many agents a person may have."""
HOURLY_LIMIT = 20
KEPT_DAYS = 30
"""So long a deleted agent is kept before it is deleted for good."""

Service = Literal["asked", "later", "by_itself"]
SERVICES: tuple[Service, ...] = ("asked", "later", "by_itself")
LONGEST_SLUG = 64
"""Characters of a slug."""
_LONGEST_DERIVED = LONGEST_SLUG - 4
"""Of a slug that a title gives: behind it there is room for a number, where another agent has it."""
_SLUG = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_NOT_IN_TITLES = re.compile(r"[\]\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")
_T = TypeVar("_T")
_c = agents.c
_MADE = Prepared(
    select(_c.agent_id)
    .where(_c.user_email == bindparam("owner"), _c.deleted_at.is_(None), _c.slug != GLOBAL_SLUG)
    .limit(1)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRules:
    """What an agent is, as its owner says it.

    slug: what stands behind "@agent_" in messages; "" derives it from the title. system_prompt: what the agent is
    told; "" for the server's own instructions. enabled_tools: None for those that are on by default. model: None for
    that of the conversation. service: when the agent answers what its inbox holds. rules: what the inbox takes.
    """

    title: str
    slug: str = ""
    system_prompt: str = ""
    enabled_tools: Sequence[str] | None = None
    model: str | None = None
    service: Service = "asked"
    rules: Sequence[Mapping[str, Any]] = ()
    hourly_limit: int = HOURLY_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent(AgentRules):
    """An agent as it is stored. Times are ISO 8601 in UTC."""

    agent_id: str
    created_at: str
    updated_at: str

    @property
    def identity(self) -> dict[str, str]:
        """The `{id, title}` that its answers are stored and shown with."""
        return {"id": self.agent_id, "title": self.title}


_FIELDS = tuple(_c[name] for name in Agent.__dataclass_fields__)


def list_agents(*, database: Database, user_email: str) -> list[Agent]:
    """The person's agents: the Global Assistant first, then by title."""
    found = _read(database, _live(user_email))
    if not any(agent.slug == GLOBAL_SLUG for agent in found):
        found.append(_make_global(database, user_email))
    return sorted(found, key=lambda agent: (agent.slug != GLOBAL_SLUG, agent.title.casefold(), agent.slug))


def get_agent(*, database: Database, user_email: str, agent: str) -> Agent:
    """The agent with this id or slug. Raises AgentNotFoundError, also for somebody else's."""
    try:
        return find_agents(database=database, user_email=user_email, names=[agent])[agent]
    except KeyError:
        raise AgentNotFoundError from None


def has_agents(*, database: Database, user_email: str) -> bool:
    """Whether the person has made an agent: the Global Assistant, which everybody has, does not count."""
    with database.reading() as connection:
        return _MADE.row(connection, owner=user_email) is not None


def find_agents(*, database: Database, user_email: str, names: Collection[str]) -> dict[str, Agent]:
    """Those of `names` (ids or slugs, in any case) that are agents of the person, by the name that was given."""
    wanted = {name: name.lower() for name in names}
    named = or_(_c.slug.in_(wanted.values()), _c.agent_id.in_(wanted.values()))
    found = _read(database, _live(user_email) & named)
    if GLOBAL_SLUG in wanted.values() and not any(agent.slug == GLOBAL_SLUG for agent in found):
        found.append(_make_global(database, user_email))
    known = {agent.slug: agent for agent in found} | {agent.agent_id: agent for agent in found}
    return {name: known[lower] for name, lower in wanted.items() if lower in known}


def suggest_agents(*, database: Database, user_email: str, typed: str, limit: int) -> list[Agent]:
    """Agents whose slug, or a word of whose title, begins with `typed`, by title, at most `limit`."""
    beginning = typed.lower()
    known = sorted(_read(database, _live(user_email)), key=lambda agent: agent.title.casefold())
    words = ((agent, [agent.slug, *agent.slug.split("_"), *agent.title.lower().split()]) for agent in known)
    return [agent for agent, own in words if any(word.startswith(beginning) for word in own)][:limit]


def store_global_agent(connection: Connection, *, user_email: str) -> Agent:
    """Store the Global Assistant of this person, who has none."""
    moment = now_iso()
    rules = AgentRules(title=GLOBAL_TITLE, slug=GLOBAL_SLUG)
    agent = Agent(**_checked(rules), agent_id=str(uuid.uuid4()), created_at=moment, updated_at=moment)
    _insert(connection, agent, user_email=user_email)
    return agent


def create_agent(*, database: Database, user_email: str, rules: AgentRules, agent_id: str | None = None) -> Agent:
    """A new agent. agent_id: that it had elsewhere, and keeps where no agent has it here.

    Raises NameTakenError for a slug that another one has, InvalidChangeError.
    """
    moment, new_id = now_iso(), str(uuid.uuid4())
    agent = Agent(**_checked(rules), agent_id=agent_id or new_id, created_at=moment, updated_at=moment)

    def job(connection: Connection) -> Agent:
        own = select(func.count()).select_from(agents).where(_live(user_email))
        if connection.execute(own).scalar_one() >= MOST_AGENTS:
            raise InvalidChangeError(say("most_agents_kept", most=MOST_AGENTS))
        slug = agent.slug or _free_slug(connection, user_email, agent.title)
        is_taken = connection.execute(select(_c.agent_id).where(_c.agent_id == agent.agent_id)).first() is not None
        stored = replace(agent, slug=slug, agent_id=new_id if is_taken else agent.agent_id)
        _insert(connection, stored, user_email=user_email)
        _record(connection, "created", user_email, stored)
        return stored

    return _written(database, job)


def replace_agent(*, database: Database, user_email: str, agent: str, rules: AgentRules) -> Agent:
    """Let an agent (id or slug) be as `rules` say; without a slug it keeps its own. Raises as above."""
    before = get_agent(database=database, user_email=user_email, agent=agent)
    values = _checked(rules)
    slug = values["slug"] or before.slug
    if before.slug == GLOBAL_SLUG and slug != GLOBAL_SLUG:
        raise InvalidChangeError(say("agent_keeps_name", agent=GLOBAL_TITLE, name=GLOBAL_SLUG))
    values |= {"slug": slug, "updated_at": now_iso()}

    def job(connection: Connection) -> Agent:
        this_one = _live(user_email) & (_c.agent_id == before.agent_id)
        if connection.execute(update(agents).where(this_one).values(values)).rowcount == 0:
            raise AgentNotFoundError
        after = replace(before, **values)
        _record(connection, "changed", user_email, after)
        return after

    return _written(database, job)


def delete_agent(*, database: Database, user_email: str, agent: str, for_good: bool = False) -> None:
    """Delete an agent (id or slug) with its inbox. Its answers stay, with the title that it had.

    for_good: its row goes too, also that of one that was deleted before, and no message names it as its source any
    more. Otherwise the row goes after `KEPT_DAYS`. Raises AgentNotFoundError, InvalidChangeError for the Global
    Assistant.
    """
    named = (_c.slug == agent.lower()) & _c.deleted_at.is_(None) | (_c.agent_id == agent.lower())
    mine = (_c.user_email == user_email) & named

    def job(connection: Connection) -> None:
        row = connection.execute(select(_c.agent_id, _c.slug, _c.deleted_at).where(mine)).first()
        if GLOBAL_SLUG in (agent.lower(), row and row.slug):
            raise InvalidChangeError(say("agent_of_everybody", agent=GLOBAL_TITLE))
        if row is None or (row.deleted_at is not None and not for_good):
            raise AgentNotFoundError
        this_one = _c.agent_id == row.agent_id
        connection.execute(delete(inbox_items).where(inbox_items.c.agent_id == row.agent_id))
        if for_good:
            connection.execute(delete(agents).where(this_one))
        else:
            connection.execute(update(agents).where(this_one).values(deleted_at=now_iso()))
        if row.deleted_at is None:
            record(connection, AGENT, "gone", user_email=user_email, ids=[row.agent_id])

    database.write(job)


def purge_agents(*, database: Database, older_than_days: float = KEPT_DAYS) -> int:
    """Delete for good the agents that were deleted `older_than_days` ago or earlier; how many."""
    old = delete(agents).where(_c.deleted_at < iso_in(days=-older_than_days))
    return database.write(lambda connection: int(connection.execute(old).rowcount), urgency=Urgency.INDEX)


def id_of_slug(connection: Connection, slug: str, *, user_email: str) -> str | None:
    """The id of the person's agent with this slug, within a transaction; None where there is none."""
    this_one = _live(user_email) & (_c.slug == slug)
    found: str | None = connection.execute(select(_c.agent_id).where(this_one)).scalar()
    if found is None and slug == GLOBAL_SLUG:
        return store_global_agent(connection, user_email=user_email).agent_id
    return found


def assign_conversation(
    *, database: Database, user_email: str, conversation_id: str, agent: str | None
) -> Agent | None:
    """Let an agent (id or slug) answer in a conversation; None: its own model again. Returns the agent.

    Raises AgentNotFoundError, ConversationNotFoundError.
    """
    found = None if agent is None else get_agent(database=database, user_email=user_email, agent=agent)
    c = conversations.c
    mine = (c.user_email == user_email) & (c.conversation_id == conversation_id) & c.deleted_at.is_(None)
    values = {"agent_id": found and found.agent_id, "version": c.version + 1}

    def job(connection: Connection) -> None:
        if connection.execute(update(conversations).where(mine).values(values)).rowcount == 0:
            raise ConversationNotFoundError

    database.write(job)
    return found


def clean_title(title: str) -> str:
    """`title` as it may stand in "[user@Title]": without "]" and line breaks."""
    return " ".join(_NOT_IN_TITLES.sub(" ", storable(title)).split())


def slug_of(title: str) -> str:
    """The words of `title` as a slug; "agent" where it has none."""
    words = re.findall(r"[a-z0-9]+", anyascii(title).lower().replace("'", ""))
    return "_".join(words)[:_LONGEST_DERIVED].rstrip("_") or "agent"


def _checked(rules: AgentRules) -> dict[str, Any]:
    """The columns that `rules` name. Raises InvalidChangeError."""
    title, slug = clean_title(rules.title), rules.slug.lower()
    if not title:
        raise InvalidChangeError(say("agent_title_missing"))
    if slug and (not _SLUG.fullmatch(slug) or len(slug) > LONGEST_SLUG):
        raise InvalidChangeError(say("agent_name_malformed", most=LONGEST_SLUG))
    values = {name: getattr(rules, name) for name in AgentRules.__dataclass_fields__}
    tools = None if rules.enabled_tools is None else list(rules.enabled_tools)
    return values | {
        "title": title,
        "slug": slug,
        "system_prompt": storable(rules.system_prompt),
        "enabled_tools": tools,
        "rules": [dict(rule) for rule in rules.rules],
    }


def _free_slug(connection: Connection, user_email: str, title: str) -> str:
    slug = slug_of(title)
    taken = set(connection.execute(select(_c.slug).where(_live(user_email), _c.slug.startswith(slug))).scalars())
    candidates = [slug, *(f"{slug}_{number}" for number in range(2, MOST_AGENTS + 3))]
    return next(each for each in candidates if each not in taken and each != GLOBAL_SLUG)


def _make_global(database: Database, user_email: str) -> Agent:
    """The Global Assistant of somebody who has no account here, such as the owner of a store that a script fills."""

    def job(connection: Connection) -> Agent:
        found = connection.execute(select(*_FIELDS).where(_live(user_email), _c.slug == GLOBAL_SLUG)).first()
        return store_global_agent(connection, user_email=user_email) if found is None else Agent(**found._mapping)

    return database.write(job)


def _insert(connection: Connection, agent: Agent, *, user_email: str) -> None:
    values = {name: getattr(agent, name) for name in Agent.__dataclass_fields__}
    connection.execute(insert(agents).values(user_email=user_email, **values))


def _record(connection: Connection, change: Literal["created", "changed"], user_email: str, agent: Agent) -> None:
    fields = {"title": agent.title, "slug": agent.slug}
    record(connection, AGENT, change, user_email=user_email, ids=[agent.agent_id], fields=fields)


def _live(user_email: str) -> ColumnElement[bool]:
    return (_c.user_email == user_email) & _c.deleted_at.is_(None)


def _read(database: Database, which: ColumnElement[bool]) -> list[Agent]:
    with database.reading() as connection:
        return [Agent(**row._mapping) for row in connection.execute(select(*_FIELDS).where(which))]


def _written(database: Database, job: Callable[[Connection], _T]) -> _T:
    try:
        return database.write(job)
    except IntegrityError as error:
        raise NameTakenError(say("agent_name_taken")) from error
