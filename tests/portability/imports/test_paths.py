"""Paths of a conversation whose answers were made again: each reads here as it does in the source, import by import."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from Conversation import Conversation
from database.history.branches import choose_branch, choose_branch_with, list_branches
from database.history.editing import move_messages
from database.history.reading import list_messages, list_messages_of_all_branches
from database.maintenance.verification import verify_store

from .conftest import ADA, conversation, message
from .test_runner import counts, only, only_versions, texts

pytestmark = pytest.mark.contract

AGAIN = (
    message("q1", None, "How much water?"),
    message("a1", "q1", "Two litres.", at=1),
    message("q2", "a1", "And in summer?", at=2),
    message("a2", "q2", "Three.", at=3),
    message("b1", "q1", "It depends.", at=4),
)
FIRST_PATH = ["How much water?", "Two litres.", "And in summer?", "Three."]
SECOND_PATH = ["How much water?", "It depends."]


def paths(database, conversation_id):
    """What each branch of the only question that has some reads like; the branch that was chosen stays so."""
    own = {"database": database, "user_email": ADA}
    (fork,) = list_branches(**own, conversation_id=conversation_id)
    found = []
    for number in (*(each["number"] for each in fork["branches"]), fork["chosen"]):
        choose_branch(**own, message_id=fork["message_id"], number=number)
        found.append(texts(database, conversation_id))
    return found[:-1]


def test_an_answer_made_again_after_the_talk_went_on_begins_a_path_of_its_own(database, imported):
    imported(conversation("c", *AGAIN, current_id="b1"))

    conversation_id = only(database).conversation_id
    assert texts(database, conversation_id) == SECOND_PATH
    assert paths(database, conversation_id) == [SECOND_PATH, FIRST_PATH]
    before = only_versions(database)
    assert counts(imported(conversation("c", *AGAIN, current_id="b1"))) == ("done", 0, 0, 1, 0)
    assert only_versions(database) == before

    more = (message("q3", "b1", "On what?", at=5), message("a3", "q3", "On the heat.", at=6))
    assert counts(imported(conversation("c", *AGAIN, *more, current_id="a3"))) == ("done", 0, 1, 0, 0)
    both = [[*SECOND_PATH, "On what?", "On the heat."], FIRST_PATH]
    assert texts(database, conversation_id) == both[0]
    assert paths(database, conversation_id) == both
    assert counts(imported(conversation("c", *AGAIN, *more, current_id="a3"))) == ("done", 0, 0, 1, 0)
    if database.backend.name == "SQLite":
        assert [found for found in verify_store(database) if not found.fine] == []


@pytest.mark.parametrize("last", ["b1", "a3"])
def test_an_answer_that_was_made_again_since_the_last_import_begins_a_path_beside_what_is_here(
    database, imported, last
):
    imported(conversation("c", *AGAIN[:4]))
    more = (message("q3", "b1", "On what?", at=5), message("a3", "q3", "On the heat.", at=6))
    longer = conversation("c", *AGAIN, *(more if last == "a3" else ()), current_id=last)
    assert counts(imported(longer)) == ("done", 0, 1, 0, 0)

    conversation_id = only(database).conversation_id
    there = [*SECOND_PATH, *(["On what?", "On the heat."] if last == "a3" else [])]
    assert texts(database, conversation_id) == there
    assert paths(database, conversation_id) == [FIRST_PATH, there]
    assert counts(imported(longer)) == ("done", 0, 0, 1, 0)
    assert counts(imported(replace(longer, current_id="a2"))) == ("done", 0, 1, 0, 0)
    assert texts(database, conversation_id) == FIRST_PATH
    assert paths(database, conversation_id) == [FIRST_PATH, there]


def test_a_variant_is_shown_once_the_talk_went_on_from_it(database, imported):
    imported(conversation("c", AGAIN[0], AGAIN[1], AGAIN[4], current_id="b1"))
    assert texts(database, only(database).conversation_id) == SECOND_PATH

    imported(conversation("c", *AGAIN, current_id="a2"))

    conversation_id = only(database).conversation_id
    assert texts(database, conversation_id) == FIRST_PATH
    assert list_branches(database=database, user_email=ADA, conversation_id=conversation_id) == []


def test_an_answer_made_again_that_the_source_follows_is_shown_where_the_person_went_on_in_another_branch(
    database, imported
):
    begun = [message("q1", None), message("a1", "q1", at=1), message("q1b", None, at=2), message("a1b", "q1b", at=3)]
    imported(conversation("c", *begun, current_id="a1b"))
    conversation_id = only(database).conversation_id
    Conversation(ADA, database, conversation_id).persist_current_turn("Mine?", "Yours.", {"model": "m"})

    more = [message("a1r", "q1", at=4), message("q2", "a1r", at=5), message("a2", "q2", at=6)]
    imported(conversation("c", *begun, *more, current_id="a2"))

    here = ["q1b", "a1b", "Mine?", "Yours."]
    assert texts(database, conversation_id) == here
    assert paths(database, conversation_id) == [["q1", "a1r", "q2", "a2"], here]


def test_several_questions_of_the_source_are_asked_in_the_place_of_one_of_the_person(database, imported):
    imported(conversation("c", *AGAIN[:2]))
    conversation_id = only(database).conversation_id
    Conversation(ADA, database, conversation_id).persist_current_turn("Mine?", "Yours.", {"model": "m"})

    imported(conversation("c", *AGAIN[:4], message("q3", "a1", "In winter?", at=8)))

    begun = FIRST_PATH[:2]
    assert paths(database, conversation_id) == [[*begun, "Mine?", "Yours."], FIRST_PATH, [*begun, "In winter?"]]


def test_what_the_person_asked_behind_an_answer_keeps_it_when_the_source_goes_on_from_another(database, imported):
    imported(conversation("c", AGAIN[0], AGAIN[4]))
    conversation_id = only(database).conversation_id
    Conversation(ADA, database, conversation_id).persist_current_turn("Mine?", "Yours.", {"model": "m"})

    imported(conversation("c", *AGAIN, current_id="a2"))

    here = [*SECOND_PATH, "Mine?", "Yours."]
    assert texts(database, conversation_id) == here
    assert paths(database, conversation_id) == [here, FIRST_PATH]


def grown(chance):
    """Messages of a source whose answers are made again and whose questions are asked again, anywhere."""
    tree = [message("q0", None)]
    for number in range(1, chance.randint(4, 14)):
        name = f"{chance.choice('qaa')}{number}"
        tree.append(message(name, chance.choice(tree[-4:]).source_id, at=number))
    return tree


def in_source(tree, name):
    """The path to a message at its source."""
    parents = {each.source_id: each.parent_id for each in tree}
    path = []
    while name is not None:
        path.append(name)
        name = parents[name]
    return path[::-1]


def first_part(tree, length, chance):
    """An export of the first messages, which shows one of its paths."""
    leaves = {each.source_id for each in tree[:length]} - {each.parent_id for each in tree[:length]}
    return conversation("c", *tree[:length], current_id=chance.choice(sorted(leaves)))


def paths_to_all(database):
    """The text of each message, and what its path reads like up to it."""
    own = {"database": database, "user_email": ADA}
    here = {**own, "conversation_id": only(database).conversation_id}
    for each in list_messages_of_all_branches(**here):
        choose_branch_with(**own, message_id=each.message_id)
        path = [one.text for one in list_messages(**here)]
        yield each.text, path[: path.index(each.text) + 1]


@pytest.mark.parametrize("seed", range(12))
def test_whatever_grows_each_path_reads_as_in_the_source_and_nothing_comes_twice(database, imported, seed):
    chance = random.Random(seed)
    tree = grown(chance)
    for length in sorted({chance.randint(1, len(tree)), len(tree)}):
        export = first_part(tree, length, chance)
        imported(export)
        *above, last = texts(database, only(database).conversation_id)
        shown = in_source(tree, export.current_id)
        # Which of several variants is shown at the end stays as it was.
        assert (above, in_source(tree, last)[:-1]) == (shown[:-1], shown[:-1])
        assert counts(imported(export)) == ("done", 0, 0, 1, 0)
    for text, path in paths_to_all(database):
        assert path == in_source(tree, text)


@pytest.mark.parametrize("seed", range(30))
def test_wherever_the_person_goes_on_each_path_reads_as_it_did_and_the_others_as_in_the_source(
    database, imported, seed
):
    chance = random.Random(seed)
    tree, own = grown(chance), {"database": database, "user_email": ADA}
    said = {}
    for length in sorted({*(chance.randint(1, len(tree)) for _ in range(2)), len(tree)}):
        before = texts(database, only(database).conversation_id) if said else None
        export = first_part(tree, length, chance)
        imported(export)
        conversation_id = only(database).conversation_id
        assert before is None or texts(database, conversation_id) == before
        assert counts(imported(export)) == ("done", 0, 0, 1, 0)
        for turn in range(chance.randint(0, 2)):
            there = chance.choice(list_messages_of_all_branches(**own, conversation_id=conversation_id))
            choose_branch_with(**own, message_id=there.message_id)
            turn = [f"Mine {len(said)}?", f"Yours {len(said)}."]
            above = texts(database, conversation_id)
            Conversation(ADA, database, conversation_id).persist_current_turn(*turn, {"model": "m"})
            said |= {text: [*above, *turn[: place + 1]] for place, text in enumerate(turn)}
    for text, path in paths_to_all(database):
        assert path == (said.get(text) or in_source(tree, text))


def test_a_path_that_a_later_import_began_is_taken_back_alone(database, imported, taken_back):
    imported(conversation("c", *AGAIN[:4]))
    more = (message("q3", "b1", "On what?", at=5), message("a3", "q3", "On the heat.", at=6))
    longer = conversation("c", *AGAIN, *more, current_id="a3")
    second = imported(longer)

    assert taken_back(second).kept == []
    conversation_id = only(database).conversation_id
    assert texts(database, conversation_id) == FIRST_PATH
    assert list_branches(database=database, user_email=ADA, conversation_id=conversation_id) == []
    assert counts(imported(longer)) == ("done", 0, 1, 0, 0)
    assert texts(database, conversation_id) == [*SECOND_PATH, "On what?", "On the heat."]


STEPS = (
    message("q1", None, "How much water?"),
    message("a1", "q1", "Two litres.", at=1),
    message("q2", "a1", "And in summer?", at=2),
    message("a2", "q2", "Three.", at=3),
    message("q3", "a1", "In winter?", at=4),
    message("a3", "q3", "One.", at=5),
    message("q4", "a1", "At night?", at=6),
    message("a4", "q4", "None.", at=7),
    message("q5", "a4", "At noon?", at=8),
)
WINTER, NIGHT = [*SECOND_PATH[:1], "Two litres.", "In winter?", "One."], [*SECOND_PATH[:1], "Two litres.", "At night?"]


@pytest.mark.parametrize("more", [(), STEPS[6:]])
def test_what_was_asked_in_the_place_of_a_question_that_is_taken_back_stands_there(
    database, imported, taken_back, more
):
    imported(conversation("c", *STEPS[:2]))
    middle = imported(conversation("c", *STEPS[:4]))
    imported(conversation("c", *STEPS[:6], *more))
    conversation_id = only(database).conversation_id
    shown = texts(database, conversation_id)

    assert taken_back(middle).kept == []
    assert texts(database, conversation_id) in (shown, WINTER)
    if more:
        assert paths(database, conversation_id) == [WINTER, [*NIGHT, "None.", "At noon?"]]
    else:
        assert list_branches(database=database, user_email=ADA, conversation_id=conversation_id) == []
    assert counts(imported(conversation("c", *STEPS[:6], *more))) == ("done", 0, 1, 0, 0)
    assert {tuple(path) for path in paths(database, conversation_id)} >= {tuple(WINTER), tuple(FIRST_PATH)}
    if database.backend.name == "SQLite":
        assert [found for found in verify_store(database) if not found.fine] == []


def test_imports_are_taken_back_from_the_middle_on(database, imported, taken_back):
    imported(conversation("c", *STEPS[:2]))
    others = [imported(conversation("c", *STEPS[:count])) for count in (4, 6)]

    assert [taken_back(each).kept for each in others] == [[], []]
    conversation_id = only(database).conversation_id
    assert texts(database, conversation_id) == FIRST_PATH[:2]
    assert list_branches(database=database, user_email=ADA, conversation_id=conversation_id) == []
    assert counts(imported(conversation("c", *STEPS))) == ("done", 0, 1, 0, 0)


def test_a_question_behind_the_one_that_is_taken_back_keeps_its_place_among_those_asked_beside_it(
    database, imported, taken_back
):
    imported(conversation("c", *STEPS[:2]))
    middle = imported(conversation("c", *STEPS[:4]))
    behind = message("q6", "a2", "At sea?", at=9)
    imported(conversation("c", *STEPS[:6], behind))
    conversation_id = only(database).conversation_id

    taken_back(middle)
    assert paths(database, conversation_id) == [[*FIRST_PATH[:2], "At sea?"], WINTER]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_person_moved_the_next_import_adds_what_is_new_alone(database, imported, seed):
    chance = random.Random(seed)
    tree = grown(chance)
    length = chance.randint(2, len(tree))
    imported(conversation("c", *tree[:length]))
    own = {"database": database, "user_email": ADA, "conversation_id": only(database).conversation_id}
    if chance.random() < 0.6:
        Conversation(ADA, database, own["conversation_id"]).persist_current_turn("Mine?", "Yours.", {"model": "m"})
    shown = [each.message_id for each in list_messages(**own)]
    for _ in range(chance.randint(1, 3)):
        move_messages(**own, message_ids=[chance.choice(shown)], direction=chance.choice(["up", "down"]))

    for part in (tree[:length], tree):
        before = [each.message_id for each in list_messages_of_all_branches(**own)]
        imported(conversation("c", *part, title=f"{len(part)} messages"))
        stands = [each.message_id for each in list_messages_of_all_branches(**own)]
        assert part is tree or stands == before
        imported(conversation("c", *part, title="Again"))
        assert [each.message_id for each in list_messages_of_all_branches(**own)] == stands


def test_an_answer_that_was_moved_before_its_question_leaves_no_second_question(database, imported):
    imported(conversation("c", *AGAIN[:2]))
    own = {"database": database, "user_email": ADA, "conversation_id": only(database).conversation_id}
    Conversation(ADA, database, own["conversation_id"]).persist_current_turn("Mine?", "Yours.", {"model": "m"})
    answer = list_messages(**own)[1]
    move_messages(**own, message_ids=[answer.message_id], direction="up")
    moved = ["Two litres.", "How much water?", "Mine?", "Yours."]
    assert texts(database, own["conversation_id"]) == moved

    imported(conversation("c", *AGAIN[:2], title="Again"))

    assert [each.text for each in list_messages_of_all_branches(**own)] == moved
