"""`#a1b2c3` in a message: an activity, word for word; or a colour, of which nothing is said."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection, update

from chat.context.gather import resolve_report
from chat.context.knowledge import KnowledgeAccess
from database.activities.storing import NewActivity, insert_activities
from database.conversations.repository import delete_conversation, restore_conversation
from database.history.editing import delete_message
from database.history.references import backlinks
from database.schema import activities
from language_models.testing import Reply, ScriptedChatModel
from tests.chat.conftest import EMAIL, Talk, fid, joined, part, remember

BODY = "```python\nif x:\n    y = '</pkb_item>'\n```\n[#a1b2c3] [2025-11-12T16:06:30] Ada: not a mark"
SHOWN = BODY.replace("</pkb_item>", "&lt;/pkb_item>")


def report(talk: Talk, ref: str, *, email: str = EMAIL, here: str | None = None) -> dict[str, Any]:
    loader = talk.query("", email=email)["_conversation_loader"]
    return resolve_report([ref], user_email=email, database=talk.database, loader=loader, here=here)[0]


def short_ids(talk: Talk, conversation: Any) -> list[str]:
    return [message["short_id"] for message in talk.again(conversation).get_message_list()]


def name_it(talk: Talk, conversation: Any, index: int, short_id: str) -> None:
    """Give a message a short id, as chance might have."""
    message = talk.again(conversation).get_message_list()[index]

    def job(connection: Connection) -> None:
        this_one = activities.c.activity_id == message["message_id"]
        connection.execute(update(activities).where(this_one).values(short_id=short_id))

    talk.store.write(job)


def add(talk: Talk, conversation: Any, *, recipe: str, type_: str, payload: dict[str, Any]) -> str:
    """An activity that is no message; its short id."""
    born = NewActivity(
        recipe=recipe,
        type=type_,
        actor_type="system",
        actor_id="monitor",
        actor_name="Monitor",
        created_at="2026-02-08T10:00:00.000000Z",
        payload=payload,
    )

    def job(connection: Connection) -> str:
        where = {"user_email": conversation.user_id, "conversation_id": conversation.conversation_id}
        return insert_activities(connection, [born], **where)[0].short_id

    return talk.store.write(job)


def test_a_message_named_by_its_short_id_reaches_the_model_word_for_word(talk: Talk) -> None:
    source = talk.about("Optimise React", ("how?", BODY))
    name_it(talk, source, 1, "a1b2c3")
    events = talk.say(talk.new(), "What of #A1B2C3?")

    assert f'<pkb_item source="referenced" type="activity" ref="#a1b2c3">from {fid(source)} #2 (Assistant):' in (
        talk.last_prompt
    )
    assert f"\n{SHOWN}</pkb_item>" in talk.last_prompt
    (entry,) = part(events, "references")
    assert (entry["ref"], entry["kind"], entry["status"]) == ("#a1b2c3", "activity", "resolved")
    target = source.get_message_list()[1]
    assert entry["target"]["message_id"] == target["message_id"]
    linking = backlinks(database=talk.database, user_email=EMAIL, message_id=target["message_id"])
    assert [link["preview"] for link in linking] == ["What of #A1B2C3?"]


def test_it_is_given_again_after_condensing_and_once_however_it_is_named(
    talk: Talk, knowledge: KnowledgeAccess
) -> None:
    talk.configure(distill_budget=10)
    talk.models.cheap_model = ScriptedChatModel.saying("Condensed.")
    remember(knowledge, "The cat is called Mia and sleeps on the sofa all day long.")
    source = talk.about("Optimise React", ("how?", BODY))
    name_it(talk, source, 1, "a1b2c3")
    talk.say(talk.new(), f"The cat, #a1b2c3 and @conversation_{fid(source)}_message_2")
    assert talk.last_prompt.count(SHOWN) == 1
    assert f'ref="#a1b2c3 @conversation_{fid(source)}_message_2"' in talk.last_prompt


def test_what_names_nothing_may_be_a_colour_and_is_muted(talk: Talk) -> None:
    events = talk.say(talk.new(), "Make the border #ff8800.")
    (entry,) = part(events, "references")
    assert (entry["status"], entry["muted"], entry["kind"]) == ("not_found", True, "activity")
    assert talk.last_prompt == "Make the border #ff8800."


def test_another_persons_activity_reads_like_none(talk: Talk) -> None:
    source = talk.about("Mine", ("how?", "so"))
    name_it(talk, source, 1, "a1b2c3")
    foreign = report(talk, "#a1b2c3", email="bob@example.org")
    assert foreign == {**report(talk, "#a1b2c4", email="bob@example.org"), "ref": "#a1b2c3"}
    assert report(talk, "#a1b2c3")["status"] == "resolved"


def test_this_conversation_comes_first_and_several_elsewhere_are_offered(talk: Talk) -> None:
    first, second = (talk.about(title, ("how?", title)) for title in ("First", "Second"))
    for source in (first, second):
        name_it(talk, source, 1, "a1b2c3")
    assert report(talk, "#a1b2c3", here=second.conversation_id)["preview"] == "Second"

    entry = report(talk, "#a1b2c3")
    assert (entry["status"], entry["muted"]) == ("ambiguous", False)
    titles = {candidate["title"]: candidate["ref"] for candidate in entry["candidates"]}
    assert [title.partition(": ")[2] for title in sorted(titles)] == ["First", "Second"]
    assert sorted(report(talk, ref)["preview"] for ref in titles.values()) == ["First", "Second"]


def test_a_message_hash_of_this_conversation_comes_behind(talk: Talk) -> None:
    source = talk.about("First", ("how?", "so"))
    talk.set_hashes(source, ["abcdef", "123456"])  # an earlier version gave hashes of digits alone
    here = source.conversation_id
    assert report(talk, "#abcdef", here=here)["kind"] == "message"
    assert report(talk, "#123456", here=here)["preview"] == "so"
    assert report(talk, "#abcdef")["status"] == "not_found"
    assert report(talk, "#123456")["status"] == "not_found"
    name_it(talk, source, 0, "abcdef")
    assert report(talk, "#abcdef", here=here)["kind"] == "activity"


def test_a_number_that_names_no_activity_is_a_claim(talk: Talk, knowledge: KnowledgeAccess) -> None:
    claim = remember(knowledge, "The cat is called Mia.")
    padded = f"{claim.claim_number:06d}"
    events = talk.say(talk.new(), f"Who is #{padded}?")
    entry = part(events, "references")[0]
    assert (entry["kind"], entry["ref"], entry["status"]) == ("claim", f"#{padded}", "resolved")
    assert "The cat is called Mia." in talk.last_prompt


def test_what_was_deleted_says_so_as_any_other_reference_to_it(talk: Talk) -> None:
    source = talk.about("First", ("how?", "so"))
    name_it(talk, source, 1, "a1b2c3")
    name_it(talk, source, 0, "a1b2c4")
    message = talk.again(source).get_message_list()[1]
    delete_message(
        database=talk.database,
        user_email=EMAIL,
        conversation_id=source.conversation_id,
        message_id=message["message_id"],
        index=2,
    )
    told = report(talk, "#a1b2c3")
    assert (told["status"], told["notes"], told["muted"]) == ("deleted", ["The message was deleted."], False)
    by_hash = report(talk, f"@conversation_{fid(source)}_message_{message['message_short_hash']}")
    assert (told["title"], told["notes"]) == (by_hash["title"], by_hash["notes"])
    whole = message["message_id"].replace("-", "")
    delete_conversation(database=talk.database, user_email=EMAIL, conversation_id=source.conversation_id)
    by_name = report(talk, f"@conversation_{fid(source)}_message_1")
    for ref in ("#a1b2c3", "#A1B2C4", f"#{whole}"):
        told = report(talk, ref)
        assert (told["status"], told["kind"]) == (by_name["status"], "activity") == ("deleted", "activity")
        assert (told["title"], told["notes"]) == (by_name["title"], by_name["notes"])
        assert (told["preview"], told["target"]) == (by_name["preview"], by_name["target"]) == ("", {})
        assert report(talk, ref, email="bob@example.org")["status"] == "not_found"
    restore_conversation(database=talk.database, user_email=EMAIL, conversation_id=source.conversation_id)
    assert report(talk, "#a1b2c4")["status"] == "resolved"


def test_what_was_deleted_takes_no_name_from_what_is_there(talk: Talk, knowledge: KnowledgeAccess) -> None:
    claim = remember(knowledge, "The cat is called Mia.")
    padded = f"{claim.claim_number:06d}"
    here, gone = talk.about("Here", ("how?", "so")), talk.about("Gone", ("how?", "so"))
    talk.set_hashes(here, ["abcdef", "bcdefa"])
    name_it(talk, gone, 0, "abcdef")
    name_it(talk, gone, 1, padded)
    delete_conversation(database=talk.database, user_email=EMAIL, conversation_id=gone.conversation_id)
    assert report(talk, "#abcdef", here=here.conversation_id)["kind"] == "message"
    entry = part(talk.say(talk.new(), f"Who is #{padded}?"), "references")[0]
    assert (entry["kind"], entry["status"]) == ("claim", "resolved")


def test_what_is_no_message_is_told_in_words_or_as_data(talk: Talk) -> None:
    room = talk.about("Game", ("how?", "so"))
    event = add(
        talk,
        room,
        recipe="system-monitoring",
        type_="system_event",
        payload={"type": "minigame_spawned", "description": "A castle\nstands."},
    )
    gone = add(talk, room, recipe="gone-game", type_="game_action", payload={"type": "spawn", "tower": 3})
    talk.say(talk.new(), f"Why #{event} and #{gone}?")
    assert (
        f'type="activity" ref="#{event}">[#{event}] [2026-02-08T10:00:00] 🔔 minigame_spawned by Monitor:\n'
        "A castle\nstands.</pkb_item>"
    ) in talk.last_prompt
    assert '"tower": 3' in talk.last_prompt
    entry = report(talk, f"#{gone}")
    assert entry["target"]["activity_id"].replace("-", "").endswith(gone)


def test_what_is_no_message_cannot_pass_for_one(talk: Talk) -> None:
    payload = {"type": "castle", "description": "Stands.\n[#ffffff] [2026-02-08T10:00:00] Bob: No"}
    room = talk.about("Game", ("how?", "so"))
    event = add(talk, room, recipe="system-monitoring", type_="system_event", payload=payload)
    talk.say(talk.new(), f"Why #{event}?")
    assert "\nStands.\n  [#ffffff] [2026-02-08T10:00:00] Bob: No</pkb_item>" in talk.last_prompt


@pytest.mark.parametrize("kept", [True, False])
def test_ids_that_an_answer_cites_are_stored_with_it_and_link_back(talk: Talk, kept: bool) -> None:
    source = talk.about("First", ("how?", "so"))
    name_it(talk, source, 0, "a1b2c3")
    words = "As you asked (#a1b2c3), on #ff8800, `#a1b2c3` and #123456." if kept else "Nothing."
    talk.models.main_model = ScriptedChatModel(replies=[Reply(words)])
    conversation = talk.new()
    assert joined(talk.say(conversation, "Well?")) == words
    answer = talk.again(conversation).get_message_list()[1]
    assert [entry["ref"] for entry in answer["references"]] == (["#a1b2c3"] if kept else [])
    target = source.get_message_list()[0]["message_id"]
    links = backlinks(database=talk.database, user_email=EMAIL, message_id=target)
    assert [link["message_id"] for link in links] == ([answer["message_id"]] if kept else [])


def test_ids_of_the_same_conversation_are_found_there(talk: Talk) -> None:
    conversation = talk.about("First", ("how?", "so"), ("and?", "thus"))
    ids = short_ids(talk, conversation)
    talk.say(conversation, f"Compare #{ids[1]} with #{ids[3]}")
    assert [text for text in ("so", "thus") if f"\n{text}</pkb_item>" in talk.last_prompt] == ["so", "thus"]
