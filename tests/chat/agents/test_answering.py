"""Messages that name agents: who answers, what each is given, and what is stored of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from chat.turns.accept import ANSWER_AGAIN, ASKED_INSTEAD_OF
from chat.turns.runner import TurnRunner
from Conversation import Conversation
from database.agents.inbox import peek
from database.agents.repository import (
    Agent,
    AgentRules,
    assign_conversation,
    create_agent,
    delete_agent,
    replace_agent,
)
from database.conversations.overview import conversation_overviews
from database.conversations.repository import update_conversation
from database.history.reading import last_messages
from database.maintenance.verification import verify_store
from database.schema import messages
from database.search.indexing import index_pending
from language_models.errors import ModelFailedError, ModelUnknownError
from language_models.testing import Hold, Reply, ScriptedChatModel
from search.meaning import MessageVectors
from tests.chat.conftest import EMAIL, Talk, joined, parsed, part, wait_until
from tests.search.thesaurus import Thesaurus

NAMES = {"Botanist": "You know plants.", "Cook": "You cook.", "Critic": ""}


@dataclass
class Room:
    """Three agents, each with a model of its own. replies: what each says, by title."""

    agents: dict[str, Agent]
    models: dict[str, ScriptedChatModel]
    replies: dict[str, Reply]

    def __getitem__(self, title: str) -> Agent:
        return self.agents[title]

    def told(self, title: str) -> list[str]:
        """The contents of the last prompt that an agent was given."""
        return [message["content"] for message in self.models[title].prompts[-1]]


@pytest.fixture
def room(talk: Talk) -> Room:
    """A botanist, a cook and a critic."""
    replies = {title: Reply(f"{title} speaks.") for title in NAMES}

    def replying(title: str) -> ScriptedChatModel:
        return ScriptedChatModel(replies=lambda _prompt: replies[title], name=title.lower())

    models = {title: replying(title) for title in NAMES}

    def for_name(setting: str) -> ScriptedChatModel:
        if setting.title() not in models:
            raise ValueError(f"no model {setting}")
        return models[setting.title()]

    talk.models.for_name = for_name  # type: ignore[method-assign]
    agents = {title: made(talk, title=title, system_prompt=told, model=title.lower()) for title, told in NAMES.items()}
    return Room(agents, models, replies)


def made(talk: Talk, **rules: Any) -> Agent:
    """A new agent."""
    return create_agent(database=talk.database, user_email=EMAIL, rules=AgentRules(**rules))


def said(talk: Talk, conversation: Conversation) -> list[tuple[str, str | None]]:
    """Text and agent of each message."""
    return [(each["text"], (each["agent"] or {}).get("title")) for each in talk.again(conversation).get_message_list()]


def fates(events: list[dict[str, Any]]) -> dict[str, str]:
    return {entry["ref"]: entry["status"] for entry in events[0]["references"]}


def test_the_agent_that_a_message_names_answers_instead_of_the_model(talk: Talk, room: Room) -> None:
    conversation = talk.new()
    events = talk.say(conversation, "What grows here, @agent_botanist?")
    assert said(talk, conversation)[1:] == [("Botanist speaks.", "Botanist")]
    assert talk.models.main_model.prompts == []
    assert room.told("Botanist")[0].startswith("You are Botanist.\n\nYou know plants.")
    assert fates(events) == {"@agent_botanist": "resolved"}
    assert part(events, "answer")["agent"] == room["Botanist"].identity
    (answer,) = talk.again(conversation).get_message_list()[1:]
    assert (answer["config"]["model"], answer["reply_to_id"]) == ("botanist", None)


def test_several_agents_answer_one_after_the_other_in_one_thread_each_seeing_the_answers_before(
    talk: Talk, room: Room, runner: TurnRunner
) -> None:
    conversation = talk.new()
    query = talk.query("@agent_cook and @agent_Botanist: soup?", agents=[room["Critic"].agent_id, "cook"])
    events = parsed(runner.start(conversation, query).lines())
    question, *answers = talk.again(conversation).get_message_list()
    assert [(each["text"], each["agent"]) for each in answers] == [
        (f"{title} speaks.", room[title].identity) for title in ("Critic", "Cook", "Botanist")
    ]
    assert {each["reply_to_id"] for each in answers} == {question["message_id"]}
    assert {each["thread_id"] for each in answers} == {question["thread_id"]} != {None}
    assert [event["answer"]["agent"]["title"] for event in events if "answer" in event] == [
        "Critic",
        "Cook",
        "Botanist",
    ]
    assert "Critic speaks." not in room.told("Critic")[-1]
    assert "Critic:\nCritic speaks." in room.told("Cook")[-1]
    assert "Cook:\nCook speaks." in room.told("Botanist")[-1]
    assert room.told("Cook")[0].startswith("You are Cook.")
    assert room.told("Critic")[0].startswith("You are a helpful assistant")
    assert list(verify_store(database=talk.database)) == []
    own = {"database": talk.database, "user_email": EMAIL, "conversation_id": conversation.conversation_id}
    assert [each.agent_title for each in last_messages(**own)] == [None, "Critic", "Cook", "Botanist"]
    talk.say(talk.again(conversation), "And now?")
    assert "Critic:\nCritic speaks.\n\nCook:\nCook speaks." in talk.models.main_model.prompts[-1][2]["content"]


def test_agents_that_answer_are_participants_of_the_conversation(talk: Talk, room: Room) -> None:
    stranger = create_agent(database=talk.database, user_email="eve@example.com", rules=AgentRules(title="Stranger"))
    conversation, other = talk.new(), talk.new()
    talk.say(conversation, "@agent_botanist What grows?")
    talk.say(talk.again(conversation), "@agent_botanist @agent_cook And now?")
    talk.say(other, "@agent_critic Well?")
    # As in an import of what somebody else's agent answered.
    imported = update(messages).where(messages.c.sender == "user").values(config={"agent": stranger.identity})
    talk.database.write(lambda connection: connection.execute(imported))
    listed, _ = conversation_overviews(database=talk.database, user_email=EMAIL, limit=9, preview=9)
    assert {each.conversation_id: set(each.agent_ids) for each in listed} == {
        conversation.conversation_id: {room["Botanist"].agent_id, room["Cook"].agent_id},
        other.conversation_id: {room["Critic"].agent_id},
    }


def test_unknown_agents_are_in_the_report_and_when_none_is_left_the_own_model_answers(talk: Talk, room: Room) -> None:
    conversation = talk.new()
    events = talk.say(conversation, "Well, @agent_cook?", agents=["nobody"])
    assert fates(events) == {"@agent_nobody": "not_found", "@agent_cook": "resolved"}
    assert said(talk, conversation)[-1] == ("Cook speaks.", "Cook")
    delete_agent(database=talk.database, user_email=EMAIL, agent=room["Cook"].agent_id)
    events = talk.say(talk.again(conversation), "Well, @agent_cook?")
    assert fates(events) == {"@agent_cook": "not_found"}
    assert said(talk, conversation)[-1] == ("Fine, thank you.", None)
    assert not any("answer" in event for event in events)


def test_nobody_is_answered_by_an_agent_of_somebody_else(talk: Talk, room: Room) -> None:
    conversation = talk.new(email="eve@example.com")
    query = talk.query("@agent_cook", email="eve@example.com", agents=[room["Cook"].agent_id])
    events = list(conversation.reply(query))
    assert set(fates(events).values()) == {"not_found"}
    assert conversation.get_message_list()[-1]["agent"] is None


def test_at_most_six_agents_answer_a_message(talk: Talk) -> None:
    slugs = [made(talk, title=f"Number {n}").slug for n in range(8)]
    conversation = talk.new()
    events = talk.say(conversation, "All of you!", agents=slugs)
    assert [title for _, title in said(talk, conversation)[1:]] == [f"Number {n}" for n in range(6)]
    assert list(fates(events).values()) == ["resolved"] * 6 + ["unavailable"] * 2


def test_the_agent_of_a_conversation_answers_unless_others_are_named(talk: Talk, room: Room) -> None:
    conversation = talk.new()
    own = {"database": talk.database, "user_email": EMAIL, "conversation_id": conversation.conversation_id}
    assign_conversation(**own, agent="cook")
    talk.say(talk.again(conversation), "Soup?")
    talk.say(talk.again(conversation), "Herbs, @agent_botanist?")
    delete_agent(database=talk.database, user_email=EMAIL, agent="cook")
    talk.say(talk.again(conversation), "Still there?")
    assert [title for _, title in said(talk, conversation)[1::2]] == ["Cook", "Botanist", None]


def test_an_answer_is_made_again_by_the_agent_that_gave_it_who_sees_the_answers_before(talk: Talk, room: Room) -> None:
    conversation = talk.new()
    talk.say(conversation, "@agent_cook @agent_botanist @agent_critic: soup?")
    again = talk.again(conversation).get_message_list()[2]["message_id"]
    room.replies["Botanist"] = Reply("Sorrel.")
    talk.say(talk.again(conversation), "", **{ANSWER_AGAIN: again})
    assert said(talk, conversation)[1:] == [
        ("Cook speaks.", "Cook"),
        ("Sorrel.", "Botanist"),
        ("Critic speaks.", "Critic"),
    ]
    last = room.told("Botanist")[-1]
    assert "Cook:\nCook speaks." in last
    assert "Critic speaks." not in last
    delete_agent(database=talk.database, user_email=EMAIL, agent="botanist")
    events = talk.say(talk.again(conversation), "", **{ANSWER_AGAIN: again})
    assert said(talk, conversation)[2] == ("Fine, thank you.", None)
    assert any("The agent Botanist is not there any more" in event.get("notice", "") for event in events)


def test_a_question_asked_in_another_branch_is_answered_by_those_whom_it_names(talk: Talk, room: Room) -> None:
    conversation = talk.new()
    talk.say(conversation, "Soup?", agents=["cook"])
    question = talk.again(conversation).get_message_list()[0]["message_id"]
    talk.say(talk.again(conversation), "Salad, @agent_botanist?", **{ASKED_INSTEAD_OF: question})
    assert [title for _, title in said(talk, conversation)] == [None, "Cook", "Botanist"]


def test_an_agent_whose_model_is_gone_answers_by_the_main_model_and_says_so(talk: Talk, room: Room) -> None:
    who = {"database": talk.database, "user_email": EMAIL}
    replace_agent(**who, agent="cook", rules=AgentRules(title="Chef", model="gone"))
    conversation = talk.new()
    events = talk.say(conversation, "Soup, @agent_cook?")
    assert said(talk, conversation)[1] == ("Fine, thank you.", "Chef")
    assert any("gone, which Chef has chosen, is not there any more" in event.get("notice", "") for event in events)


def test_no_answer_of_a_turn_is_found_for_another_one_of_it(talk: Talk, room: Room) -> None:
    model = Thesaurus()
    vectors = MessageVectors(database=talk.database, model=lambda: model)
    talk.models.main_model = ScriptedChatModel(replies=[Reply("Fine.")], context_window=32_000)
    talk.configure(vectors=vectors)
    talk.about("Elsewhere", ("Hello.", "Hello."))

    def embedded() -> None:
        index_pending(database=talk.database)
        vectors.embed_pending()

    def gone(_prompt: object) -> Reply:
        embedded()
        return Reply(error=ModelUnknownError("no such model"))

    room.replies |= {"Botanist": Reply("Bicycle."), "Cook": Reply("My automobile rattles.")}
    # The last of three has a model that its provider does not know any more, once the others have been indexed.
    room.models["Critic"] = ScriptedChatModel(replies=gone, name="critic")
    conversation = talk.new()
    talk.say(conversation, "What is wrong with the car?", agents=["botanist", "cook", "critic"])
    assert said(talk, conversation)[1:] == [
        ("Bicycle.", "Botanist"),
        ("My automobile rattles.", "Cook"),
        ("Fine.", "Critic"),
    ]
    assert "Cook:\nMy automobile rattles." in talk.last_prompt
    assert "pkb_item" not in talk.last_prompt
    # Nor when it is made again.
    embedded()
    again = talk.again(conversation).get_message_list()[3]["message_id"]
    room.models["Critic"] = ScriptedChatModel(replies=[Reply("Again.")], context_window=32_000, name="critic")
    talk.say(talk.again(conversation), "", **{ANSWER_AGAIN: again})
    assert "My automobile rattles." in "".join(room.told("Critic"))
    assert "pkb_item" not in "".join(room.told("Critic"))


def test_where_nothing_is_kept_the_first_agent_alone_answers(talk: Talk, room: Room) -> None:
    conversation = talk.new()
    own = {"database": talk.database, "user_email": EMAIL, "conversation_id": conversation.conversation_id}
    update_conversation(**own, changes={"stateless": True})
    events = talk.say(talk.again(conversation), "@agent_cook @agent_botanist: soup?")
    assert [event["answer"]["agent"]["title"] for event in events if "answer" in event] == ["Cook"]
    assert any("Cook alone answers" in event.get("notice", "") for event in events)
    assert said(talk, conversation) == []


def test_stopping_ends_the_answer_being_written_and_the_next_agents_do_not_begin(
    talk: Talk, room: Room, runner: TurnRunner
) -> None:
    room.replies["Botanist"] = Reply("Sor", Hold(), "rel.")
    conversation = talk.new()
    stream = runner.start(conversation, talk.query("@agent_cook @agent_botanist @agent_critic: soup?"))
    wait_until(lambda: any(b'"Sor"' in line for line in stream._lines))
    assert runner.cancel(user_email=EMAIL, conversation_id=conversation.conversation_id)
    parsed(stream.lines())
    assert said(talk, conversation)[1:] == [("Cook speaks.", "Cook"), ("Sor", "Botanist")]


def test_a_title_stays_with_the_answers_given_under_it(talk: Talk, room: Room) -> None:
    conversation = talk.new()
    talk.say(conversation, "@agent_cook @agent_botanist: soup?")
    who = {"database": talk.database, "user_email": EMAIL}
    replace_agent(**who, agent="cook", rules=AgentRules(title="Chef"))
    delete_agent(**who, agent="botanist", for_good=True)
    assert [title for _, title in said(talk, conversation)[1:]] == ["Cook", "Botanist"]


def test_a_bundle_brings_the_agents_titles_along(talk: Talk, room: Room, tmp_path: Path) -> None:
    conversation = talk.new()
    talk.say(conversation, "@agent_cook @agent_botanist: soup?")
    folder = talk.again(conversation).save_local(tmp_path / "bundle")
    loaded = Conversation.load_local(folder)
    assert [each["agent"] and each["agent"]["title"] for each in loaded.get_message_list()] == [
        None,
        "Cook",
        "Botanist",
    ]


def waiting_for(talk: Talk, agent: Agent) -> list[str]:
    """What waits in the inbox of an agent."""
    items = peek(database=talk.database, user_email=EMAIL, agent_id=agent.agent_id, limit=10)
    return [str(item.activity.text) for item in items]


def test_a_message_waits_for_the_agent_that_answers_later_while_the_others_answer(talk: Talk) -> None:
    later = made(talk, title="Later", service="later")
    made(talk, title="Now")
    conversation = talk.new()
    events = talk.say(conversation, "@agent_later and @agent_now?")
    assert joined(events) == "Fine, thank you."
    entries = {entry["ref"]: entry for entry in part(events, "references")}
    assert "waits in its inbox" in str(entries["@agent_later"])
    assert waiting_for(talk, later) == ["@agent_later and @agent_now?"]


def test_where_everybody_who_is_asked_answers_later_no_model_is_asked(talk: Talk) -> None:
    later = made(talk, title="Later", service="later")
    conversation = talk.new()
    assign_conversation(
        database=talk.database, user_email=EMAIL, conversation_id=conversation.conversation_id, agent="later"
    )
    conversation = talk.again(conversation)
    for text in ("@agent_later?", "Whoever is here?"):
        events = talk.say(conversation, text)
        assert joined(events) == ""
        assert part(events, "answer_status") == "complete"
        assert "Later will answer later" in part(events, "part")["text"]
    assert talk.models.main_model.prompts == []
    assert waiting_for(talk, later) == ["@agent_later?", "Whoever is here?"]


def test_an_answer_of_a_model_reaches_the_inboxes_whose_rules_take_it_once_it_is_complete(talk: Talk) -> None:
    rule = {"conversation_id": None, "recipe": "general-discussion", "type": "chat_message", "from_agents": True}
    reader = made(talk, title="Reader", rules=[rule], service="later")
    talk.say(talk.new(), "Hello")
    assert waiting_for(talk, reader) == ["Hello", "Fine, thank you."]
    talk.models.main_model = ScriptedChatModel.failing(ModelFailedError("gone"), after=["Hel"])
    talk.say(talk.new(), "Again")
    assert waiting_for(talk, reader) == ["Hello", "Fine, thank you.", "Again"]
