"""One conversation as a file: whole, readable, harmless, in a few reads however long it is."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from sqlalchemy import Engine, event

from Conversation import Conversation
from database.connection import close_store, open_store
from database.conversations.repository import create_conversation, update_conversation
from database.engine.database import Database
from database.errors import ConversationNotFoundError
from database.messages.editing import delete_message, edit_message, show_or_hide_message
from portability.exports import Export, export_conversation, file_name

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
    return export_conversation(
        database=database,
        user_email=email,
        conversation_id=conversation.conversation_id,
        fmt=fmt,
        save=conversation.save_local,
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
    assert f"**[#{messages[0]['short_id']}] You** ({time})\n\n> How much *water*?\n" in text
    assert "a-model" in text
    assert "> A litre.\n>\n> Or two.\n" in text
    assert f"**[#{messages[2]['short_id']}] You** ({time[:10]}" in text
    assert re.search(r"\*hidden\*\n\n> Really\?", text)
    assert text.endswith("\nMessages: 4\n")


def test_an_empty_conversation_is_a_valid_file_in_each_form(database: Database) -> None:
    conversation = talk(database)
    assert "Messages: 0" in text_of(exported(database, conversation, "markdown"))
    assert json.loads(text_of(exported(database, conversation, "json")))["messages"] == []
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


@pytest.mark.contract
def test_json_holds_what_bringing_it_in_takes(database: Database) -> None:
    conversation = talk(database, ("How much?", "A litre."), ("Really?", "Yes."))
    edit_message(**where(database, conversation, 2), text="Two litres.")
    delete_message(**where(database, conversation, 3))
    whole = json.loads(text_of(exported(database, conversation, "json")))
    assert (whole["format"], whole["version"]) == ("anaphora-export", 1)
    assert whole["conversation"]["title"] == "Tomatoes"
    assert whole["conversation"]["conversation_friendly_id"].startswith("tomatoes_")
    listed = conversation.get_message_list()
    for name in ("message_id", "message_short_hash", "message_index", "text", "sender", "short_id", "created_at"):
        assert [message[name] for message in whole["messages"]] == [message[name] for message in listed], name
    assert [edit["text"] for edit in whole["messages"][1]["edits"]] == ["A litre."]
    assert whole["messages"][1]["in_answer_to"] == whole["messages"][0]["message_id"]


@pytest.mark.contract
def test_a_bundle_is_one_that_opens_again(database: Database, tmp_path: Path) -> None:
    conversation = talk(database, ("How much?", "A litre."))
    export = exported(database, conversation, "bundle")
    assert (export.name, export.media) == ("Tomatoes.zip", "application/zip")
    with zipfile.ZipFile(io.BytesIO(b"".join(export.chunks))) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "out")
    again = Conversation.load_local(tmp_path / "out" / conversation.conversation_id)
    assert [message["text"] for message in again.get_message_list()] == ["How much?", "A litre."]


@pytest.mark.parametrize("fmt", ["markdown", "html", "json", "bundle"])
def test_what_is_not_kept_gets_into_no_file(database: Database, fmt: str, tmp_path: Path) -> None:
    conversation = talk(database, ("How much?", "A litre."))
    conversation.set_field("stateless", True)
    with conversation.reply({"messageText": "My secret is parsley."}):
        content = b"".join(exported(database, conversation, fmt).chunks)
    if fmt == "bundle":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(tmp_path / "out")
        content = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*-messages.json"))
    assert b"A litre." in content
    assert b"parsley" not in content


def test_nobody_else_gets_anything(database: Database) -> None:
    conversation = talk(database, ("How much?", "A litre."))
    for fmt in ("markdown", "html", "json", "bundle"):
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
