"""Activities as a file: whole, readable, harmless, in a few reads however long it is."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from sqlalchemy import Engine, event

from activity.export import INCLUDED, Export, export
from activity.export_document import file_name
from activity.export_html import _Renderer
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from activity.recipes.errors import RecipeNotFoundError
from Conversation import Conversation
from database.connection import close_store, open_store
from database.conversations.repository import create_conversation, update_conversation
from database.engine.database import Database
from database.engine.errors import (
    ActivityNotFoundError,
    AmbiguousReferenceError,
    ConversationNotFoundError,
    InvalidChangeError,
    NotFoundError,
    RoomNotFoundError,
    ThreadNotFoundError,
)
from database.history.editing import delete_message, edit_message, move_messages, show_or_hide_message
from tests.activity.chain import CastleDefense, store

EMAIL = "ada@example.com"
HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> [run](javascript:alert(1)) [data](data:text/html,x) "
    '![beacon](https://example.org/pixel.png) <a href="javascript:alert(1)">x</a> <svg onload=alert(1)>'
)


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def database(database_url: str | None, tmp_path: Path) -> Iterator[Database]:
    folder = str(tmp_path / "users")
    yield open_store(folder, database_url=database_url)
    close_store(folder)


def talk(database: Database, *turns: tuple[str, str], title: str = "Tomatoes") -> Conversation:
    store = database
    row = create_conversation(database=database, user_email=EMAIL, domain="assistant")
    conversation = Conversation(EMAIL, store, row.conversation_id)
    for question, answer in turns:
        conversation.persist_current_turn(question, answer, {"model": "a-model"}, title=title)
    return Conversation(EMAIL, store, row.conversation_id)


def exported(database: Database, conversation: Conversation, fmt: str, *, email: str = EMAIL) -> Export:
    return export(
        email, database=database, recipes=RecipeRegistry(BUILT_IN), room=conversation.conversation_id, fmt=fmt
    )


def text_of(export: Export) -> str:
    return b"".join(export.chunks).decode()


def where(database: Database, conversation: Conversation, index: int) -> dict[str, Any]:
    message = conversation.get_message_list()[index - 1]
    which = {"conversation_id": conversation.conversation_id, "message_id": message["message_id"], "index": index}
    return {"database": database, "user_email": EMAIL, **which}


@contextmanager
def statements() -> Iterator[list[str]]:
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, sql: str, *_rest: Any) -> None:
        seen.append(sql)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.mark.contract
def test_markdown_says_who_said_what_when_and_in_answer_to_what(database: Database) -> None:
    conversation = talk(database, ("How much *water*?", "A litre.\n\nOr two."), ("Really?", "Yes."))
    show_or_hide_message(**where(database, conversation, 3), show_hide="hide")
    messages = conversation.get_message_list()
    export = exported(database, conversation, "markdown")
    text = text_of(export)
    assert (export.name, export.media) == ("Tomatoes.md", "text/markdown")
    assert text.startswith("# Conversation: Tomatoes\n")
    assert (
        f"@conversation\\_{conversation.get_metadata()['conversation_friendly_id'].replace('_', chr(92) + '_')}" in text
    )
    time = messages[0]["created_at"][:19].replace("T", " ")
    assert f"**[#{messages[0]['short_id']}] {EMAIL}** ({time})\n\n> How much *water*?\n" in text
    assert "a-model" in text
    assert "> A litre.\n>\n> Or two.\n" in text
    assert f"**[#{messages[2]['short_id']}] {EMAIL}** ({time[:10]}" in text
    assert re.search(r"\*hidden\*\n\n> Really\?", text)
    assert text.endswith("\nMessages: 4\n")


def test_an_empty_conversation_is_a_valid_file_in_each_form(database: Database) -> None:
    conversation = talk(database)
    assert "Messages: 0" in text_of(exported(database, conversation, "markdown"))
    whole = json.loads(text_of(exported(database, conversation, "json")))
    assert (whole["activities"], whole["count"]) == ([], 0)
    assert "(untitled)" in text_of(exported(database, conversation, "html"))


def test_no_body_reaches_beyond_its_quote(database: Database) -> None:
    bodies = ["```\nnever closed", "a\r# forged\r\n**[#a1b2c3] You** (now)", "~~~~\n> x\n</blockquote>", "<!--"]
    conversation = talk(database, *[(body, "plain") for body in bodies])
    tokens = MarkdownIt("commonmark").parse(text_of(exported(database, conversation, "markdown")))
    outside = [token.tag for token in tokens if token.level == 0 and token.nesting >= 0]
    assert outside.count("blockquote") == 8
    assert outside.count("h1") == 1
    assert not [token for token in tokens if token.level == 0 and token.type in {"fence", "html_block"}]


def test_a_web_page_holds_nothing_that_runs_or_asks_for_anything(database: Database) -> None:
    conversation = talk(
        database, (HOSTILE, f'{HOSTILE}\n\n```x" onclick="alert(1)\n{HOSTILE}\n```\n\n| a |\n|---|\n| b |')
    )
    update_conversation(
        database=database,
        user_email=EMAIL,
        conversation_id=conversation.conversation_id,
        changes={"title": "</title><script>alert(1)</script>"},
    )
    page = text_of(exported(database, conversation, "html"))
    tags = Tags(page).found
    assert not {tag for tag, _ in tags} & {"script", "img", "svg", "iframe", "object", "link", "base", "form"}
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on") or name == "style"]
    links = [attributes["href"] for tag, attributes in tags if tag == "a"]
    assert links
    assert all(re.match("(https?:|#)", link or "") for link in links), links
    assert "default-src 'none'" in str(tags)
    assert "prefers-color-scheme: dark" in page
    assert ("td", {}) in tags


def test_a_table_of_short_rows_stays_about_as_long_as_it_is_written(database: Database) -> None:
    columns = rows = 250
    table = f"|{'a|' * columns}\n|{'-|' * columns}\n" + "b|\n" * rows
    page = text_of(exported(database, talk(database, ("Hello", table)), "html"))
    assert len(page) < 30_000
    assert page.count(f'<td>b</td>\n<td colspan="{columns - 1}"></td>') == rows


@pytest.mark.contract
def test_json_holds_what_bringing_it_in_takes(database: Database) -> None:
    conversation = talk(database, ("How much?", "A litre."), ("Really?", "Yes."))
    edit_message(**where(database, conversation, 2), text="Two litres.")
    delete_message(**where(database, conversation, 3))
    whole = json.loads(text_of(exported(database, conversation, "json")))
    assert (whole["schema"], whole["count"]) == (1, 3)
    assert whole["conversation"]["title"] == "Tomatoes"
    assert whole["conversation"]["conversation_friendly_id"].startswith("tomatoes_")
    told, listed = whole["activities"], conversation.get_message_list()
    for name, key in (
        ("id", "message_id"),
        ("content", "text"),
        ("short_id", "short_id"),
        ("created_at", "created_at"),
    ):
        assert [each[name] for each in told] == [message[key] for message in listed], name
    for name in ("message_short_hash", "sender", "status"):
        assert [each["message"][name] for each in told] == [message[name] for message in listed], name
    assert [each["position"] for each in told] == [1, 2, 3]
    assert [edit["text"] for edit in told[1]["message"]["edits"]] == ["A litre."]
    assert told[1]["message"]["in_answer_to"] == told[0]["id"]


@pytest.mark.parametrize("fmt", ["markdown", "html", "json", "bundle"])
def test_what_is_not_kept_gets_into_no_file(database: Database, fmt: str, tmp_path: Path) -> None:
    conversation = talk(database, ("How much?", "A litre."))
    conversation.set_field("stateless", True)
    with conversation.reply({"messageText": "My secret is parsley."}):
        if fmt == "bundle":
            folder = conversation.save_local(tmp_path / "out")
            content = b"".join(path.read_bytes() for path in folder.rglob("*-messages.json"))
        else:
            content = b"".join(exported(database, conversation, fmt).chunks)
    assert b"A litre." in content
    assert b"parsley" not in content


def test_nobody_else_gets_anything(database: Database) -> None:
    conversation = talk(database, ("How much?", "A litre."))
    for fmt in ("markdown", "html", "json"):
        with pytest.raises(ConversationNotFoundError):
            exported(database, conversation, fmt, email="eve@example.com")


def test_a_conversation_four_times_as_long_takes_a_few_reads_more(database: Database) -> None:
    short, long = (talk(database, *[(f"question {n}", f"answer {n}") for n in range(turns)]) for turns in (50, 300))
    for fmt in ("markdown", "html", "json"):
        with statements() as few:
            text_of(exported(database, short, fmt))
        with statements() as more:
            text = text_of(exported(database, long, fmt))
        assert text.index("question 0") < text.index("answer 299")
        assert len(more) <= len(few) + 6, fmt


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Bröd & butter", "Bröd & butter.md"),
        ("../../etc/passwd", "etc passwd.md"),
        ("a\r\nSet-Cookie: x=1", "a Set-Cookie x=1.md"),
        ("photo\u202egnp.exe", "photo gnp.exe.md"),
        ('C:\\temp\\"x"', "C temp x.md"),
        ("con", "conversation con.md"),
        ("...", "conversation.md"),
        ("\x00\u2066", "conversation.md"),
        ("x" * 300, f"{'x' * 80}.md"),
    ],
)
def test_a_file_is_called_after_its_title_and_leads_nowhere(title: str, name: str) -> None:
    assert file_name(title, "md") == name


def recipes() -> RecipeRegistry:
    return RecipeRegistry([*BUILT_IN, CastleDefense()])


def posted(database: Database, conversation: Conversation, type_name: str, payload: dict[str, Any], **more: Any) -> str:
    """Store an activity that is no message; its short id."""
    own = {"user_email": EMAIL, "conversation_id": conversation.conversation_id}
    return store(database, **own, type_name=type_name, payload=payload, **more).short_id


def exporting(database: Database, **filters: Any) -> str:
    return text_of(export(EMAIL, database=database, recipes=recipes(), **filters))


def entries_of(text: str) -> list[str]:
    return re.findall(r"^ *↳* ?\*\*\[#(\w+)\]", text, re.M)


def said(conversation: Conversation, text: str, answer: str, **query: Any) -> tuple[str, str]:
    """Short ids of a question and its answer."""
    conversation.persist_current_turn(text, answer, {"model": "a-model"}, **query)
    question, answered = conversation.get_message_list()[-2:]
    return question["short_id"], answered["short_id"]


@dataclass
class Game:
    """A discussion that becomes a game: short ids of what happened, in order."""

    conversation: Conversation
    question: str
    answer: str
    action: str
    event: str
    feedback: str
    change: str
    thread_id: str


@pytest.fixture
def game(database: Database) -> Game:
    conversation = talk(database, ("Should we add tower upgrades?", "Yes.\n- Basic Tower"), title="Castle")
    question, answer = (message["short_id"] for message in conversation.get_message_list())
    own = {"database": database, "conversation": conversation}
    action = posted(**own, type_name="game_action", payload={"type": "spawn_ui", "x": "```"}, reply_to=question)
    event = posted(
        **own,
        type_name="system_event",
        payload={"type": "ui_spawned", "description": "Menu created"},
        reply_to=action,
        actor=("system", ""),
    )
    thread_id = conversation.get_message_list()[0]["thread_id"]
    player = {"actor": ("agent", "Player"), "type_name": "chat_message"}
    feedback = posted(**own, **player, payload={"text": "Too high"}, reply_to=event)
    changes = [{"field": "basic", "old": 100, "new": 50}, {"field": "elite", "old": 500, "new": 250}]
    change = posted(
        **own,
        type_name="player_state_change",
        payload={"type": "costs_adjusted", "changes": changes},
        reply_to=feedback,
    )
    return Game(conversation, question, answer, action, event, feedback, change, thread_id)


@pytest.mark.contract
def test_a_thread_nests_replies_of_all_domains_two_spaces_once_and_then_by_arrows(
    database: Database, game: Game
) -> None:
    text = exporting(database, thread=game.thread_id)
    assert text.startswith("# Conversation: Castle\n")
    assert "\n## Thread: Should we add tower upgrades\n" in text
    assert entries_of(text) == [game.question, game.action, game.event, game.feedback, game.change]
    time = r"\(2025-11-12 16:10:00\)"
    action = rf"^  \*\*\[#{game.action}\] 🎮 spawn\\_ui\*\* {time} \*by GameDesigner AI, reply to #{game.question}\*$"
    assert re.search(action, text, re.M)
    assert re.search(rf"^  ↳ \*\*\[#{game.event}\] 🔔 ui\\_spawned\*\* {time} \*reply to #{game.action}\*$", text, re.M)
    assert re.search(rf"^  ↳↳ \*\*\[#{game.feedback}\] Player\*\* {time} \*reply to #{game.event}\*$", text, re.M)
    assert "\n  > Menu created\n" in text
    assert "\n  > basic: 100 → 50\n  > elite: 500 → 250\n" in text
    assert "\n  ````json\n  {" in text
    assert text.endswith("\nMessages: 1, other activities: 4\n")
    page = exporting(database, thread=game.thread_id, fmt="html")
    assert page.count('<div class="replies">') == page.count("</div>") == 4
    assert "🎮 spawn_ui" in page
    assert len(links_within(page)) == 4


def links_within(page: str) -> list[str]:
    """The places that a page links to within itself; each is there once."""
    places = re.findall(r' href="#([^"]+)"', page)
    assert all(page.count(f' id="{place}"') == 1 for place in places)
    return places


@pytest.mark.contract
def test_a_page_links_only_to_replies_that_it_holds(database: Database, game: Game) -> None:
    page = exporting(database, thread=game.thread_id, fmt="html", after=f"#{game.event}")
    assert f"<i>reply to #{game.action}</i>" in page
    assert len(links_within(page)) == 2
    alone = exporting(database, room=game.conversation.conversation_id, fmt="html", include=("events",))
    assert f"<i>reply to #{game.action}</i>" in alone or "Menu created" not in alone
    assert links_within(alone) == []


@pytest.mark.contract
def test_a_recipe_has_a_section_for_each_run_of_a_kind_in_order_of_time(database: Database, game: Game) -> None:
    late = posted(
        database, game.conversation, "game_action", {"type": "upgrade"}, reply_to=game.change, actor=("user", EMAIL)
    )
    text = exporting(database, recipe=CastleDefense.domain, thread=game.thread_id)
    assert text.startswith(f"# Castle Defense Game Session (Thread: {game.thread_id})\n")
    assert re.findall(r"^## (.*)$", text, re.M) == [
        "Game Actions",
        "System Events",
        "Chat Discussion",
        "State Changes",
        "Game Actions (continued)",
    ]
    assert entries_of(text) == [game.action, game.event, game.feedback, game.change, late]
    assert "↳" not in text
    everything = exporting(database, recipe=CastleDefense.domain)
    assert everything.startswith("# Castle Defense Game Session\n")
    assert entries_of(everything) == entries_of(text)


@pytest.mark.contract
def test_a_room_alone_gives_its_messages_and_filters_narrow_before_the_limit(database: Database, game: Game) -> None:
    room = game.conversation.conversation_id
    assert entries_of(exporting(database, room=room)) == [game.question, game.answer]
    everything = [game.question, game.action, game.event, game.feedback, game.change, game.answer]
    assert entries_of(exporting(database, room=room, include=INCLUDED)) == everything
    assert entries_of(exporting(database, room=room, include=["other"])) == everything[1:-1]
    assert entries_of(exporting(database, room=room, thread=game.thread_id, include=["chat"])) == [game.question]
    assert entries_of(exporting(database, room=room, limit=1)) == [game.answer]
    assert entries_of(exporting(database, thread=game.thread_id, limit=2)) == [game.feedback, game.change]
    assert entries_of(exporting(database, room="Castle", recipe="tools")) == []
    assert exporting(database, room="Castle", recipe="tools").endswith("Messages: 0\n")


@pytest.mark.contract
def test_a_limit_that_leaves_nothing_out_gives_the_same_file(database: Database, game: Game) -> None:
    which: dict[str, Any] = {"room": game.conversation.conversation_id, "include": INCLUDED, "fmt": "json"}
    whole, unlimited, cut = (
        json.loads(exporting(database, **which, **more)) for more in ({"limit": 50}, {}, {"limit": 1})
    )
    assert {**whole, "exported_at": ""} == {**unlimited, "exported_at": ""}
    assert whole["conversation"].keys() > cut["conversation"].keys()  # what only a whole one has, such as its summary


@pytest.mark.contract
def test_what_followed_an_activity_comes_with_it(database: Database, game: Game) -> None:
    room = game.conversation.conversation_id
    said(game.conversation, "And now?", "Play.")
    answer_id = game.conversation.get_message_list()[1]["message_id"]
    for after in (game.answer, f"#{game.answer.upper()}", answer_id, answer_id.replace("-", "")):
        text = exporting(database, room=room, after=after, limit=1)
        assert entries_of(text) == [game.answer, game.conversation.get_message_list()[2]["short_id"]]
    # The anchor is printed whatever its kind.
    assert entries_of(exporting(database, room=room, after=game.change))[0] == game.change
    for wrong in ("#ffffff", "", "x" * 5_000):
        with pytest.raises(ActivityNotFoundError):
            exporting(database, room=room, after=wrong)
    other = talk(database, ("Elsewhere?", "Yes."))
    with pytest.raises(ActivityNotFoundError):
        exporting(database, room=other.conversation_id, after=game.answer)


@pytest.mark.contract
def test_a_moved_message_is_exported_in_its_new_place(database: Database, game: Game) -> None:
    room, messages = game.conversation.conversation_id, game.conversation.get_message_list()
    move_messages(
        database=database,
        user_email=EMAIL,
        conversation_id=room,
        message_ids=[messages[1]["message_id"]],
        direction="up",
    )
    assert entries_of(exporting(database, room=room)) == [game.answer, game.question]


@pytest.mark.contract
def test_json_nests_replies_and_counts_those_of_a_thread(database: Database, game: Game) -> None:
    whole = json.loads(exporting(database, thread=game.thread_id, fmt="json"))
    (root,) = whole["activities"]
    assert (root["short_id"], root["content"], root["actor"]["type"]) == (
        game.question,
        "Should we add tower upgrades?",
        "user",
    )
    assert root["thread_metadata"] == {
        "reply_count": 4,
        "last_reply_at": "2025-11-12T16:10:00.000000Z",
        "participant_ids": [EMAIL, "GameDesigner AI", "", "Player"],
    }
    chain = []
    below: dict[str, Any] = root
    while below["replies"]:
        (below,) = below["replies"]
        chain.append((below["short_id"], below["type"], below["recipe"]))
    assert [short_id for short_id, _, _ in chain] == [game.action, game.event, game.feedback, game.change]
    assert chain[0][1:] == ("game_action", "castle-defense-game")
    assert whole["thread"]["thread_id"] == game.thread_id
    assert whole["count"] == 5


def test_a_thread_that_goes_deeper_than_programs_read_is_cut_off_and_whole(database: Database, game: Game) -> None:
    parent = game.change
    for _ in range(120):
        parent = posted(database, game.conversation, "game_action", {"type": "step"}, reply_to=parent)
    whole = json.loads(exporting(database, thread=game.thread_id, fmt="json"))
    assert whole["count"] == len(entries_of(exporting(database, thread=game.thread_id))) == 125


def test_a_deleted_parent_and_a_recipe_that_is_gone_are_still_told(database: Database, game: Game) -> None:
    delete_message(**where(database, game.conversation, 1))
    text = text_of(export(EMAIL, database=database, recipes=RecipeRegistry(BUILT_IN), thread=game.thread_id))
    assert "*by GameDesigner AI, reply to (deleted)*" in text
    assert f"**[#{game.action}] ❓" in text
    assert entries_of(text) == [game.action, game.event, game.feedback, game.change]


def test_a_room_is_found_by_each_of_its_names_and_the_nearest_are_told(database: Database, game: Game) -> None:
    room = game.conversation
    friendly_id = room.get_metadata()["conversation_friendly_id"]
    for name in (room.conversation_id, friendly_id, f"@conversation_{friendly_id}", "Castle"):
        assert entries_of(exporting(database, room=name)) == [game.question, game.answer]
    with pytest.raises(RoomNotFoundError, match=f"The nearest: “Castle” .{friendly_id}."):
        exporting(database, room="Cassle")
    twin = talk(database, ("Hello", "Hi."), title="Castle")
    with pytest.raises(AmbiguousReferenceError) as refused:
        exporting(database, room="Castle")
    assert sorted(refused.value.details["candidates"]) == sorted([room.conversation_id, twin.conversation_id])


def test_of_many_rooms_of_one_title_some_are_told_and_all_are_candidates(database: Database) -> None:
    for _ in range(12):
        talk(database, ("Hello", "Hi."), title="Castle")
    told = r"^[^,]*(, [^,]*){9} … \(12 in all, the newest first\)\.$"
    with pytest.raises(AmbiguousReferenceError, match=told) as refused:
        exporting(database, room="Castle")
    assert len(refused.value.details["candidates"]) == 12


def test_what_names_nothing_is_refused(database: Database, game: Game) -> None:
    for filters, error in (
        ({}, InvalidChangeError),
        ({"thread": "thread-001"}, ThreadNotFoundError),
        ({"recipe": "castle"}, RecipeNotFoundError),
        ({"room": "nowhere"}, ConversationNotFoundError),
    ):
        with pytest.raises(error):
            exporting(database, **filters)
    for filters in ({"thread": game.thread_id}, {"room": game.conversation.conversation_id}):
        with pytest.raises(NotFoundError):
            text_of(export("eve@example.com", database=database, recipes=recipes(), **filters))
    assert "Messages: 0" in text_of(
        export("eve@example.com", database=database, recipes=recipes(), recipe=CastleDefense.domain)
    )


@pytest.mark.parametrize("typed", [True, False])
def test_pages_that_are_made_at_the_same_time_say_the_same(typed: bool) -> None:
    words = "Hello **world**\n\n* one\n* two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    expected = _Renderer(breaks=typed).render(words)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as threads:
            for _ in range(200):
                shared = _Renderer(breaks=typed)
                assert list(threads.map(shared.render, [words] * 3)) == [expected] * 3
    finally:
        sys.setswitchinterval(interval)
