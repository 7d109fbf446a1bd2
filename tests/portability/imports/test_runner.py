"""Imports as jobs: each item is stored once, whatever happens meanwhile; what a person changed here stays."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine, delete, event, select, update

from activity.export import INCLUDED, export
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from Conversation import Conversation
from database.accounts.users import create_user, set_disabled
from database.conversations.deletion import erase_binned
from database.conversations.repository import (
    delete_conversation,
    find_by_friendly_id,
    get_conversations_for_user,
    move_conversation,
    update_conversation,
)
from database.engine.clock import iso, now_iso
from database.engine.database import Database
from database.engine.errors import ConflictError, StorageFailedError
from database.history.branches import list_branches
from database.history.editing import delete_message, edit_message
from database.history.reading import list_messages
from database.history.references import conversations_by_friendly_id
from database.imports import batches
from database.imports.repository import (
    LONGEST_RETRY_SECONDS,
    change_state,
    get_import,
    list_imports,
    seconds_to_next_try,
)
from database.maintenance.verification import verify_store
from database.schema import conversations, imported_conversations, imported_messages, imports, message_parts
from database.search.index import waiting_behind
from database.turns.turns import finish_turn
from database.turns.variants import accept_again
from database.workspaces.repository import create_workspace
from portability.errors import BrokenImportError
from portability.importers.reading.imported import FailedItem, ImportedDocument, ImportedExport, ImportedNothing
from portability.imports import accepting
from portability.imports import runner as runner_module
from portability.imports.accepting import accept_file
from portability.imports.runner import ImportRunner
from sentences import say

from .conftest import ADA, BEGAN, conversation, message

FOUR = (
    message("q1", None, "How much water?"),
    message("a1", "q1", "Two litres.", at=1, model="gpt-4", thoughts="Hm."),
    message("q2", "a1", "And in summer?", at=2),
    message("a2", "q2", "Three.", at=3),
)


def only(database: Database):
    (row,) = get_conversations_for_user(database=database, user_email=ADA)
    return row


def texts(database: Database, conversation_id: str) -> list[str]:
    return [m.text for m in list_messages(database=database, user_email=ADA, conversation_id=conversation_id)]


def counts(which):
    return which.state, which.imported, which.updated, which.skipped, which.failed


@pytest.mark.contract
def test_a_conversation_comes_in_with_its_times_title_thoughts_and_references(database, imported):
    one = conversation("c", *FOUR, archived=True, pinned=True, workspace="Health", friendly_id="much_water_b4f2")
    which = imported(one)

    row = only(database)
    assert counts(which) == ("done", 1, 0, 0, 0)
    assert (row.title, row.archived, row.pinned_at is not None) == ("About c", True, True)
    assert (row.created_at, row.updated_at) == ("2025-03-01T12:00:00.000000Z", "2025-03-01T13:00:00.000000Z")
    assert (row.workspace_name, row.conversation_friendly_id) == ("Health", "much_water_b4f2")
    said = list_messages(database=database, user_email=ADA, conversation_id=row.conversation_id)
    assert [(m.sender, m.text) for m in said] == [
        ("user", "How much water?"),
        ("model", "Two litres."),
        ("user", "And in summer?"),
        ("model", "Three."),
    ]
    assert [m.created_at[11:16] for m in said] == ["12:00", "12:01", "12:02", "12:03"]
    assert (said[1].config["model"], said[1].parts[0]["text"]) == ("gpt-4", "Hm.")
    assert said[1].in_answer_to == said[0].message_id
    assert all(m.message_short_hash for m in said)
    with database.reading() as connection:
        assert waiting_behind(connection) is None  # found at once, without the tail


@pytest.mark.contract
def test_variants_and_branches_come_in_and_the_store_is_sound(database, imported):
    more = (message("a1b", "q1", "Three litres.", at=4), message("q2b", "a1", "In winter?", at=5))
    imported(conversation("c", *FOUR, *more, current_id="q2b"))

    conversation_id = only(database).conversation_id
    own = {"database": database, "user_email": ADA, "conversation_id": conversation_id}
    assert texts(database, conversation_id) == ["How much water?", "Two litres.", "In winter?"]
    assert [v["chosen"] for v in list_messages(**own)[1].variants] == [True, False]
    (fork,) = list_branches(**own)
    assert (fork["chosen"], len(fork["branches"])) == (2, 2)
    if database.backend.name == "SQLite":
        assert [found for found in verify_store(database) if not found.fine] == []


@pytest.mark.contract
def test_importing_again_adds_nothing(database, imported):
    both = [conversation("c", *FOUR), conversation("d")]
    imported(*both)
    before = only_versions(database)
    assert counts(imported(*both)) == ("done", 0, 0, 2, 0)
    assert only_versions(database) == before


def only_versions(database: Database):
    return {row.conversation_id: row.version for row in get_conversations_for_user(database=database, user_email=ADA)}


@pytest.mark.contract
def test_a_longer_export_adds_what_is_new_and_takes_over_what_changed(database, imported):
    imported(conversation("c", *FOUR[:2]))
    changed = replace(FOUR[1], text="Two litres a day.")
    again = message("a1b", "q1", "Some.", at=9)
    which = imported(conversation("c", FOUR[0], changed, again, *FOUR[2:], title="Water", current_id="a2"))

    row = only(database)
    assert counts(which) == ("done", 0, 1, 0, 0)
    assert (row.title, row.message_count) == ("Water", 4)
    assert texts(database, row.conversation_id) == ["How much water?", "Two litres a day.", "And in summer?", "Three."]
    said = list_messages(database=database, user_email=ADA, conversation_id=row.conversation_id)
    assert [v["chosen"] for v in said[1].variants] == [True, False]
    assert counts(imported(conversation("c", FOUR[0], changed, again, *FOUR[2:], title="Water", current_id="a2"))) == (
        "done",
        0,
        0,
        1,
        0,
    )


@pytest.mark.contract
def test_what_a_person_changed_here_stays(database, imported):
    imported(conversation("c", *FOUR))
    row = only(database)
    own = {"database": database, "user_email": ADA, "conversation_id": row.conversation_id}
    place = create_workspace(database=database, user_email=ADA, domain="assistant", workspace_name="Mine")
    update_conversation(**own, changes={"title": "My title", "title_force_set": True})
    move_conversation(**own, workspace_id=place["workspace_id"])
    said = list_messages(**own)
    edit_message(**own, message_id=said[0].message_id, text="How much tea?", index=1)
    delete_message(**own, message_id=said[3].message_id, index=4)
    changed = [replace(each, text=each.text + "!") for each in FOUR]

    which = imported(conversation("c", *changed, message("q3", "a2", "Sure?", at=5), title="Theirs", workspace="Other"))

    row = only(database)
    assert counts(which)[2] == 1
    assert (row.title, row.workspace_name) == ("My title", "Mine")
    assert texts(database, row.conversation_id) == ["How much tea?", "Two litres.!", "And in summer?!", "Sure?"]


@pytest.mark.contract
def test_where_the_person_went_on_here_the_source_goes_on_in_a_branch(database, imported):
    imported(conversation("c", *FOUR[:2]))
    row = only(database)
    Conversation(ADA, database, row.conversation_id).persist_current_turn("Mine?", "Yours.", {"model": "m"})

    imported(conversation("c", *FOUR))

    assert texts(database, row.conversation_id) == ["How much water?", "Two litres.", "Mine?", "Yours."]
    own = {"database": database, "user_email": ADA, "conversation_id": row.conversation_id}
    (fork,) = list_branches(**own)
    assert [each["preview"] for each in fork["branches"]] == ["Mine?", "And in summer?"]
    assert fork["chosen"] == 1


@pytest.mark.contract
def test_a_conversation_in_the_bin_stays_there(database, imported):
    imported(conversation("c", *FOUR[:2]))
    delete_conversation(database=database, user_email=ADA, conversation_id=only(database).conversation_id)
    for messages, said in ((FOUR, "4 messages"), (FOUR[:2], "2 messages")):
        which = imported(conversation("c", *messages))
        assert counts(which) == ("done", 0, 0, 1, 1)
        (failure,) = which.failures
        assert failure["reason"].startswith(f"Deleted here, and in the bin, where it can be restored: {said}")
    assert get_conversations_for_user(database=database, user_email=ADA) == []


@pytest.mark.contract
def test_a_conversation_in_the_bin_is_named_where_each_is_stored_by_itself(database, imported, monkeypatch):
    imported(conversation("c", *FOUR[:2]))
    delete_conversation(database=database, user_email=ADA, conversation_id=only(database).conversation_id)
    store = runner_module.store_batch

    def refusing(*, batch, **own):
        if batch.conversations:
            raise ConflictError("They contradict each other.")
        return store(batch=batch, **own)

    monkeypatch.setattr(runner_module, "store_batch", refusing)
    which = imported(conversation("c", *FOUR), conversation("d"))
    assert counts(which) == ("done", 1, 0, 1, 1)
    assert [failure["item"] for failure in which.failures] == ["About c"]


@pytest.mark.contract
def test_a_conversation_that_is_not_whole_yet_is_not_told_as_one_in_the_bin(database, imported):
    imported(conversation("c", *FOUR[:2]))
    being_stored = {"deleted_at": now_iso(), "incomplete_since": now_iso()}
    database.write(lambda connection: connection.execute(update(conversations).values(being_stored)).rowcount)
    which = imported(conversation("c", *FOUR))
    assert (counts(which), which.failures) == (("done", 0, 0, 1, 0), [])


@pytest.mark.contract
def test_of_many_failures_the_first_are_listed_and_all_are_counted(database, imported, monkeypatch):
    monkeypatch.setattr(batches, "MOST_FAILURES", 2)
    which = imported(*(FailedItem(f"item {number}", "It is cut off.") for number in range(3)), conversation("c"))
    assert counts(which) == ("done", 1, 0, 0, 3)
    assert [failure["item"] for failure in which.failures] == ["item 0", "item 1"]


@pytest.mark.contract
@pytest.mark.parametrize("between", [0, 100], ids=["in one batch", "in a later batch"])
def test_a_conversation_that_is_given_once_more_whole_stays_one(database, imported, between):
    others = [conversation(str(number)) for number in range(between)]
    beginning = replace(conversation("c", *FOUR[:2]), may_continue=True)
    whole = replace(conversation("c", *FOUR), continues=2)

    which = imported(beginning, *others, whole)
    assert counts(which) == ("done", 1 + between, 0, 0, 0)
    assert (which.done, which.imported) == (4 + 2 * between, 1 + between)
    [row] = [r for r in get_conversations_for_user(database=database, user_email=ADA) if r.title == "About c"]
    assert texts(database, row.conversation_id) == ["How much water?", "Two litres.", "And in summer?", "Three."]
    before = only_versions(database)
    assert counts(imported(beginning, *others, whole)) == ("done", 0, 0, 1 + between, 0)
    assert only_versions(database) == before


def test_a_conversation_that_is_given_once_more_whole_is_counted_once(database, runner, source, added):
    source.items = [
        replace(conversation("c", *FOUR[:2]), may_continue=True),
        replace(conversation("c", *FOUR), continues=2),
    ]
    which = added(state="counting")
    runner.run_until_idle()
    which = get_import(database=database, user_email=ADA, import_id=which.import_id)
    assert (which.conversations, which.messages) == (1, 4)
    assert which.titles == [{"id": "c", "title": "About c", "messages": 4, "created_at": iso(BEGAN)}]


def test_two_people_import_the_same_file_each_for_themselves(database, imported):
    imported(conversation("c", *FOUR))
    assert counts(imported(conversation("c", *FOUR), user_email="eve@example.org"))[:2] == ("done", 1)
    assert len(get_conversations_for_user(database=database, user_email="eve@example.org")) == 1


def test_only_the_chosen_conversations_come_in_and_where_the_person_wants_them(database, imported):
    place = create_workspace(database=database, user_email=ADA, domain="assistant", workspace_name="Old")
    which = imported(
        conversation("c"),
        conversation("d"),
        conversations=["d"],
        workspace_id=place["workspace_id"],
        domain="assistant",
    )
    assert counts(which) == ("done", 1, 0, 1, 0)
    assert (only(database).title, only(database).workspace_name) == ("About d", "Old")


def test_one_bad_conversation_never_stops_the_rest(database, imported):
    broken = replace(conversation("bad"), title=3)  # type: ignore[arg-type]
    empty = replace(conversation("empty"), messages=())
    twice = conversation("c", *FOUR)
    which = imported(FailedItem("item 1", "It is cut off."), broken, empty, conversation("c"), twice, conversation("d"))

    assert counts(which) == ("done", 2, 0, 0, 4)
    assert [each["item"] for each in which.failures] == ["item 1", "3", "About empty", "About c"]
    assert which.failures[0]["reason"] == "It is cut off."
    assert len(get_conversations_for_user(database=database, user_email=ADA)) == 2


def test_a_stretch_without_anything_ends_a_batch(database, runner, source, added):
    source.items = [conversation("c"), ImportedNothing(), ImportedNothing(), conversation("d")]
    which = added(state="counting")
    own = {"database": database, "user_email": ADA, "import_id": which.import_id}
    positions = []
    runner.run_until_idle()
    change_state(**own, state="running", among=["ready"])
    while runner.run_due(seconds=0) is not None:
        positions.append(get_import(**own).position)
    assert (counts(get_import(**own)), positions) == (("done", 2, 0, 0, 0), [2, 3, 4])


def test_one_export_with_values_that_nobody_expected_never_stops_the_rest(database, imported, runner, monkeypatch):
    def fail(*_args, **_more):
        raise TypeError("no such value")

    monkeypatch.setattr(runner._beside, "store", fail)
    which = imported(ImportedExport("x", b"{}", 1), conversation("c"))
    assert counts(which) == ("done", 1, 0, 0, 1)
    assert which.failures == [{"item": "x", "reason": say("import_damaged")}]


def test_nothing_imported_is_no_success_and_what_came_before_a_break_stays(database, imported):
    assert counts(imported(FailedItem("item 1", "It is cut off.")))[:2] == ("failed", 0)
    which = imported(*map(conversation, map(str, range(100))), BrokenImportError("The JSON breaks off."))
    assert (which.state, which.error) == ("failed", "The JSON breaks off.")
    assert which.imported > 0
    assert len(get_conversations_for_user(database=database, user_email=ADA)) == which.imported


def test_a_file_that_breaks_off_is_counted_up_to_there_and_refused_where_nothing_is_whole(
    database, runner, source, added
):
    def state_of(which):
        runner.run_until_idle()
        return get_import(database=database, user_email=ADA, import_id=which.import_id)

    source.items = [conversation("c"), conversation("d"), BrokenImportError("The JSON breaks off.")]
    which = state_of(added(state="counting"))
    assert (which.state, which.conversations, which.messages, which.error) == ("ready", 2, 4, "")
    change_state(database=database, user_email=ADA, import_id=which.import_id, state="running", among=["ready"])
    which = state_of(which)
    assert (which.state, which.imported, which.error) == ("failed", 2, "The JSON breaks off.")

    source.items = source.items[2:]
    which = state_of(added(state="counting"))
    assert (which.state, which.error) == ("failed", "The JSON breaks off.")


def test_documents_go_where_they_are_told_to_and_are_reported_elsewhere(database, imported):
    which = imported(conversation("c"), ImportedDocument("d", "Project", "Notes.md", "text"))
    assert counts(which) == ("done", 1, 0, 0, 1)
    assert which.failures == [{"item": "Project/Notes.md", "reason": "Documents can't be stored here."}]


def test_a_file_is_counted_first_and_begins_when_it_is_started(database, runner, source, added):
    source.items = [conversation("c", *FOUR), FailedItem("x", "y"), conversation("d")]
    which = added(state="counting")
    runner.run_until_idle()
    which = get_import(database=database, user_email=ADA, import_id=which.import_id)
    assert (which.state, which.counted, which.conversations, which.messages) == ("ready", True, 2, 6)
    assert which.titles == [
        {"id": "c", "title": "About c", "messages": 4, "created_at": iso(BEGAN)},
        {"id": "d", "title": "About d", "messages": 2, "created_at": iso(BEGAN)},
    ]
    assert get_conversations_for_user(database=database, user_email=ADA) == []

    change_state(database=database, user_email=ADA, import_id=which.import_id, state="running", among=["ready"])
    runner.run_until_idle()
    which = get_import(database=database, user_email=ADA, import_id=which.import_id)
    assert (which.state, which.done, which.imported) == ("done", 6, 2)


@pytest.mark.parametrize(
    ("is_alone", "of_each", "positions"),
    [(False, 1, [40, 80, 120, 130]), (True, 1, [80, 130]), (True, 100_000, [3, 6, 9])],
)
def test_a_batch_is_larger_where_nobody_else_waits_for_the_store_and_never_long(
    database, source, added, tmp_path, is_alone, of_each, positions
):
    """40 conversations in one transaction, twice as many alone, and of long texts three of 100,000 characters."""
    count = positions[-1]
    source.items = [conversation(str(number), message("m", None, "x" * of_each)) for number in range(count)]
    which, seen = added(), []
    runner = ImportRunner(database=database, uploads=tmp_path / "imports", share=1.0, is_alone=lambda: is_alone)
    own = {"database": database, "user_email": ADA, "import_id": which.import_id}
    while get_import(**own).state != "done":
        assert runner.run_due(seconds=0) is not None
        seen.append(get_import(**own).position)
    assert runner.work() is False
    runner.close()
    assert seen[: len(positions)] == positions


def test_an_import_that_is_paused_stops_between_two_batches_and_goes_on_where_it_was(database, runner, source, added):
    source.items = [conversation(str(number)) for number in range(100)]
    which = added()
    runner.run_due(seconds=0)
    own = {"database": database, "user_email": ADA, "import_id": which.import_id}
    paused = change_state(**own, state="paused", among=["running"])
    runner.run_until_idle()
    assert get_import(**own).position == paused.position
    assert 0 < paused.position < 100

    change_state(**own, state="running", among=["paused"])
    runner.run_until_idle()
    assert counts(get_import(**own)) == ("done", 100, 0, 0, 0)
    assert len(get_conversations_for_user(database=database, user_email=ADA)) == 100


def test_an_import_whose_process_died_goes_on_elsewhere_without_doubling(database, runner, source, added, tmp_path):
    source.items = [conversation(str(number)) for number in range(100)]
    which = added()
    runner.run_due(seconds=0)
    another = ImportRunner(database=database, uploads=tmp_path / "imports", share=1.0)
    assert another.run_due() is None  # the first one has it
    runner.close()  # as a server that starts does for the one before
    another.run_until_idle()
    another.close()
    which = get_import(database=database, user_email=ADA, import_id=which.import_id)
    assert counts(which) == ("done", 100, 0, 0, 0)
    assert len(get_conversations_for_user(database=database, user_email=ADA)) == 100


@pytest.mark.contract
def test_an_import_of_a_disabled_account_waits_until_it_is_enabled(database, runner, source, added):
    create_user(database=database, user_email=ADA, password="correct horse battery")
    source.items = [conversation(str(number)) for number in range(200)]
    which = added()
    own = {"database": database, "user_email": ADA, "import_id": which.import_id}
    begun = runner.run_due(seconds=0)
    assert 0 < begun.position < 200
    set_disabled(database=database, user_email=ADA, disabled=True)
    source.items = [conversation("hers")]
    other = added(user_email="eve@example.org")
    runner.run_until_idle()
    assert get_import(database=database, user_email="eve@example.org", import_id=other.import_id).state == "done"
    waits = get_import(**own)
    assert (waits.state, waits.position, which.import_id in runner._open) == ("running", begun.position, False)

    source.items = [conversation(str(number)) for number in range(200)]
    set_disabled(database=database, user_email=ADA, disabled=False)
    runner.run_until_idle()
    done = get_import(**own)
    assert (done.state, done.imported, done.failed) == ("done", 200, 0)
    assert len(get_conversations_for_user(database=database, user_email=ADA)) == 200


def test_a_process_that_lost_its_lease_stores_nothing(database, runner, source, added, monkeypatch):
    source.items = [conversation("c")]
    which = added()
    own = {"database": database, "user_email": ADA, "import_id": which.import_id}
    begin = source.conversations

    def cancelled_meanwhile(file):
        change_state(**own, state="cancelled", among=["running"])
        yield from begin(file)

    monkeypatch.setattr(source, "conversations", cancelled_meanwhile)
    runner.run_until_idle()
    assert counts(get_import(**own)) == ("cancelled", 0, 0, 0, 0)
    assert get_conversations_for_user(database=database, user_email=ADA) == []


def test_the_upload_is_deleted_when_the_import_ends(imported, runner, tmp_path):
    which = imported(conversation("c"))
    assert which.path.startswith(str(tmp_path / "imports"))
    assert list((tmp_path / "imports").iterdir()) == []


def test_a_stray_upload_is_deleted_once_it_is_old_and_one_that_just_arrived_waits_for_its_row(
    imported, database, tmp_path, monkeypatch
):
    create_user(database=database, user_email=ADA, password="correct horse battery")
    added, uploads = accepting.add_import, tmp_path / "imports"

    def added_after_the_tidying(**values):
        assert accepting.delete_stray_uploads(database=database, uploads=uploads) == 0
        return added(**values)

    monkeypatch.setattr(accepting, "add_import", added_after_the_tidying)
    assert imported(conversation("c")).state == "done"
    (uploads / "stray").write_text("x")
    monkeypatch.setattr(accepting, "_STRAY_SECONDS", -1.0)
    assert accepting.delete_stray_uploads(database=database, uploads=uploads) == 1


def test_uploads_stay_while_the_store_has_no_account_since_their_rows_may_be_lost(database, tmp_path, monkeypatch):
    monkeypatch.setattr(accepting, "_STRAY_SECONDS", -1.0)
    (tmp_path / "waiting").write_text("x")
    assert accepting.delete_stray_uploads(database=database, uploads=tmp_path) == 0
    assert (tmp_path / "waiting").is_file()


def test_files_of_several_people_are_counted_in_turn_and_each_is_read_once(
    database, runner, source, added, monkeypatch
):
    source.items = [conversation(str(number)) for number in range(20)]
    monkeypatch.setattr("portability.imports.runner._TELL_EVERY", -1.0)  # a turn counts one conversation
    both = added(state="counting"), added(state="counting", user_email="eve@example.org")
    runner.run_due(seconds=0, import_id=both[0].import_id)
    runner.run_due(seconds=0, import_id=both[1].import_id)
    for _ in range(2 * len(source.items)):
        runner.run_due(seconds=0)
    assert source.read == 2 * len(source.items)
    for which in both:
        own = {"database": database, "user_email": which.user_email, "import_id": which.import_id}
        assert (get_import(**own).state, get_import(**own).conversations) == ("ready", 20)


@pytest.mark.contract
def test_an_import_that_can_not_be_stored_waits_and_says_why_while_others_go_on(
    database, runner, source, added, monkeypatch
):
    monkeypatch.setattr("database.imports.repository.FIRST_RETRY_SECONDS", LONGEST_RETRY_SECONDS)
    source.items = [StorageFailedError("The disk is full.")]
    which = added()
    own = {"database": database, "user_email": ADA, "import_id": which.import_id}
    with pytest.raises(StorageFailedError):
        runner.run_due()
    waiting = get_import(**own)
    assert (waiting.state, waiting.tries, waiting.error) == ("running", 1, "The disk is full.")
    assert waiting.next_try_at > waiting.updated_at

    source.items = [conversation("c")]
    other = added(user_email="eve@example.org")
    assert runner.run_due().import_id == other.import_id
    assert runner.run_due() is None
    assert get_import(**own) == waiting

    # Who can store it again finds it as it was; a person need not wait.
    change_state(**own, state="paused", among=["running"])
    change_state(**own, state="running", among=["paused"])
    assert (get_import(**own).tries, get_import(**own).next_try_at, get_import(**own).error) == (0, None, "")
    another = ImportRunner(database=database, uploads=runner._uploads, share=1.0)
    another.run_until_idle()
    another.close()
    assert counts(get_import(**own)) == ("done", 1, 0, 0, 0)


def test_an_import_waits_longer_each_time_and_no_longer_once_it_got_on(database, source, added, tmp_path, monkeypatch):
    monkeypatch.setattr("database.imports.repository.FIRST_RETRY_SECONDS", 0)
    source.items = [StorageFailedError("The disk is full.")]
    which = added()
    own = {"database": database, "user_email": ADA, "import_id": which.import_id}
    runner = ImportRunner(database=database, uploads=tmp_path / "imports", share=1.0)
    for tries in range(1, 4):
        with pytest.raises(StorageFailedError):
            runner.run_due()
        assert get_import(**own).tries == tries
    source.items = [conversation(str(number)) for number in range(100)]
    runner.run_due(seconds=0)
    runner.close()
    after = get_import(**own)
    assert (after.state, after.tries, after.next_try_at, after.error) == ("running", 0, None, "")

    monkeypatch.undo()
    waits = [seconds_to_next_try(replace(which, tries=tries)) for tries in (0, 1, 2, 6, 7, 1_000)]
    assert waits == [5, 10, 20, 320, 600, 600]


@pytest.mark.parametrize("is_alone", [True, False])
def test_it_rests_between_batches_unless_it_is_alone(database, source, added, tmp_path, monkeypatch, is_alone):
    rests = []
    clock = SimpleNamespace(monotonic=time.monotonic, time=time.time, sleep=rests.append)
    monkeypatch.setattr("portability.imports.runner.time", clock)
    source.items = [conversation(str(number)) for number in range(130)]
    which = added()
    runner = ImportRunner(
        database=database, uploads=tmp_path / "imports", share=0.5, is_alone=lambda: is_alone, process="tried"
    )
    after = which
    while after.state != "done":
        runner.work()
        after = get_import(database=database, user_email=ADA, import_id=which.import_id)
    runner.close()
    assert after.imported == 130
    assert bool(rests) is not is_alone
    assert all(rest > 0 for rest in rests)


def test_others_go_on_even_where_the_store_can_not_be_told_that_an_import_waits(
    database, runner, source, added, monkeypatch
):
    def fails(**_values):
        raise StorageFailedError("The disk is full.")

    monkeypatch.setattr("portability.imports.runner.postpone", fails)
    monkeypatch.setattr("database.imports.repository.FIRST_RETRY_SECONDS", LONGEST_RETRY_SECONDS)
    source.items = [StorageFailedError("The disk is full.")]
    added()
    with pytest.raises(StorageFailedError):
        runner.run_due()
    source.items = [conversation("c")]
    other = added(user_email="eve@example.org")
    assert runner.run_due().import_id == other.import_id
    assert runner.run_due() is None


def test_the_file_of_an_import_that_is_paused_is_closed(database, runner, source, added):
    source.items = [conversation(str(number)) for number in range(100)]
    paused = added()
    added(user_email="eve@example.org")
    runner.run_due(seconds=0, import_id=paused.import_id)
    own = {"database": database, "user_email": ADA, "import_id": paused.import_id}
    change_state(**own, state="paused", among=["running"])
    runner.run_due(seconds=0)
    assert paused.import_id not in runner._open


@pytest.mark.contract
def test_an_import_is_taken_back_but_for_what_the_person_went_on_with(database, imported, runner):
    which = imported(conversation("c"), conversation("d"), conversation("e", *FOUR[:2]))
    (kept,) = [row for row in get_conversations_for_user(database=database, user_email=ADA) if row.title == "About d"]
    Conversation(ADA, database, kept.conversation_id).persist_current_turn("Mine?", "Yours.", {"model": "m"})
    own = {"database": database, "user_email": ADA, "import_id": which.import_id}
    change_state(**own, state="undoing", among=["done"])
    runner.run_until_idle()

    undone = get_import(**own)
    assert (undone.state, [each["item"] for each in undone.kept]) == ("undone", ["About d"])
    assert only(database).conversation_id == kept.conversation_id
    if database.backend.name == "SQLite":
        assert [found for found in verify_store(database) if not found.fine] == []
    assert counts(imported(conversation("c"), conversation("d")))[1:4] == (1, 0, 1)


@pytest.mark.contract
def test_what_an_import_added_to_a_conversation_is_taken_back_and_the_rest_stays(database, imported, runner):
    imported(conversation("c", *FOUR[:2]))
    which = imported(conversation("c", *FOUR, message("a1b", "q1", "Some.", at=9), current_id="a2"))
    own = {"database": database, "user_email": ADA, "import_id": which.import_id}
    change_state(**own, state="undoing", among=["done"])
    runner.run_until_idle()

    row = only(database)
    assert (get_import(**own).state, get_import(**own).kept) == ("undone", [])
    assert texts(database, row.conversation_id) == ["How much water?", "Two litres."]
    assert row.message_count == 2
    assert counts(imported(conversation("c", *FOUR)))[1:4] == (0, 1, 0)
    assert texts(database, row.conversation_id) == ["How much water?", "Two litres.", "And in summer?", "Three."]


@pytest.mark.contract
def test_an_answer_that_an_import_added_is_taken_back_with_its_thoughts_and_comes_again(database, imported, runner):
    imported(conversation("c", *FOUR[:2]))
    longer = conversation("c", *FOUR[:2], message("a1b", "q1", "Some.", at=9, thoughts="Well."), current_id="a1")
    undo(database, runner, imported(longer))
    with database.reading() as connection:
        versions = connection.execute(select(message_parts.c.version)).scalars().all()
    assert versions == [1]

    assert counts(imported(longer)) == ("done", 0, 1, 0, 0)
    said = list_messages(database=database, user_email=ADA, conversation_id=only(database).conversation_id)
    assert [each["chosen"] for each in said[1].variants] == [True, False]


@pytest.mark.contract
def test_an_answer_that_was_made_again_here_keeps_its_conversation_when_the_import_is_taken_back(
    database, imported, runner
):
    which = imported(conversation("c", *FOUR[:2]))
    row = only(database)
    own = {"database": database, "user_email": ADA, "conversation_id": row.conversation_id}
    answer = list_messages(**own)[1].message_id
    accept_again(**own, message_id=answer, model_name="m")
    finish_turn(**own, response_message_id=answer, text="Three litres.", status="complete", config={})

    undone = undo(database, runner, which)
    assert [each["item"] for each in undone.kept] == ["About c"]
    assert texts(database, row.conversation_id) == ["How much water?", "Three litres."]


def test_an_import_of_our_own_export_from_before_notes_were_taken_says_that_it_stays(
    database, imported, runner, tmp_path
):
    imported(conversation("c"))
    told = {"database": database, "recipes": RecipeRegistry(BUILT_IN), "room": only(database).conversation_id}
    made = export(ADA, **told, fmt="json", include=INCLUDED)
    file = tmp_path / "c.json"
    file.write_bytes(b"".join(made.chunks))
    eve = {"database": database, "user_email": "eve@example.org"}
    which = accept_file(file, name="c.json", state="running", **eve)
    runner.run_until_idle()
    with database.writing(timeout=5) as connection:
        for table in (imported_conversations, imported_messages):
            connection.execute(delete(table).where(table.c.import_id == which.import_id))
        connection.execute(update(imports).where(imports.c.import_id == which.import_id).values(noted=0))

    change_state(**eve, import_id=which.import_id, state="undoing", among=["done"])
    runner.run_until_idle()
    undone = get_import(**eve, import_id=which.import_id)
    assert (undone.state, [each["item"] for each in undone.kept]) == ("undone", ["c.json"])
    assert len(get_conversations_for_user(**eve)) == 1


def undo(database: Database, runner: ImportRunner, which):
    """The import `which` as it is when it has been taken back."""
    own = {"database": database, "user_email": ADA, "import_id": which.import_id}
    change_state(**own, state="undoing", among=["done"])
    runner.run_until_idle()
    return get_import(**own)


def test_a_file_of_an_unknown_form_says_what_was_expected_and_changes_nothing(database, source, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("something else")
    with pytest.raises(BrokenImportError, match="Scripted: a file that begins with SCRIPTED"):
        accept_file(file, name="a.txt", database=database, user_email=ADA, uploads=tmp_path / "imports")
    assert list_imports(database=database, user_email=ADA) == []
    assert file.exists()


@pytest.mark.contract
def test_an_old_name_that_is_taken_here_becomes_an_alias_which_is_asked_last(database, imported):
    imported(conversation("c", friendly_id="much_water_b4f2"))
    imported(conversation("d", message("q1", None, short_hash="ab12cd"), friendly_id="much_water_b4f2"))
    rows = get_conversations_for_user(database=database, user_email=ADA)
    names = {row.title: row.conversation_friendly_id for row in rows}
    assert names["About c"] == "much_water_b4f2" != names["About d"]
    ids = {row.title: row.conversation_id for row in rows}
    own = {"database": database, "user_email": ADA}
    asked = {"friendly_ids": ["much_water_b4f2", names["About d"], "nothing_here_0000"]}
    found = conversations_by_friendly_id(**own, **asked)
    assert {name: each.conversation_id for name, each in found.items()} == {
        "much_water_b4f2": ids["About c"],
        names["About d"]: ids["About d"],
    }

    # Once no conversation bears the name any more, it leads to the other one.
    delete_conversation(**own, conversation_id=ids["About c"])
    erase_binned(**own, conversation_id=ids["About c"])
    (aliased,) = conversations_by_friendly_id(**own, friendly_ids=["much_water_b4f2"]).values()
    assert aliased.conversation_id == ids["About d"]
    assert find_by_friendly_id(**own, conversation_friendly_id="much_water_b4f2") == ids["About d"]
    assert (
        conversations_by_friendly_id(database=database, user_email="eve@example.org", friendly_ids=["much_water_b4f2"])
        == {}
    )
    assert list_messages(**own, conversation_id=ids["About d"])[0].message_short_hash == "ab12cd"


def test_the_queries_of_an_import_grow_with_its_batches_not_with_its_messages(imported):
    seen: list[str] = []

    def note(_connection, _cursor, statement, *_rest):
        seen.append(statement)

    def statements_for(*items):
        seen.clear()
        event.listen(Engine, "before_cursor_execute", note)
        try:
            imported(*items)
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        return len(seen)

    def long(source_id, turns):
        said = []
        for number in range(turns):
            said += [message(f"q{number}", f"a{number - 1}" if number else None, at=2 * number)]
            said += [message(f"a{number}", f"q{number}", at=2 * number + 1)]
        return conversation(source_id, *said)

    statements_for(long("warm", 5))
    few, many = statements_for(long("few", 10)), statements_for(long("many", 60))
    assert many - few < 20  # 100 messages more
