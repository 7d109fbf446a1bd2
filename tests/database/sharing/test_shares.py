"""Snapshots of conversations behind links: what they hold, whose they are, when they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, select, update

from database.accounts.users import create_user
from database.conversations import repository as conversations
from database.conversations.deletion import erase_binned
from database.conversations.repository import create_temporary_conversation
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import ConflictError, ConversationNotFoundError, NotShareableError, ShareNotFoundError
from database.history.editing import delete_message, edit_message, show_or_hide_message
from database.schema import messages, share_pages, users
from database.schema import shares as table
from database.sharing import shares
from database.sharing.copying import clone_conversation
from database.sharing.snapshots import SharedMessage
from database.turns.identity import FinishedTurn
from database.turns.turns import accept_turn, finish_turn
from database.turns.variants import accept_again
from tests.stores import restarted

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"
KEY = {"secret_key": "the key of this server"}


class Owner:
    """Ann, and what she does with one conversation."""

    def __init__(self, database: Database, take_turn: Callable[..., FinishedTurn]) -> None:
        self.database = database
        self._take_turn = take_turn
        self.conversation_id = conversations.create_conversation(
            database=database, user_email=ANN, domain="assistant"
        ).conversation_id

    @property
    def own(self) -> dict[str, str]:
        return {"database": self.database, "user_email": ANN, "conversation_id": self.conversation_id}

    def say(self, text: str, answer: str) -> FinishedTurn:
        return self._take_turn(ANN, self.conversation_id, text=text, answer=answer)

    def share(self, **key: str) -> shares.Share:
        return shares.share_conversation(**self.own, **(key or KEY))

    def read(self, token: str | None, **window: int) -> shares.SharedPage:
        assert token is not None
        return shares.read_share(database=self.database, token=token, **window)

    def read_all(self, token: str | None) -> list[SharedMessage]:
        found: list[SharedMessage] = []
        after: int | None = 0
        while after is not None:
            page = self.read(token, after=after)
            found += page.messages
            after = page.next
        return found

    def rows(self) -> int:
        """How many rows all shares take, their pages included."""
        with self.database.reading() as connection:
            return sum(
                connection.execute(select(func.count()).select_from(each)).scalar_one() for each in (table, share_pages)
            )


@pytest.fixture
def owner(database: Database, take_turn: Callable[..., FinishedTurn]) -> Owner:
    return Owner(database, take_turn)


def test_a_snapshot_stays_as_it_was_until_it_is_made_again_under_the_same_link(owner: Owner) -> None:
    turn = owner.say("How much water?", "A litre a day.")
    first = owner.share()
    edit_message(**owner.own, message_id=turn.response_message_id, index=2, text="Two litres.")
    owner.say("And light?", "Six hours.")
    conversations.update_conversation(**owner.own, changes={"title": "Tomatoes"})

    assert [message["text"] for message in owner.read_all(first.token)] == ["How much water?", "A litre a day."]
    assert owner.read(first.token).title == "Greeting"

    second = owner.share()
    assert second.token == first.token
    assert second.created_at > first.created_at
    page = owner.read(first.token)
    assert (page.title, page.created_at, page.message_count) == ("Tomatoes", second.created_at, 4)
    assert [message["text"] for message in page.messages] == [
        "How much water?",
        "Two litres.",
        "And light?",
        "Six hours.",
    ]
    assert owner.rows() == 2


def test_a_message_tells_who_said_it_when_and_nothing_else(owner: Owner) -> None:
    accepted = accept_turn(**owner.own, text="How much water?", config={"memories": ["secret"], "model": "asked-for"})
    finish_turn(
        **owner.own,
        response_message_id=accepted.response_message_id,
        text="A litre.",
        status="complete",
        config={"model": "gpt-9", "memories": [{"claim_id": "1"}], "error": None},
        title="Water",
    )
    question, answer = owner.read_all(owner.share().token)
    assert {"message_index", "message_short_hash", "sender", "model", "text", "created_at"} == set(answer)
    assert (question["sender"], question["model"], question["message_index"]) == ("user", None, 1)
    assert (answer["sender"], answer["model"], answer["message_index"]) == ("model", "gpt-9", 2)
    assert len(answer["message_short_hash"] or "") == 6


def test_hidden_deleted_empty_and_unfinished_messages_are_left_out(owner: Owner) -> None:
    hidden, gone = owner.say("Hidden", "Kept"), owner.say("Gone", "")
    show_or_hide_message(**owner.own, message_id=hidden.user_message_id, index=1, show_hide="hide")
    delete_message(**owner.own, message_id=gone.user_message_id, index=3)
    accept_turn(**owner.own, text="Asked", config={})
    preview = shares.preview_share(**owner.own, **KEY)
    assert (preview.share, preview.message_count, preview.hidden_count) == (None, 2, 1)
    found = owner.read_all(owner.share().token)
    assert [(message["message_index"], message["text"]) for message in found] == [(1, "Kept"), (2, "Asked")]


def test_a_question_that_is_not_kept_is_not_shared_while_it_is_being_answered(owner: Owner) -> None:
    owner.say("How much water?", "A litre a day.")
    conversations.update_conversation(**owner.own, changes={"stateless": True})
    accept_turn(**owner.own, text="And between us?", config={}, reply_to=None, thread_id=None)
    share = owner.share()
    assert [message["text"] for message in owner.read_all(share.token)] == ["How much water?", "A litre a day."]
    preview = shares.preview_share(**owner.own, **KEY)
    assert (preview.message_count, preview.hidden_count) == (2, 0)


def test_of_an_answer_that_is_being_made_again_the_one_before_is_shown(owner: Owner) -> None:
    turn = owner.say("How much water?", "A litre.")
    accept_again(**owner.own, message_id=turn.response_message_id, model_name="other")
    assert [message["text"] for message in owner.read_all(owner.share().token)] == ["How much water?", "A litre."]


def test_a_long_conversation_is_read_in_pages_that_are_bounded(owner: Owner, statements: Any) -> None:
    for number in range(30):
        owner.say(f"Question {number}", "x" * (100_000 if number < 3 else 10))
    token = owner.share().token
    texts = [message["text"] for message in owner.read_all(token)]
    assert (len(texts), texts[0], texts[-2]) == (60, "Question 0", "Question 29")
    # The second hundred thousand fits into a part beside the first, the third does not.
    assert [len(owner.read(token, after=after).messages) for after in (0, 5, 54, 55)] == [5, 50, 1, 5]
    page = owner.read(token, after=57, limit=2)
    assert [message["message_index"] for message in page.messages] == [58, 59]
    assert page.next == 59
    assert owner.read(token, after=59, limit=2).next is None
    assert (owner.read(token, after=60).messages, owner.read(token, after=2**53).next) == ([], None)
    with statements() as seen:
        owner.read(token, after=30)
    assert len(seen) == 2


def test_a_link_ends_when_it_is_withdrawn_and_the_next_is_another(owner: Owner) -> None:
    owner.say("How much water?", "A litre.")
    token = owner.share().token
    shares.revoke_share(**owner.own)
    assert owner.rows() == 0
    with pytest.raises(ShareNotFoundError):
        owner.read(token)
    with pytest.raises(ShareNotFoundError):
        shares.revoke_share(**owner.own)
    assert owner.share().token != token
    with pytest.raises(ShareNotFoundError):
        owner.read(token)


def test_the_bin_suspends_a_link_and_erasing_ends_it(owner: Owner, statements: Any) -> None:
    for _ in range(5):
        owner.say("x" * 150_000, "y" * 150_000)
    token = owner.share().token
    conversations.delete_conversation(**owner.own)
    with pytest.raises(ShareNotFoundError):
        owner.read(token)
    (listed,) = shares.list_shares(database=owner.database, user_email=ANN, **KEY)
    assert listed.in_bin
    conversations.restore_conversation(**owner.own)
    assert len(owner.read_all(token)) == 10
    conversations.delete_conversation(**owner.own)
    with statements() as seen:
        erase_binned(**owner.own)
    assert owner.rows() == 0
    # In slices of eight, and once more to see that nothing is left.
    assert len([statement for statement in seen if statement.startswith("DELETE FROM share_pages")]) == 3


def test_a_link_can_be_withdrawn_in_the_bin(owner: Owner) -> None:
    owner.say("How much water?", "A litre.")
    token = owner.share().token
    conversations.delete_conversation(**owner.own)
    shares.revoke_share(**owner.own)
    conversations.restore_conversation(**owner.own)
    with pytest.raises(ShareNotFoundError):
        owner.read(token)


def test_the_links_of_a_disabled_account_lead_nowhere(owner: Owner) -> None:
    create_user(database=owner.database, user_email=ANN, password="a good long one")
    owner.say("How much water?", "A litre.")
    token = owner.share().token
    assert len(owner.read_all(token)) == 2
    disable = update(users).where(users.c.user_email == ANN).values(disabled_at=now_iso())
    owner.database.write(lambda connection: connection.execute(disable).rowcount)
    with pytest.raises(ShareNotFoundError):
        owner.read(token)


def test_what_does_not_last_and_what_says_nothing_is_not_shared(
    owner: Owner, take_turn: Callable[..., FinishedTurn]
) -> None:
    with pytest.raises(NotShareableError, match="no finished message"):
        owner.share()
    temporary = create_temporary_conversation(database=owner.database, user_email=ANN, domain="assistant")
    take_turn(ANN, temporary.conversation_id)
    with pytest.raises(NotShareableError, match="temporary"):
        shares.share_conversation(**{**owner.own, "conversation_id": temporary.conversation_id}, **KEY)
    assert owner.rows() == 0


def test_a_clone_is_not_shared(owner: Owner) -> None:
    owner.say("How much water?", "A litre.")
    owner.share()
    copy = clone_conversation(**owner.own)
    preview = shares.preview_share(**{**owner.own, "conversation_id": copy.conversation_id}, **KEY)
    assert preview.share is None
    assert len(shares.list_shares(database=owner.database, user_email=ANN, **KEY)) == 1


def test_nobody_shares_sees_or_withdraws_what_is_somebody_elses(owner: Owner) -> None:
    owner.say("How much water?", "A litre.")
    token = owner.share().token
    theirs = {**owner.own, "user_email": BEN}
    for forbidden in (
        lambda: shares.share_conversation(**theirs, **KEY),
        lambda: shares.preview_share(**theirs, **KEY),
        lambda: shares.revoke_share(**theirs),
    ):
        with pytest.raises(ConversationNotFoundError):
            forbidden()
    assert shares.list_shares(database=owner.database, user_email=BEN, **KEY) == []
    assert len(owner.read_all(token)) == 2


def test_the_database_alone_opens_no_link_and_the_key_shows_it_again(owner: Owner) -> None:
    owner.say("How much water?", "A litre.")
    token = owner.share().token
    assert token is not None
    assert len(token) == 43
    owner.database = restarted(owner.database)
    assert (
        shares.preview_share(**owner.own, **KEY).share
        == shares.list_shares(database=owner.database, user_email=ANN, **KEY)[0]
    )
    with owner.database.reading() as connection:
        stored = str(connection.execute(select(table)).all())
        names = connection.execute(select(table.c.token_hash)).scalars().all()
    assert token not in stored
    for name in (*names, "", "%", token[:-1], token.lower()):
        with pytest.raises(ShareNotFoundError):
            owner.read(name)


def test_with_another_key_a_link_works_and_is_told_no_more_until_it_is_made_again(owner: Owner) -> None:
    owner.say("How much water?", "A litre.")
    token = owner.share().token
    (listed,) = shares.list_shares(database=owner.database, user_email=ANN, secret_key="another key")
    assert listed.token is None
    assert len(owner.read_all(token)) == 2
    renewed = owner.share(secret_key="another key").token
    assert len(owner.read_all(renewed)) == 2
    with pytest.raises(ShareNotFoundError):
        owner.read(token)


def test_a_snapshot_that_loses_its_parts_before_it_is_shown_is_refused(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner.say("How much water?", "A litre.")
    token = owner.share().token
    written = Database.write

    def withdrawn_meanwhile(store: Database, job: Any, **more: Any) -> Any:
        done = written(store, job, **more)
        written(store, lambda connection: connection.execute(delete(table)).rowcount)
        written(store, lambda connection: connection.execute(delete(share_pages)).rowcount)
        return done

    monkeypatch.setattr(Database, "write", withdrawn_meanwhile)
    with pytest.raises(ConflictError, match="Try again"):
        owner.share()
    monkeypatch.undo()
    assert owner.rows() == 0
    with pytest.raises(ShareNotFoundError):
        owner.read(token)


def test_shared_twice_at_once_both_succeed_and_the_later_snapshot_stands(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner.say("How much water?", "A litre.")
    written, others = Database.write, list[shares.Share]()

    def shared_meanwhile(store: Database, job: Any, **more: Any) -> Any:
        done = written(store, job, **more)
        if not others:
            monkeypatch.undo()
            others.append(owner.share())
            owner.say("And light?", "Six hours.")
        return done

    monkeypatch.setattr(Database, "write", shared_meanwhile)
    made = owner.share()
    assert (made.token, made.message_count, others[0].message_count) == (others[0].token, 4, 2)
    assert [message["text"] for message in owner.read_all(made.token)][2:] == ["And light?", "Six hours."]
    assert owner.rows() == 2


def test_what_a_crash_left_is_thrown_away_by_the_next_snapshot(owner: Owner) -> None:
    owner.say("How much water?", "A litre.")
    left = [
        {
            "snapshot_id": "0" * 32,
            "first_message": start,
            "conversation_id": owner.conversation_id,
            "messages": [],
        }
        for start in range(1, 20)
    ]
    owner.database.write(lambda connection: connection.execute(insert(share_pages), left).rowcount)
    assert shares.list_shares(database=owner.database, user_email=ANN, **KEY) == []
    owner.share()
    assert owner.rows() == 2


@pytest.mark.parametrize("change", [{"show_hide": "hide"}, {"deleted_at": "2026-01-01T00:00:00Z"}, {"text": ""}])
def test_a_message_that_is_hidden_deleted_or_emptied_while_the_snapshot_is_made_is_not_in_it(
    change: dict[str, str], owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        owner.say(f"Question {number}", "Answer")
    written = Database.write

    def changed_meanwhile(store: Database, job: Any, **more: Any) -> Any:
        statement = update(messages).where(messages.c.text == "Question 29").values(**change)
        written(store, lambda connection: connection.execute(statement).rowcount)
        return written(store, job, **more)

    monkeypatch.setattr(Database, "write", changed_meanwhile)
    texts = [message["text"] for message in owner.read_all(owner.share().token)]
    assert (len(texts), texts[-2:]) == (59, ["Answer", "Answer"])
