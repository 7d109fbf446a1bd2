"""How SQLite answers what is asked often: by which indexes, and at the same cost in a large store as in a small one.

The statements are the product's own, recorded at the driver while requests are answered.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, cast

import pytest
from flask import Flask
from sqlalchemy import Connection, delete, insert, select

from benchmarks.made_up.groups import ENTITY, TAG, TREE
from benchmarks.made_up.history import SeedPlan, seed
from benchmarks.made_up.knowledge import KnowledgePlan, seed_knowledge
from benchmarks.made_up.words import TextMaker
from chat.runtime.upkeep import Upkeep
from database.accounts.api_tokens import create_token
from database.accounts.sessions import create_session
from database.agents.inbox import waiting_agents
from database.connection import close_store, open_store
from database.engine.clock import now_iso
from database.engine.database import Database
from database.maintenance.statistics import renew_statistics
from database.schema import agents, inbox_items, message_references, messages, users
from database.search.indexing import index_pending
from database.timeline.transcript import read_arrivals
from endpoints.http.guards import SESSION_COOKIE
from endpoints.http.scope import EXTENSION
from language_models.roles import ModelRoles
from language_models.testing import Reply, ScriptedChatModel
from search.things.conversations import titles_of
from server import create_app
from settings import Settings
from tests.endpoints.conftest import Person, settings_in
from tests.stores import put_empty_store
from truth_management_system import PKBConfig, get_database
from truth_management_system.schema.sqlite import prepare

pytestmark = pytest.mark.thorough

ANN, BOB = "ann@example.org", "bob@example.org"
PEOPLE = [ANN, BOB, *(f"{number}@example.org" for number in range(50))]
STEPS_AT_ONCE = 20
GROWTH_ALLOWED = 2
"""An index of ten thousand rows is a level or two deeper than one of a hundred."""
LIST, UNHASHED, FRIENDLY_ID, TEMPORARY = (
    "idx_UserToConversationId_list",
    "idx_messages_unhashed",
    "idx_UserToConversationId_friendly_id",
    "idx_UserToConversationId_temporary",
)
RECIPE = "idx_activities_recipe"
LIVE, TITLE = "idx_messages_live", "idx_UserToConversationId_title"
OWN = "idx_UserToConversationId_email_doc"
SHORT_ID, FORMER_ID, THREAD = "idx_activities_short_id", "idx_former_short_ids_owner", "idx_activities_thread"
WAITING = {
    "idx_attachments_waiting",
    "idx_audit_log_undelivered",
    "idx_imports_working",
    "idx_inbox_items_open",
    "idx_jobs_due",
    "idx_threads_untitled",
    "idx_users_closing",
}
"""Indexes of the few rows that wait for something: to read one whole is to read what waits."""
CREDENTIALS = {"sqlite_autoindex_sessions_1", "sqlite_autoindex_users_1"}


class Statement(NamedTuple):
    """What the driver was asked. `store`: the name of the database file."""

    store: str
    sql: str
    parameters: Any


@dataclass
class Recorder:
    """Notes statements, and counts the steps of SQLite's virtual machine for each, on all connections at once."""

    statements: list[Statement] = field(default_factory=list)
    steps: Counter[str] = field(default_factory=Counter)
    recording: bool = False

    @contextmanager
    def __call__(self) -> Iterator[Recorder]:
        self.statements, self.steps, self.recording = [], Counter(), True
        try:
            yield self
        finally:
            self.recording = False

    def count(self) -> int:
        if self.recording:
            self.steps[self.statements[-1].sql if self.statements else ""] += STEPS_AT_ONCE
        return 0

    def note(self, connection: sqlite3.Connection, sql: str, parameters: Any) -> None:
        if self.recording and re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b", sql):
            self.statements.append(Statement(connection.name, sql, parameters))  # type: ignore[attr-defined]


recorder = Recorder()
_connect = sqlite3.connect


class RecordedCursor(sqlite3.Cursor):
    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        recorder.note(self.connection, sql, parameters)
        return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        sets = list(parameters)
        for each in sets[:1]:
            recorder.note(self.connection, sql, each)
        return super().executemany(sql, sets)


class RecordedConnection(sqlite3.Connection):
    name = ""

    def cursor(self, factory: Any = RecordedCursor) -> Any:
        return super().cursor(factory)


def recorded_connect(path: Any, **options: Any) -> sqlite3.Connection:
    connection = _connect(path, factory=RecordedConnection, **options)
    connection.name = Path(str(path)).name
    connection.set_progress_handler(recorder.count, STEPS_AT_ONCE)
    return connection


@dataclass(kw_only=True)
class World:
    """A server over a store of Ann's and Bob's, and Ann, who asks.

    conversation, other: two of hers; the newest message of `conversation` is an answer, `message` one of `other`, and
    `event`, an activity that replies to it there, began a thread.
    """

    folder: Path
    app: Flask
    ann: Person
    token: str
    conversation: str = ""
    other: Mapping[str, Any] = field(default_factory=dict)
    message: Mapping[str, Any] = field(default_factory=dict)
    answer: str = ""
    event: Mapping[str, Any] = field(default_factory=dict)
    next_page: str = ""

    @property
    def database(self) -> Database:
        return cast(Database, self.app.extensions[EXTENSION].database)

    @property
    def reference(self) -> str:
        return f"@conversation_{self.other['conversation_friendly_id']}_message_{self.message['message_short_hash']}"


def scripted_models(model_dir: Path) -> ModelRoles:
    """Models, and people below, say words that no memory has: how many memories are found is all the same here."""
    replies = {"main": Reply("zzit ", "zzis."), "cheap": Reply("zzwords zzof zzothers")}
    return ModelRoles(
        main="none",
        cheap="none",
        embedding="none",
        openai_base_url=None,
        openai_api_key=None,
        anthropic_api_key=None,
        model_dir=model_dir,
        overrides={role: ScriptedChatModel(replies=lambda _, said=said: said) for role, said in replies.items()},
    )


def fill(users_dir: str, *, conversations: int, claims: int) -> None:
    """Ann has so many conversations, ten others a hundred each; Ann and Bob have as many claims."""
    database = open_store(put_empty_store(users_dir))
    rows = [
        {"user_email": email, "user_id": email, "password_hash": "", "detail": {}, "preference": {}}
        | {"created_at": now_iso()}
        for email in PEOPLE
    ]
    database.write(lambda connection: connection.execute(insert(users), rows))
    sentences = TextMaker(Random(ANN))
    for email, count in ((ANN, conversations), *((other, 100) for other in PEOPLE[1:11])):
        plan = SeedPlan(conversations=count, messages=count * 3, chars=40, workspaces=20)
        list(seed(database=database, user_email=email, plan=plan, sentences=sentences))
    database.write(let_bob_refer)
    # Each slice makes a segment of the index that every search asks: a slow machine is not to make more of them.
    index_pending(database=database, slice_ms=1_000_000)
    with get_database(PKBConfig(db_path=Path(users_dir) / "pkb.sqlite")) as knowledge:
        for email in (ANN, BOB):
            list(seed_knowledge(knowledge, user_email=email, plan=KnowledgePlan(claims=claims)))
    close_store(users_dir)


def opened(settings: Settings) -> World:
    """An application over what `fill` has stored."""
    app = create_app(settings, models=scripted_models(settings.model_dir))
    app.extensions[EXTENSION].server.begin(upkeep=False)  # statements of upkeep are none of the requests'
    database = app.extensions[EXTENSION].database
    for email in PEOPLE:
        session = create_session(database=database, user_email=email)
        _, token = create_token(database=database, user_email=email, name="script")
        if email == ANN:
            client, ann_token = app.test_client(), token
            client.set_cookie(SESSION_COOKIE, session)
    world = World(folder=settings.data_dir, app=app, ann=Person(ANN, client), token=ann_token)
    live_in(world)
    return world


def let_bob_refer(connection: Connection) -> None:
    """So many references that a walk through all of them would be dear."""
    ids = connection.execute(select(messages.c.message_id).where(messages.c.user_email == BOB)).scalars().all()
    common = {"user_email": BOB, "ref": "@", "kind": "message", "status": "resolved", "target_conversation_id": ""}
    rows = [{**common, "message_id": each, "position": 0, "target_message_id": ids[0]} for each in ids]
    connection.execute(insert(message_references), rows)


def live_in(world: World) -> None:
    """Ann throws a few conversations away and asks something; both worlds hold as much of that."""
    answer = world.ann.get("/list_conversation_by_user/assistant?limit=40")
    page = answer.json
    world.next_page = re.search("<(.*)>", answer.headers["Link"])[1]  # type: ignore[index]
    binned = [each["conversation_id"] for each in page[20:30]]
    world.ann.post("/conversations/bulk", json={"conversation_ids": binned, "change": "delete"})
    world.ann.post("/create_temporary_conversation/assistant")
    world.conversation, other = world.ann.new_conversation(), world.ann.new_conversation()
    world.ann.say(other, "zzhow zzlong")
    world.other = world.ann.get(f"/get_conversation_details/{other}").json
    world.message = world.ann.get(f"/list_messages_by_conversation/{other}").json[0]
    world.ann.say(world.conversation, f"zzwhat {world.reference} @claim_7")
    world.answer = world.ann.get(f"/list_messages_by_conversation/{world.conversation}").json[-1]["message_id"]
    wait_for_summary(world)
    event = {"type": "system_event", "payload": {"description": "zzdone"}, "reply_to": world.message["message_id"]}
    world.event = world.ann.post(f"/api/conversations/{other}/activities", json=event).json
    world.ann.put(f"/messages/{world.answer}/pin")
    index_pending(database=world.database)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, World]]:
    """A small and a large one."""
    folder, made = tmp_path_factory.mktemp("worlds"), {}
    chosen = {name: settings_in(folder / name) for name in ("small", "large")}
    fill(chosen["small"].users_dir, conversations=100, claims=100)
    fill(chosen["large"].users_dir, conversations=10_000, claims=2_000)
    with ExitStack() as stack:
        # What was stored so far was not recorded: that would take several times as long.
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(sqlite3, "connect", recorded_connect)
        for name, settings in chosen.items():
            made[name] = opened(settings)
            stack.callback(close_store, made[name].database.folder)
            stack.callback(made[name].app.extensions[EXTENSION].knowledge.close)
            stack.callback(made[name].app.extensions[EXTENSION].server.end)
        yield made


@pytest.fixture(scope="module")
def copies(worlds: dict[str, World]) -> Iterator[dict[str, dict[str, sqlite3.Connection]]]:
    """Both files of the large world: without statistics, with its own, and with those of the small world."""
    files = {name: next(worlds["large"].folder.rglob(name)) for name in ("users.db", "pkb.sqlite")}
    with ExitStack() as stack:
        yield {
            statistics: {
                name: stack.enter_context(closing(copied(path, statistics, worlds["small"])))
                for name, path in files.items()
            }
            for statistics in ("none", "its own", "a small store's")
        }


def copied(path: Path, statistics: str, small: World) -> sqlite3.Connection:
    target = path.with_name(f"{statistics} {path.name}")
    with closing(_connect(path)) as source, closing(_connect(target)) as copy:
        source.backup(copy)
        if statistics == "its own":
            renew_statistics(lambda sql: copy.execute(sql).fetchall())
        elif statistics == "a small store's":
            with (
                closing(_connect(":memory:")) as other,
                closing(_connect(next(small.folder.rglob(path.name)))) as there,
            ):
                there.backup(other)
                renew_statistics(lambda sql: other.execute(sql).fetchall())
                rows = other.execute("SELECT * FROM sqlite_stat1").fetchall()
            copy.execute("ANALYZE sqlite_schema")  # makes the table
            copy.executemany("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", rows)
        copy.commit()
    connection = _connect(target)
    prepare(connection)
    return connection


class Hot(NamedTuple):
    """Something that is asked often. uses: indexes that answer it. grows: with what is asked for, as it must."""

    ask: Callable[[World], Any]
    uses: Collection[str] = ()
    grows: bool = False


def get(path: str, *, expects: int = 200, **query: str) -> Callable[[World], Any]:
    def ask(world: World) -> None:
        filled = {name: value.format(world=world) for name, value in query.items()}
        answer = world.ann.get(path.format(world=world), query_string=filled or None)
        assert answer.status_code == expects, answer.get_data(as_text=True)

    return ask


def read_titles(world: World) -> None:
    titles_of(world.database).forget(ANN)
    get("/conversations/autocomplete", q="-zz")(world)


def say(text: str) -> Callable[[World], Any]:
    """A turn, with the running summary that follows it: the next turn searches for the words of the summary, too."""

    def ask(world: World) -> None:
        world.ann.say(world.conversation, text.format(world=world))
        wait_for_summary(world)

    return ask


def wait_for_summary(world: World) -> None:
    """Return once no turn has anything left to do.

    `running()` is 0 already when an answer has ended. The summary that follows adds its statements to what is recorded,
    and its words to what the next turn looks for: in one world only, where nobody waits.
    """
    tasks = world.app.extensions[EXTENSION].turns._tasks
    end = time.monotonic() + 60
    while tasks:
        assert time.monotonic() < end, "the turn goes on"
        time.sleep(0.005)


def with_token(world: World) -> None:
    client = world.app.test_client()
    assert client.get("/limits", headers={"Authorization": f"Bearer {world.token}"}).status_code == 200


def follow(world: World) -> None:
    assert world.ann.get(world.next_page).status_code == 200


def new_conversation(world: World) -> None:
    world.ann.say(world.ann.new_conversation(), "zzhello")
    wait_for_summary(world)


def throw_away(world: World) -> None:
    conversation_id = world.ann.new_conversation()
    assert world.ann.delete(f"/delete_conversation/{conversation_id}").status_code == 200
    assert world.ann.delete(f"/bin/{conversation_id}").status_code == 200


def watch_again(world: World) -> None:
    assert world.ann.get(f"/stream/{world.answer}?after=1").get_data()


def answer_again(world: World) -> None:
    assert world.ann.post(f"/regenerate/{world.conversation}/{world.answer}", json={}).get_data()
    wait_for_summary(world)


def edit(world: World) -> None:
    path = f"/edit_message_from_conversation/{world.other['conversation_id']}/{world.message['message_id']}/1"
    assert world.ann.post(path, json={"text": "Words that came to mind later"}).status_code == 200


def poll(world: World) -> None:
    where = {"database": world.database, "user_email": ANN, "conversation_id": world.other["conversation_id"]}
    arrived = read_arrivals(**where, after=world.event["seq"] - 1, unfinished=())
    assert [each.activity_id for each in arrived.activities] == [world.event["id"]]


def look_into_inboxes(world: World) -> None:
    """One item waits for an agent that may answer by itself."""
    agent = {"agent_id": "zzagent", "user_email": ANN, "slug": "zzagent", "title": "", "rules": [], "hourly_limit": 1}
    agent |= {"service": "by_itself", "created_at": now_iso(), "updated_at": now_iso()}
    item = {"agent_id": "zzagent", "activity_id": world.event["id"], "activity_seq": world.event["seq"]}
    item |= {"user_email": ANN, "state": "pending", "is_automatic": 1, "origin_id": world.event["id"]}
    world.database.write(lambda connection: connection.execute(insert(agents), [agent]).close())
    world.database.write(lambda connection: connection.execute(insert(inbox_items), [item]).close())
    assert waiting_agents(database=world.database) == [(ANN, "zzagent")]
    mine = agents.c.agent_id == "zzagent"
    world.database.write(lambda connection: connection.execute(delete(agents).where(mine)).close())


HOT = {
    "the first page": Hot(
        get("/list_conversation_by_user/assistant", limit="50"), {LIST, UNHASHED, FRIENDLY_ID, *CREDENTIALS}
    ),
    "the second page": Hot(follow, {LIST, UNHASHED, FRIENDLY_ID}),
    "all conversations": Hot(get("/list_conversation_by_user/assistant"), {LIST, UNHASHED, FRIENDLY_ID}, grows=True),
    "workspaces": Hot(get("/list_workspaces/assistant"), {LIST}, grows=True),
    "the bin": Hot(get("/bin/assistant"), {LIST}),
    "who a token is": Hot(with_token, {"sqlite_autoindex_api_tokens_1"}),
    "one's sessions": Hot(get("/sessions"), {"idx_sessions_user_email"}),
    "the page of a conversation": Hot(get("/interface/{world.conversation}")),
    "details": Hot(get("/get_conversation_details/{world.conversation}"), {OWN}),
    "all messages": Hot(get("/list_messages_by_conversation/{world.conversation}"), {LIVE}),
    "a window of messages": Hot(
        get("/list_messages_by_conversation/{world.conversation}", limit="2", around="1"), {LIVE}
    ),
    "a turn": Hot(say("zzagain zzmore"), {LIVE, OWN}),
    "a turn with a reference": Hot(say("zzand {world.reference}"), {FRIENDLY_ID}),
    "a turn with a memory": Hot(say("zzand @claim_7"), {"idx_claims_user_claim_number"}, grows=True),
    "a first turn": Hot(new_conversation),
    "an answer again": Hot(answer_again),
    "an answer's events": Hot(watch_again, {"PRIMARY KEY"}),
    "an edit": Hot(edit),
    "throwing away": Hot(throw_away),
    "a reference": Hot(get("/references/resolve", ref="{world.reference}"), {FRIENDLY_ID}),
    "backlinks": Hot(get("/messages/{world.message[message_id]}/backlinks"), {"idx_message_references_message"}),
    "conversations to refer to": Hot(get("/conversations/autocomplete", q=""), {LIST}),
    "conversations of a domain": Hot(get("/conversations/autocomplete", q="", domain="assistant"), {LIST}),
    "a friendly id typed": Hot(
        get("/conversations/autocomplete", q="{world.other[conversation_friendly_id]}"), {FRIENDLY_ID}, grows=True
    ),
    # "-" begins no friendly id.
    "a title typed": Hot(get("/conversations/autocomplete", q="-{world.other[title]}"), {OWN}, grows=True),
    "the first title typed": Hot(read_titles, {OWN}, grows=True),
    "a letter of many titles typed": Hot(get("/conversations/autocomplete", q="-s"), {TITLE}, grows=True),
    "messages to refer to": Hot(get("/conversations/{world.other[conversation_friendly_id]}/messages", q=""), {LIVE}),
    "messages found": Hot(get("/conversations/{world.other[conversation_friendly_id]}/messages", q="the"), {LIVE}),
    "a search for messages": Hot(get("/search", q="zzunsaid", kind="message"), {LIST, TEMPORARY}),
    "a search with filters": Hot(
        get("/search", q="zzunsaid sender:user after:2024-01 in:{world.other[conversation_friendly_id]}"), {FRIENDLY_ID}
    ),
    "a search for everything": Hot(get("/search", q="the"), {LIST, TEMPORARY}, grows=True),
    "an activity": Hot(get("/api/activities/{world.event[short_id]}"), {SHORT_ID}),
    "an activity of nobody": Hot(get("/api/activities/zzzzzz", expects=404), {SHORT_ID, FORMER_ID}),
    "an activity of nobody here": Hot(
        get("/api/activities/zzzzzz", expects=404, conversation_id="{world.conversation}"), {SHORT_ID, FORMER_ID}
    ),
    "a turn with an activity of nobody": Hot(say("zzand #ffffff"), {SHORT_ID, FORMER_ID}),
    "activities to refer to": Hot(
        get("/references/suggest", q="#{world.event[short_id]}", conversation_id="{world.conversation}"), {SHORT_ID}
    ),
    "activities between messages": Hot(get("/api/conversations/{world.other[conversation_id]}/activities")),
    "what comes into a conversation": Hot(poll),
    "threads of a conversation": Hot(get("/api/conversations/{world.other[conversation_id]}/threads"), {THREAD}),
    "a thread": Hot(get("/api/threads/{world.event[thread_id]}"), {THREAD}),
    "a conversation as a file": Hot(get("/export_conversation/{world.other[conversation_id]}")),
    "a thread as a file": Hot(get("/api/export", thread="{world.event[thread_id]}", format="json"), {THREAD}),
    "what a recipe did, as a file": Hot(get("/api/export", recipe="{world.event[recipe]}", format="json"), {RECIPE}),
    "what a recipe did since": Hot(
        get("/api/export", recipe="{world.event[recipe]}", after="{world.event[short_id]}"), {RECIPE, SHORT_ID}
    ),
    "what followed an activity": Hot(
        get("/api/export", room="{world.other[conversation_id]}", after="{world.message[short_id]}")
    ),
    "what followed nobody's activity": Hot(
        get("/api/export", expects=404, room="{world.other[conversation_id]}", after="zzzzzz"), {SHORT_ID}
    ),
    "pinned messages": Hot(get("/conversations/{world.conversation}/pinned_messages"), {"idx_messages_pinned"}),
    "shared links": Hot(get("/shares"), {"idx_shares_user"}),
    "memories": Hot(get("/pkb/claims", limit="20"), {"idx_claims_user_email"}, grows=True),
    "memories of a kind": Hot(get("/pkb/claims", limit="20", status="active"), grows=True),
    "memories found": Hot(get("/pkb/search", q="zzunsaid")),
    "memories to refer to": Hot(get("/pkb/autocomplete", q="zz"), {"idx_claims_friendly_id_nocase"}, grows=True),
    "a memory": Hot(get("/pkb/resolve/claim_7"), {"idx_claims_user_claim_number"}),
    "a tag": Hot(get(f"/pkb/resolve/{TAG}"), grows=True),
    "an entity": Hot(get(f"/pkb/resolve/{ENTITY}"), grows=True),
    "a tree": Hot(get(f"/pkb/resolve/{TREE}"), grows=True),
    "a domain": Hot(get("/pkb/resolve/measured_domain"), grows=True),
    "pinned memories": Hot(get("/pkb/pinned"), {"idx_claims_pinned"}),
    "what became of memories": Hot(get("/pkb/audit"), {"idx_audit_log_user"}),
    "remembering": Hot(lambda world: world.ann.remember("I drink tea in the morning"), grows=True),
    "an agent for which something waits": Hot(look_into_inboxes, {"idx_inbox_items_open"}),
    "indexing": Hot(lambda world: index_pending(database=world.database), {"idx_messages_streaming"}),
}


def plan_of(connection: sqlite3.Connection, statement: Statement) -> list[str]:
    rows = connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", statement.parameters)
    return [str(row[3]) for row in rows]


def walks(plan: Collection[str]) -> list[str]:
    """Steps that read a stored table whole, or build an index or a filter out of one, for one answer."""
    made = {name for step in plan for name in re.findall(r"^(?:MATERIALIZE|CO-ROUTINE) (\S+)", step)}
    return [
        step
        for step in plan
        if "AUTOMATIC" in step
        or step.startswith("BLOOM FILTER")
        or (
            (scanned := re.match(r"SCAN (\S+)(.*)", step))
            and scanned[1] not in made
            and not scanned[1].startswith("(")
            and not WAITING & set(scanned[2].split())
            and "CONSTANT ROW" not in step
            and "VIRTUAL TABLE" not in scanned[2]
        )
    ]


@pytest.mark.parametrize("what", HOT)
def test_no_table_is_read_whole_whatever_sqlite_knows_of_it(
    worlds: dict[str, World], copies: dict[str, dict[str, sqlite3.Connection]], what: str
) -> None:
    HOT[what].ask(worlds["small"])  # the worlds stay alike
    with recorder() as seen:
        HOT[what].ask(worlds["large"])
    statements = {statement.sql: statement for statement in seen.statements}
    assert statements
    for statistics, stores in copies.items():
        plans = {sql: plan_of(stores[statement.store], statement) for sql, statement in statements.items()}
        read_whole = [(step, sql) for sql, plan in plans.items() for step in walks(plan)]
        assert read_whole == [], f"with statistics: {statistics}"
        steps = " ".join(step for plan in plans.values() for step in plan)
        missing = [index for index in HOT[what].uses if index not in steps]
        assert missing == [], f"with statistics: {statistics}"


def _asked(world: World, what: str) -> tuple[list[Statement], Counter[str]]:
    with recorder() as seen:
        HOT[what].ask(world)
    return seen.statements, seen.steps


def merge_words_of_messages(world: World) -> None:
    """In how many parts FTS5 keeps them depends on the portions in which they came, by the clock; each part is read."""
    merging = "INSERT INTO messages_fts(messages_fts) VALUES ('optimize')"
    world.database.write(lambda connection: connection.exec_driver_sql(merging).close())


@pytest.mark.parametrize("what", [what for what, hot in HOT.items() if not hot.grows])
def test_it_costs_as_much_among_ten_thousand_conversations_as_among_a_hundred(
    worlds: dict[str, World], what: str
) -> None:
    steps = dict[str, Counter[str]]()
    for name, world in worlds.items():
        statements, _ = _asked(world, what)  # what is read once is read by now
        if any("messages_fts" in statement.sql for statement in statements):
            merge_words_of_messages(world)
        # FTS5 merges parts of its index with one of some twenty changes, how much of it depends on all changes before.
        steps[name] = min((_asked(world, what)[1] for _ in range(2)), key=Counter.total)
    assert steps["large"].total() <= steps["small"].total() * GROWTH_ALLOWED + 200, steps["large"] - steps["small"]


def upkeep_of(world: World) -> dict[str, tuple[list[Statement], Counter[str]]]:
    """What each part of the upkeep asks when there is nothing to do: again and again, every second or more often."""
    asked, one_at_a_time = dict[str, tuple[list[Statement], Counter[str]]](), asyncio.Lock()

    async def twice(self: Upkeep, work: Callable[[], object], *, what: str, **_: float) -> None:
        del self
        async with one_at_a_time:
            while await asyncio.to_thread(work) is True:  # what there was to do
                pass
            with recorder() as seen:
                await asyncio.to_thread(work)
        asked[what] = seen.statements, seen.steps

    server = world.app.extensions[EXTENSION].server
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Upkeep, "repeat", twice)
        asyncio.run(server._upkeep())
    return asked


# The last: what upkeep did, such as new statistics, would make the worlds unlike each other.
def test_upkeep_that_has_nothing_to_do_reads_no_table_whole_and_costs_the_same_in_a_large_store(
    worlds: dict[str, World], copies: dict[str, dict[str, sqlite3.Connection]]
) -> None:
    asked = {name: upkeep_of(world) for name, world in worlds.items()}
    statements = {each.sql: (what, each) for what, (seen, _) in asked["large"].items() for each in seen}
    assert {"turns of processes that are gone", "jobs", "imports", "inboxes"} <= {
        what for what, _ in statements.values()
    }
    for statistics, stores in copies.items():
        plans = {sql: plan_of(stores[each.store], each) for sql, (_, each) in statements.items()}
        read_whole = [(statements[sql][0], step) for sql, plan in plans.items() for step in walks(plan)]
        assert read_whole == [], f"with statistics: {statistics}"
    for what, (_, steps) in asked["large"].items():
        assert steps.total() <= asked["small"][what][1].total() * GROWTH_ALLOWED + 200, (what, steps)
