"""Questions that are asked again: branches, the active path, and whatever has to follow it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sqlalchemy import update

from database.connection import close_store, open_store
from database.conversations.repository import create_conversation, get_conversation
from database.engine.database import Database
from database.engine.errors import BranchNotFoundError, InvalidChangeError, MessageNotFoundError, TurnInProgressError
from database.history import branches, editing, reading
from database.history.references import backlinks, store_report
from database.maintenance.verification import verify_store
from database.messages.branch_tree import BranchTree, Fork
from database.messages.message import message_shape
from database.schema import messages as message_table
from database.sharing.copying import clone_conversation, fork_conversation
from database.turns.identity import AcceptedTurn
from database.turns.turns import accept_turn, finish_turn
from database.turns.variants import accept_again
from search.messages import search_conversation
from tests.stores import put_empty_store
from tests.tiers import examples

pytestmark = pytest.mark.contract

ANN = "ann@example.org"
Own = dict[str, Any]


def say(own: Own, text: str, *, instead_of: str | None = None) -> AcceptedTurn:
    """A whole turn; its answer is the question in capitals."""
    turn = accept_turn(**own, text=text, config={}, instead_of=instead_of)
    answer = {"response_message_id": turn.response_message_id, "text": text.upper(), "status": "complete"}
    finish_turn(**own, **answer, config={}, title="Talk")
    return turn


def path(own: Own) -> list[str]:
    return [row.text for row in reading.list_messages(**own)]


def choose(own: Own, message_id: str, number: int) -> None:
    branches.choose_branch(database=own["database"], user_email=ANN, message_id=message_id, number=number)


@pytest.fixture
def own(users_dir: str) -> Own:
    """Where ann's conversation is."""
    database = open_store(users_dir)
    row = create_conversation(database=database, user_email=ANN, domain="assistant")
    return {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}


@pytest.fixture
def turns(own: Own) -> dict[str, AcceptedTurn]:
    """Three turns a, b, c; then b was asked again as x, which is the active branch and went on with y."""
    asked = {text: say(own, text) for text in "abc"}
    asked["x"] = say(own, "x", instead_of=asked["b"].user_message_id)
    asked["y"] = say(own, "y")
    return asked


@pytest.mark.only_sqlite
def test_a_question_asked_again_begins_a_branch_beside_what_followed(own: Own, turns: dict[str, AcceptedTurn]) -> None:
    assert path(own) == ["a", "A", "x", "X", "y", "Y"]
    assert (turns["x"].user_message_index, turns["y"].response_message_index) == (3, 6)
    choose(own, turns["x"].user_message_id, 1)
    assert path(own) == ["a", "A", "b", "B", "c", "C"]
    assert get_conversation(**own).message_count == 6
    say(own, "d")
    assert path(own)[-3:] == ["C", "d", "D"]
    choose(own, turns["b"].user_message_id, 2)
    assert path(own) == ["a", "A", "x", "X", "y", "Y"]
    assert list(verify_store(database=own["database"])) == []


def test_a_branch_remembers_which_way_was_gone_in_it(own: Own, turns: dict[str, AcceptedTurn]) -> None:
    say(own, "z", instead_of=turns["y"].user_message_id)
    choose(own, turns["b"].user_message_id, 1)
    choose(own, turns["b"].user_message_id, 2)
    assert path(own) == ["a", "A", "x", "X", "z", "Z"]


def test_whoever_asks_a_question_of_another_branch_again_goes_there(own: Own, turns: dict[str, AcceptedTurn]) -> None:
    say(own, "w", instead_of=turns["c"].user_message_id)
    assert path(own) == ["a", "A", "b", "B", "w", "W"]
    say(own, "v", instead_of=turns["x"].user_message_id)
    assert path(own) == ["a", "A", "v", "V"]
    shown = [(each["chosen"], [one["preview"] for one in each["branches"]]) for each in branches.list_branches(**own)]
    assert shown == [(3, ["b", "x", "v"]), (2, ["c", "w"])]


def test_a_jump_makes_the_branch_of_a_message_active(own: Own, turns: dict[str, AcceptedTurn]) -> None:
    branches.choose_branch_with(database=own["database"], user_email=ANN, message_id=turns["c"].response_message_id)
    assert path(own) == ["a", "A", "b", "B", "c", "C"]


def test_questions_say_which_of_how_many_they_are(own: Own, turns: dict[str, AcceptedTurn]) -> None:
    shown = [message_shape(row)["branch"] for row in reading.list_messages(**own)]
    assert shown == [None, None, {"number": 2, "count": 2}, None, None, None]
    former = reading.message_by_id(**own, message_id=turns["b"].user_message_id)
    assert former is not None
    assert (former.branch, former.index, message_shape(former)["other_branch"]) == ({"number": 1, "count": 2}, 0, True)


def test_all_branches_are_found_by_words_and_hash_and_count_as_backlinks(
    own: Own, turns: dict[str, AcceptedTurn]
) -> None:
    assert [(row.text, row.index) for row in search_conversation(**own, q="b")] == [("B", 0), ("b", 0)]
    store_report(
        database=own["database"],
        user_email=ANN,
        message_id=turns["c"].user_message_id,
        report=[
            {
                "ref": "@x",
                "kind": "message",
                "status": "resolved",
                "target": {"conversation_id": own["conversation_id"], "message_id": turns["a"].user_message_id},
            }
        ],
    )
    (link,) = backlinks(database=own["database"], user_email=ANN, message_id=turns["a"].user_message_id)
    assert (link["message_id"], link["message_index"]) == (turns["c"].user_message_id, 0)
    assert reading.list_messages(**own)[0].backlink_count == 1


@pytest.mark.only_sqlite
def test_deleting_beside_the_path_changes_no_index(own: Own, turns: dict[str, AcceptedTurn]) -> None:
    for message_id in (turns["b"].user_message_id, turns["c"].response_message_id):
        editing.delete_message(**own, message_id=message_id, index=None)
    assert (path(own), get_conversation(**own).message_count) == (["a", "A", "x", "X", "y", "Y"], 6)
    choose(own, turns["x"].user_message_id, 1)
    assert path(own) == ["a", "A", "B", "c"]
    editing.restore_message(**own, message_id=turns["b"].user_message_id)
    assert path(own) == ["a", "A", "b", "B", "c"]
    assert list(verify_store(database=own["database"])) == []


@pytest.mark.only_sqlite
def test_a_branch_of_which_nothing_is_left_gives_way_to_the_other_one(own: Own, turns: dict[str, AcceptedTurn]) -> None:
    say(own, "z", instead_of=turns["y"].user_message_id)
    gone = [message.message_id for message in reading.list_messages(**own)[:1:-1]]
    for message_id in gone[:2]:
        editing.delete_message(**own, message_id=message_id, index=None)
    assert path(own) == ["a", "A", "x", "X", "y", "Y"]
    choose(own, turns["b"].user_message_id, 2)
    assert [(row.text, row.branch) for row in reading.list_messages(**own)[2:5:2]] == [
        ("x", {"number": 2, "count": 2}),
        ("y", {"number": 1, "count": 1}),
    ]
    for message in reading.list_messages(**own)[:1:-1]:
        editing.delete_message(**own, message_id=message.message_id, index=None)
    assert path(own) == ["a", "A", "b", "B", "c", "C"]
    (place,) = branches.list_branches(**own)
    assert (place["chosen"], [each["preview"] for each in place["branches"]]) == (1, ["b"])
    with pytest.raises(BranchNotFoundError):
        choose(own, turns["b"].user_message_id, 2)
    editing.restore_message(**own, message_id=gone[1])
    assert path(own) == ["a", "A", "z"]
    editing.restore_message(**own, message_id=turns["x"].user_message_id)
    assert path(own) == ["a", "A", "x", "z"]
    assert list(verify_store(database=own["database"])) == []


@pytest.mark.only_sqlite
def test_the_next_message_shows_the_alternatives_to_a_deleted_question(own: Own) -> None:
    first = say(own, "a")
    other = say(own, "b", instead_of=first.user_message_id)
    say(own, "c")
    editing.delete_message(**own, message_id=other.user_message_id, index=None)
    shown = [(row.text, row.branch) for row in reading.list_messages(**own)]
    assert shown == [("B", {"number": 2, "count": 2}), ("c", None), ("C", None)]
    assert [row.branch for row in reading.list_messages(**own, after=1, limit=1)] == [None]
    (place,) = branches.list_branches(**own)
    assert (place["chosen"], [each["preview"] for each in place["branches"]]) == (2, ["a", "B"])
    choose(own, other.response_message_id, 1)
    editing.delete_message(**own, message_id=first.user_message_id, index=None)
    assert [(row.text, row.branch) for row in reading.list_messages(**own)] == [("A", {"number": 1, "count": 2})]
    (place,) = branches.list_branches(**own)
    choose(own, place["message_id"], 2)
    assert path(own) == ["B", "c", "C"]


def test_nothing_moves_over_the_place_where_branches_begin(own: Own, turns: dict[str, AcceptedTurn]) -> None:
    ids = [row.message_id for row in reading.list_messages(**own)]
    for message_id, direction in ((ids[1], "down"), (ids[2], "up"), (ids[2], "down"), (ids[3], "up")):
        editing.move_messages(**own, message_ids=[message_id], direction=direction)  # type: ignore[arg-type]
        assert path(own) == ["a", "A", "x", "X", "y", "Y"]
    editing.move_messages(**own, message_ids=[ids[3]], direction="down")
    assert path(own) == ["a", "A", "x", "y", "X", "Y"]
    choose(own, turns["x"].user_message_id, 1)
    assert path(own) == ["a", "A", "b", "B", "c", "C"]


@pytest.mark.only_sqlite
def test_clones_have_all_branches_and_forks_the_way_to_their_message(own: Own, turns: dict[str, AcceptedTurn]) -> None:
    editing.delete_message(**own, message_id=turns["b"].user_message_id, index=None)
    clone = own | {"conversation_id": clone_conversation(**own).conversation_id}
    assert path(clone) == ["a", "A", "x", "X", "y", "Y"]
    (place,) = branches.list_branches(**clone)
    choose(clone, place["branches"][0]["message_id"], 1)
    assert (path(clone), path(own)) == (["a", "A", "B", "c", "C"], ["a", "A", "x", "X", "y", "Y"])
    fork = own | {"conversation_id": fork_conversation(**own, message_id=turns["c"].user_message_id).conversation_id}
    assert (path(fork), branches.list_branches(**fork)) == (["a", "A", "B", "c"], [])
    assert list(verify_store(database=own["database"])) == []


def test_what_cannot_be_asked_again_changes_nothing(own: Own, turns: dict[str, AcceptedTurn]) -> None:
    with pytest.raises(InvalidChangeError):
        say(own, "n", instead_of=turns["a"].response_message_id)
    with pytest.raises(MessageNotFoundError):
        say(own, "n", instead_of="nothing")
    with pytest.raises(BranchNotFoundError):
        choose(own, turns["b"].user_message_id, 3)
    with pytest.raises(InvalidChangeError):
        accept_again(**own, message_id=turns["b"].response_message_id, model_name="m")
    running = accept_turn(**own, text="r", config={})
    with pytest.raises(TurnInProgressError):
        choose(own, turns["b"].user_message_id, 1)
    with pytest.raises(MessageNotFoundError):
        branches.choose_branch_with(
            database=own["database"], user_email="ben@example.org", message_id=running.user_message_id
        )
    assert path(own) == ["a", "A", "x", "X", "y", "Y", "r", ""]


@pytest.mark.only_sqlite
def test_verify_tells_of_branches_that_are_not_there(own: Own, turns: dict[str, AcceptedTurn]) -> None:
    assert turns
    forget = update(message_table).values(chosen_branch=None)
    own["database"].write(lambda connection: connection.execute(forget))
    assert {finding.rule for finding in verify_store(database=own["database"])} == {"branches"}


def test_a_plain_turn_and_a_plain_list_ask_for_nothing_more(
    own: Own, statements: Callable[[], AbstractContextManager[list[str]]], database_url: str | None
) -> None:
    say(own, "a")
    with statements() as seen:
        say(own, "b")
        reading.list_messages(**own)
    assert not [statement for statement in seen if "chosen_branch IS NOT NULL" in statement]
    numbers = [statement for statement in seen if "nextval" in statement]
    assert len(numbers) == (database_url is not None)
    assert len(seen) - len(numbers) == STATEMENTS_OF_A_PLAIN_TURN + 2


# PostgreSQL is asked for the numbers of rows, too, in the same round trip as what else is asked before accepting.
STATEMENTS_OF_A_PLAIN_TURN = 17


@dataclass
class Said:
    """A turn in the plain model: what was said after it, one of which is chosen."""

    text: str
    before: Said | None = None
    after: list[Said] = field(default_factory=list)
    chosen: int = 0
    message_ids: tuple[str, str] = ("", "")

    def lead_here(self) -> None:
        if self.before is not None:
            self.before.chosen = self.before.after.index(self)
            self.before.lead_here()

    def say(self, text: str) -> Said:
        self.after.append(Said(text, before=self))
        self.after[-1].lead_here()
        return self.after[-1]

    def has_something(self, gone: set[str]) -> bool:
        return not gone.issuperset(self.message_ids) or any(said.has_something(gone) for said in self.after)

    def leave_what_is_gone(self, gone: set[str]) -> None:
        """The path ended here: while nothing is left on it, another one of the alternatives is gone by."""
        if self.before is None or not gone.issuperset(self.message_ids):
            return
        place = self.before.after.index(self)
        left = [n for n, said in enumerate(self.before.after) if n != place and said.has_something(gone)]
        if left:
            self.before.chosen = max((n for n in left if n < place), default=left[0])
        else:
            self.before.leave_what_is_gone(gone)

    def path(self) -> list[Said]:
        return [self, *self.after[self.chosen].path()] if self.after else [self]


class Branching(RuleBasedStateMachine):
    """A conversation with branches must behave as a plain tree of turns does."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.database: Database = open_store(put_empty_store(self.folder.name))
        row = create_conversation(database=self.database, user_email=ANN, domain="assistant")
        self.own = {"database": self.database, "user_email": ANN, "conversation_id": row.conversation_id}
        self.root = Said("")
        self.all: list[Said] = []
        self.gone: set[str] = set()
        self.hashes: dict[str, str | None] = {}

    def teardown(self) -> None:
        close_store(self.folder.name)
        self.folder.cleanup()

    def stored(self, said: Said, *, instead_of: str | None = None) -> None:
        turn = say(self.own, said.text, instead_of=instead_of)
        said.message_ids = (turn.user_message_id, turn.response_message_id)
        self.all.append(said)

    def drawn(self, data: st.DataObject) -> Said | None:
        return data.draw(st.sampled_from(self.all)) if self.all else None

    @rule()
    def turn(self) -> None:
        self.stored(self.root.path()[-1].say(f"t{len(self.all)}"))

    @rule(data=st.data())
    def ask_again(self, data: st.DataObject) -> None:
        former = self.drawn(data)
        if former is not None and former.before is not None and former.message_ids[0] not in self.gone:
            self.stored(former.before.say(f"t{len(self.all)}"), instead_of=former.message_ids[0])

    @rule(data=st.data())
    def choose(self, data: st.DataObject) -> None:
        said = self.drawn(data)
        if said is None or said.before is None or len(said.before.after) < 2 or not said.has_something(self.gone):
            return
        left = [each for each in said.before.after if each.has_something(self.gone)]
        number = data.draw(st.integers(1, len(left)))
        left[number - 1].lead_here()
        choose(self.own, said.message_ids[0], number)

    @rule(data=st.data())
    def jump(self, data: st.DataObject) -> None:
        said = self.drawn(data)
        if said is not None and said.message_ids[1] not in self.gone:
            said.lead_here()
            branches.choose_branch_with(database=self.database, user_email=ANN, message_id=said.message_ids[1])

    @rule(data=st.data(), place=st.integers(0, 1))
    def delete_or_restore(self, data: st.DataObject, place: int) -> None:
        said = self.drawn(data)
        if said is None:
            return
        message_id = said.message_ids[place]
        if message_id in self.gone:
            editing.restore_message(**self.own, message_id=message_id)
            if self.was_left_for_nothing(said):
                said.lead_here()
        else:
            editing.delete_message(**self.own, message_id=message_id, index=None)
        was_on_path = said in self.root.path()
        self.gone ^= {message_id}
        if message_id in self.gone and was_on_path:
            self.root.path()[-1].leave_what_is_gone(self.gone)

    def was_left_for_nothing(self, said: Said) -> bool:
        way: list[Said] = []
        while said.before is not None:
            way.append(said)
            said = said.before
        return any(
            each.before is not None
            and each.before.after[each.before.chosen] is not each
            and not each.has_something(self.gone)
            for each in way
        )

    @rule()
    def clone(self) -> None:
        copy = self.own | {"conversation_id": clone_conversation(**self.own).conversation_id}
        assert path(copy) == path(self.own)
        assert [len(each["branches"]) for each in branches.list_branches(**copy)] == [
            len(each["branches"]) for each in branches.list_branches(**self.own)
        ]

    @invariant()
    def is_as_the_tree(self) -> None:
        on_path = [
            (message_id, text)
            for said in self.root.path()[1:]
            for message_id, text in zip(said.message_ids, (said.text, said.text.upper()), strict=True)
            if message_id not in self.gone
        ]
        rows = reading.list_messages(**self.own)
        assert [(row.message_id, row.text) for row in rows] == on_path
        assert [row.index for row in rows] == list(range(1, len(rows) + 1))
        assert get_conversation(**self.own).message_count == len(rows)
        every = [row for row in reading.list_messages_of_all_branches(**self.own) if row.deleted_at is None]
        assert len(every) == 2 * len(self.all) - len(self.gone)
        hashes = {row.message_id: row.message_short_hash for row in every}
        assert len(set(hashes.values())) == len(hashes)
        assert all(self.hashes.setdefault(message_id, given) == given for message_id, given in hashes.items())

    @invariant()
    def is_sound(self) -> None:
        assert list(verify_store(database=self.database)) == []


TestBranching = Branching.TestCase
TestBranching.settings = examples(12, steps=15)


def test_a_circle_of_branches_ends_where_it_closes() -> None:
    forks = [
        Fork("first", 3, "second again", None, None),
        Fork("first again", 3, "second again", "first", None),
        Fork("second", 5, "first again", None, None),
        Fork("second again", 5, "first again", "second", None),
    ]
    assert BranchTree(forks).choices_to("second again", 9) == {"first": 2, "second": 2}
