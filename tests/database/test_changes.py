"""Each change of a person's things leaves one row, in the transaction that makes it, and nothing that was said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from database import changes
from database.accounts.users import create_user, modify_user_preference
from database.activities.knowledge import store_changes
from database.changes import KINDS, StoredChange, change_kind, changes_after, kept_range, purge_changes, record
from database.conversations import bulk, deletion, repository
from database.conversations.bulk import restore_workspace
from database.conversations.conversation import conversation_metadata
from database.engine.clock import iso_in
from database.engine.database import Database
from database.engine.errors import InvalidChangeError
from database.history import editing
from database.maintenance.account_erasure import close_account, erase_account
from database.schema import changes as table
from database.sharing import copying
from database.turns import variants
from database.turns.identity import FinishedTurn
from database.turns.turns import accept_turn, finish_turn
from database.workspaces import repository as workspaces

ANN, BEN = "ann@example.org", "ben@example.org"
SECRET = "the key lies under the mat"
Turn = Callable[..., FinishedTurn]


@pytest.fixture
def news(database: Database) -> Callable[[], list[StoredChange]]:
    """What was recorded of Ann since the last call."""
    seen = 0

    def since() -> list[StoredChange]:
        nonlocal seen
        found = changes_after(database=database, user_email=ANN, after=seen, most=1_000)
        seen = found[-1].seq if found else seen
        return found

    return since


def short(found: list[StoredChange]) -> list[tuple[str, str, str, dict[str, Any]]]:
    return [(each.kind, each.change, each.id, each.fields) for each in found]


def kept(database: Database, user_email: str = ANN) -> tuple[int, int]:
    found = kept_range(database=database, user_email=user_email)
    return found.oldest, found.newest


def new_conversation(database: Database, **more: Any) -> str:
    return repository.create_conversation(database=database, user_email=ANN, domain="assistant", **more).conversation_id


def test_a_conversation_tells_of_its_whole_life(database: Database, news: Callable[[], list[StoredChange]]) -> None:
    one = new_conversation(database, title="Bread")
    own = {"database": database, "user_email": ANN, "conversation_id": one}
    (created,) = news()
    assert (created.kind, created.change, created.id, created.conversation_id) == ("conversation", "created", one, None)
    assert created.fields["title"] == "Bread"
    repository.update_conversation(**own, changes={"title": "Rolls", "title_force_set": True, "archived": True})
    repository.update_conversation(**own, changes={"running_summary": SECRET})
    repository.set_flag(**own, flag="red")
    repository.set_pinned(**own, pinned=True)
    repository.set_pinned(**own, pinned=True)
    repository.pin_claim(**own, claim_id="c1")
    repository.delete_conversation(**own)
    repository.restore_conversation(**own)
    changed = short(news())
    assert [(change, fields) for _, change, _, fields in changed[:-1]] == [
        ("changed", {"title": "Rolls", "archived": True}),
        ("changed", {"flag": "red"}),
        ("changed", {"pinned": True}),
        ("changed", {"pinned_claim_ids": ["c1"]}),
        ("gone", {}),
    ]
    assert changed[-1][1] == "created"
    assert changed[-1][3]["flag"] == "red"


def test_a_turn_tells_that_it_began_and_ended_and_what_the_conversation_is_called(
    database: Database, news: Callable[[], list[StoredChange]], take_turn: Turn
) -> None:
    one = new_conversation(database)
    news()
    first = take_turn(ANN, one, text=SECRET)
    named = {"title": "Greeting", "conversation_friendly_id": first.conversation_friendly_id}
    begun = {"status": "streaming", "user_message_id": first.user_message_id, "message_count": 2}
    assert short(news()) == [
        ("turn", "created", first.response_message_id, begun),
        ("turn", "changed", first.response_message_id, {"status": "complete"}),
        ("conversation", "changed", one, named),
    ]
    take_turn(ANN, one)
    assert [each[:2] for each in short(news())] == [("turn", "created"), ("turn", "changed")]


def test_each_half_of_a_turn_takes_one_statement_more(
    database: Database, take_turn: Turn, statements: Callable[[], Any]
) -> None:
    one = new_conversation(database)
    take_turn(ANN, one)
    with statements() as seen:
        take_turn(ANN, one)
    assert sum("INTO changes" in statement for statement in seen) == 2
    assert sum("changes" in statement for statement in seen) == 2


def test_an_answer_made_again_is_a_turn_and_its_choice_a_change_of_the_message(
    database: Database, news: Callable[[], list[StoredChange]], take_turn: Turn
) -> None:
    one = new_conversation(database)
    answer = take_turn(ANN, one).response_message_id
    news()
    own = {"database": database, "user_email": ANN, "conversation_id": one}
    variants.accept_again(**own, message_id=answer, model_name="m")
    finish_turn(**own, response_message_id=answer, text="Another", status="complete", config={})
    variants.choose_variant(database=database, user_email=ANN, message_id=answer, number=1)
    found = news()
    assert [(each.kind, each.change, each.id) for each in found] == [
        ("turn", "created", answer),
        ("turn", "changed", answer),
        ("message", "changed", answer),
    ]
    assert found[-1].fields == {"chosen_variant": 1}


def test_messages_tell_what_was_done_to_them_and_never_what_they_say(
    database: Database, news: Callable[[], list[StoredChange]], take_turn: Turn
) -> None:
    one = new_conversation(database)
    turn = take_turn(ANN, one, text=SECRET)
    news()
    own = {"database": database, "user_email": ANN, "conversation_id": one}
    said, answer = turn.user_message_id, turn.response_message_id
    editing.edit_message(**own, message_id=said, index=None, text=f"{SECRET} no more")
    editing.show_or_hide_message(**own, message_id=said, index=None, show_hide="hide")
    editing.pin_message(database=database, user_email=ANN, message_id=said, pinned=True)
    editing.move_messages(**own, message_ids=[said], direction="down")
    editing.delete_message(**own, message_id=answer, index=None)
    editing.restore_message(**own, message_id=answer)
    found = news()
    assert [(each.change, sorted(each.fields)) for each in found] == [
        ("changed", ["edited_at"]),
        ("changed", ["show_hide"]),
        ("changed", ["pinned"]),
        ("changed", ["moved"]),
        ("changed", ["moved"]),
        ("gone", []),
        ("created", []),
    ]
    assert {each.conversation_id for each in found} == {one}
    assert SECRET not in json.dumps(found)


def test_workspaces_tell_of_their_life(database: Database, news: Callable[[], list[StoredChange]]) -> None:
    own = {"database": database, "user_email": ANN}
    made = [
        workspaces.create_workspace(**own, domain="assistant", workspace_name=name)["workspace_id"] for name in "ab"
    ]
    workspaces.update_workspace(**own, workspace_id=made[0], workspace_name="Papers", expanded=False)
    workspaces.set_workspaces_expanded(**own, workspace_ids=made, expanded=True)
    workspaces.move_workspace(**own, workspace_id=made[1], parent_workspace_id=made[0])
    inside = new_conversation(database)
    repository.move_conversation(**own, conversation_id=inside, workspace_id=made[1])
    removed = workspaces.delete_workspace(**own, workspace_id=made[1])
    restore_workspace(**own, domain="assistant", removed=removed)
    found = [(kind, change, fields) for kind, change, _, fields in short(news())]
    assert found[2:6] == [
        ("workspace", "changed", {"workspace_name": "Papers", "expanded": False}),
        ("workspace", "changed", {"expanded": True}),
        ("workspace", "changed", {"expanded": True}),
        ("workspace", "changed", {"parent_workspace_id": made[0]}),
    ]
    assert found[7:9] == [
        ("conversation", "changed", {"workspace_id": made[1]}),
        ("workspace", "gone", {"moved_to": made[0]}),
    ]
    assert found[9][2]["workspace_name"] == "b"
    assert found[10] == ("conversation", "changed", {"workspace_id": made[1]})


def test_a_change_of_many_is_one_row_each(database: Database, news: Callable[[], list[StoredChange]]) -> None:
    ids = [new_conversation(database) for _ in range(3)]
    news()
    bulk.change_conversations(
        database=database, user_email=ANN, conversation_ids=[*ids, "missing"], change="flag", value="red"
    )
    assert short(news()) == [("conversation", "changed", each, {"flag": "red"}) for each in ids]


def test_a_restore_tells_only_of_what_was_in_the_bin(
    database: Database, news: Callable[[], list[StoredChange]]
) -> None:
    ids = [new_conversation(database), new_conversation(database)]
    own = {"database": database, "user_email": ANN}
    bulk.change_conversations(**own, conversation_ids=ids[:1], change="delete")
    news()
    assert set(bulk.change_conversations(**own, conversation_ids=ids, change="restore").values()) == {"done"}
    assert [(each.change, each.id) for each in news()] == [("created", ids[0])]


@pytest.mark.contract
def test_the_newest_numbers_of_many_people_are_read_by_one_statement(
    database: Database, statements: Callable[[], AbstractContextManager[list[str]]]
) -> None:
    for person in (ANN, BEN, BEN):
        repository.create_conversation(database=database, user_email=person, domain="assistant")
    people = [ANN, BEN, "nobody@example.org"]
    with statements() as asked:
        newest = changes.newest_changes(database=database, user_emails=people)
    assert len(asked) == 1
    assert [newest[person] for person in people] == [kept(database, ANN)[1], kept(database, BEN)[1], 0]
    assert newest[BEN] > newest[ANN] > 0


def test_emptying_a_bin_of_many_looks_through_the_changes_once(
    database: Database, statements: Callable[[], AbstractContextManager[list[str]]]
) -> None:
    own = {"database": database, "user_email": ANN}
    ids = [new_conversation(database, title=SECRET) for _ in range(5)]
    bulk.change_conversations(**own, conversation_ids=ids, change="delete")
    with statements() as asked:
        assert deletion.empty_bin(**own, domain="assistant") == 5
    assert len([each for each in asked if each.startswith("UPDATE changes")]) == 1
    found = changes_after(**own, after=0, most=100)
    assert SECRET not in json.dumps(found)
    assert [each.fields for each in found[-5:]] == [{"erased": True}] * 5


def test_what_comes_back_into_the_lists_is_told_with_all_that_they_show(
    database: Database, news: Callable[[], list[StoredChange]], take_turn: Turn
) -> None:
    ids = [new_conversation(database, title=title) for title in ("Bread", "Rolls")]
    for one in ids:
        take_turn(ANN, one)
    own = {"database": database, "user_email": ANN}
    shown = {one: conversation_metadata(repository.get_conversation(**own, conversation_id=one)) for one in ids}
    for away, back in (("delete", "restore"), ("archive", "unarchive")):
        bulk.change_conversations(**own, conversation_ids=ids, change=away)  # type: ignore[arg-type]
        news()
        bulk.change_conversations(**own, conversation_ids=ids, change=back)  # type: ignore[arg-type]
        told = {each.id: each.fields for each in news()}
        assert told == {one: {name: shown[one][name] for name in told[one]} for one in ids}
        assert {"title", "flag", "last_updated", "message_count", "workspace_id", "archived"} <= told[ids[0]].keys()
    repository.update_conversation(**own, conversation_id=ids[0], changes={"archived": True})
    repository.update_conversation(**own, conversation_id=ids[0], changes={"archived": False})
    assert news()[-1].fields == {name: shown[ids[0]][name] for name in told[ids[0]]}


def test_a_workspace_that_comes_back_takes_its_workspaces_back(
    database: Database, news: Callable[[], list[StoredChange]]
) -> None:
    own = {"database": database, "user_email": ANN, "domain": "assistant"}
    outer = workspaces.create_workspace(**own, workspace_name="a")["workspace_id"]
    inner = workspaces.create_workspace(**own, workspace_name="b", parent_workspace_id=outer)["workspace_id"]
    removed = workspaces.delete_workspace(**own, workspace_id=outer)
    news()
    restore_workspace(**own, removed=removed)
    assert short(news())[1:] == [("workspace", "changed", inner, {"parent_workspace_id": outer})]


def test_a_clone_is_told_when_it_is_whole(
    database: Database, news: Callable[[], list[StoredChange]], take_turn: Turn
) -> None:
    one = new_conversation(database)
    take_turn(ANN, one)
    news()
    clone = copying.clone_conversation(database=database, user_email=ANN, conversation_id=one)
    (created,) = news()
    assert (created.change, created.id) == ("created", clone.conversation_id)
    assert created.fields["conversation_friendly_id"] == clone.conversation_friendly_id


def test_settings_and_memories_tell_that_they_changed_and_not_to_what(
    database: Database, news: Callable[[], list[StoredChange]]
) -> None:
    create_user(database=database, user_email=ANN, password="correct horse battery")
    modify_user_preference(database=database, user_email=ANN, preference={"text": SECRET})
    told = {"id": "a1", "action": "add", "object_type": "claim", "object_id": "c1", "title": SECRET, "detail": {}}
    told["claim_ids"] = ["c1", "c2"]
    told["created_at"] = "2026-02-08T10:00:00.000000Z"
    store_changes(database=database, user_email=ANN, changes=[told])
    store_changes(database=database, user_email=ANN, changes=[told])
    assert short(news()) == [
        ("settings", "changed", "preference", {}),
        (
            "memory",
            "created",
            "c1",
            {"audit_id": "a1", "object_type": "claim", "action": "add", "claim_ids": ["c1", "c2"]},
        ),
    ]


def test_long_settings_are_told_as_null(database: Database, news: Callable[[], list[StoredChange]]) -> None:
    own = {"database": database, "user_email": ANN, "conversation_id": new_conversation(database)}
    news()
    for prompt in ("Be brief.", "Be brief. " * 300):
        repository.change_settings(**own, changes={"system_prompt": prompt})
    told = [each.fields["conversation_settings"] for each in news()]
    assert told == [{"system_prompt": "Be brief."}, None]


def test_what_is_refused_or_not_kept_leaves_no_row(database: Database, news: Callable[[], list[StoredChange]]) -> None:
    one = new_conversation(database)
    own = {"database": database, "user_email": ANN, "conversation_id": one}
    repository.update_conversation(**own, changes={"stateless": True})
    news()
    with pytest.raises(InvalidChangeError):
        repository.set_flag(**own, flag="plaid")
    accepted = accept_turn(**own, text=SECRET, config={})
    finish_turn(
        **own, response_message_id=accepted.response_message_id, text="Yes", status="complete", config={}, title="T"
    )
    assert news() == []


def test_a_change_that_is_rolled_back_is_not_recorded(database: Database) -> None:
    def break_off(connection: Any) -> None:
        record(connection, changes.SETTINGS, "changed", user_email=ANN, ids=["name"])
        raise InvalidChangeError("no")

    with pytest.raises(InvalidChangeError):
        database.write(break_off)
    assert kept(database) == (0, 0)


def test_each_person_is_counted_alone(database: Database) -> None:
    for user_email in (ANN, BEN, ANN):
        repository.create_conversation(database=database, user_email=user_email, domain="assistant")
    assert kept(database) == (1, 2)
    assert kept(database, BEN) == (1, 1)
    assert len(changes_after(database=database, user_email=ANN, after=0, most=1)) == 1


def test_what_is_erased_keeps_no_title(database: Database, take_turn: Turn) -> None:
    one, other = new_conversation(database, title=SECRET), new_conversation(database, title="Bread")
    take_turn(ANN, one)
    own = {"database": database, "user_email": ANN, "conversation_id": one}
    repository.delete_conversation(**own)
    deletion.erase_binned(**own)
    found = changes_after(database=database, user_email=ANN, after=0, most=100)
    assert SECRET not in json.dumps(found)
    assert [each.seq for each in found] == list(range(1, len(found) + 1))
    assert (found[-1].change, found[-1].id) == ("gone", one)
    assert [each.fields.get("title") for each in found if each.id == other] == ["Bread"]


def test_an_erased_account_leaves_no_changes(database: Database, take_turn: Turn) -> None:
    for user_email in (ANN, BEN):
        create_user(database=database, user_email=user_email, password="correct horse battery")
        own = {"database": database, "user_email": user_email}
        one = repository.create_conversation(**own, domain="assistant")
        take_turn(user_email, one.conversation_id)
    close_account(database=database, user_email=ANN)
    erase_account(database=database, user_email=ANN)
    with database.reading() as connection:
        assert set(connection.execute(select(table.c.user_email)).scalars()) == {BEN}


def test_old_changes_are_purged_and_the_newest_number_is_kept(database: Database) -> None:
    rows = [
        {"user_email": ANN, "seq": seq, "kind": "settings", "change": "changed", "id": "name", "fields": {}, "at": at}
        for seq, at in enumerate([iso_in(days=-8)] * 1_200 + [iso_in(days=-6)] * 3, 1)
    ]
    store = database
    store.write(lambda connection: connection.execute(insert(table), rows).rowcount)
    assert purge_changes(database=database) == 1_200
    assert kept(database) == (1_201, 1_203)
    store.write(lambda connection: connection.execute(update(table).values(at=iso_in(days=-30))).rowcount)
    assert purge_changes(database=database) == 2
    assert kept(database) == (1_203, 1_203)
    new_conversation(database)
    assert kept(database) == (1_203, 1_204)


@pytest.fixture
def recipe() -> Iterator[changes.ChangeKind]:
    """A kind of changes that the product doesn't know."""
    yield change_kind("recipe", fields="`servings`")
    del KINDS["recipe"]


def test_a_kind_from_outside_is_recorded_like_any_other(database: Database, recipe: changes.ChangeKind) -> None:
    database.write(
        lambda connection: record(connection, recipe, "created", user_email=ANN, ids=["bread"], fields={"servings": 4})
    )
    assert short(changes_after(database=database, user_email=ANN, after=0, most=9)) == [
        ("recipe", "created", "bread", {"servings": 4})
    ]
    with pytest.raises(ValueError, match="recipe"):
        change_kind("recipe", fields="")
