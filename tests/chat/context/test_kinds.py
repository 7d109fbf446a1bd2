"""Kinds of references: recognised by form, looked up together, suggested, shown; one more from outside."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from chat.context import kinds
from chat.context.gather import resolve_report, stored_scope, unresolved
from chat.context.kinds import ReferenceScope, Suggestion
from chat.context.knowledge import KnowledgeAccess
from chat.exchange.report import ReportEntry, Resolution
from chat.prompting.items import PkbItem
from Conversation import Conversation
from database.agents.repository import AgentRules, create_agent, list_agents
from database.conversations.friendly_ids import add_alias
from database.conversations.repository import create_conversation, set_friendly_id, update_conversation
from tests.chat.conftest import EMAIL, Talk, fid, remember


class Tickets:
    """What an extension adds: tickets of a person, by number."""

    signs: Sequence[str] = ("@",)
    icons: Mapping[str, str] = {"ticket": "flag"}

    def __init__(self, titles: Mapping[str, str]) -> None:
        self.titles = titles
        self.asked: list[Sequence[str]] = []

    def recognise(self, name: str) -> str | None:
        return "ticket" if name.startswith("ticket_") else None

    def resolve(self, names: Sequence[str], scope: ReferenceScope) -> list[Resolution]:
        self.asked.append(list(names))
        assert scope.user_email == EMAIL
        return [self._resolved(name) for name in names]

    def _resolved(self, name: str) -> Resolution:
        title = self.titles.get(name)
        if title is None:
            return Resolution(entry=ReportEntry(ref=f"@{name}", kind="ticket", status="not_found"), passes_on=True)
        item = PkbItem(source="referenced", type="ticket", refs=(f"@{name}",), key=f"ticket:{name}", body=title)
        target = {"ticket_id": name.removeprefix("ticket_")}
        entry = ReportEntry(ref=f"@{name}", kind="ticket", status="resolved", title=title, target=target)
        return Resolution(entry=entry, items=(item,))

    def suggest(self, typed: str, scope: ReferenceScope, *, limit: int) -> list[Suggestion]:
        del scope
        named = [Suggestion(kind="ticket", reference=name, title=title) for name, title in self.titles.items()]
        return [each for each in named if each.reference.startswith(typed)][:limit]

    def permalink(self, entry: Mapping[str, Any]) -> str | None:
        return f"/tickets/{entry['target']['ticket_id']}"


@pytest.fixture
def tickets(monkeypatch: pytest.MonkeyPatch) -> Tickets:
    """A further kind, registered for one test."""
    added = Tickets({"ticket_7": "The printer is on fire."})
    monkeypatch.setattr(kinds, "KINDS", [added, *kinds.KINDS])
    return added


class Orders(Tickets):
    """A kind whose names begin with a "#", or stand between two brackets."""

    signs = ("#", "[[")
    icons: Mapping[str, str] = {"order": "box"}

    def recognise(self, name: str) -> str | None:
        return "order" if name.startswith(("#T-", "[[order ")) else None

    def _resolved(self, name: str) -> Resolution:
        found = super()._resolved(name)
        entry = replace(found.entry, kind="order", ref=name)
        return replace(found, entry=entry, items=tuple(replace(item, refs=(name,)) for item in found.items))

    def suggest(self, typed: str, scope: ReferenceScope, *, limit: int) -> list[Suggestion]:
        return [replace(each, kind="order") for each in super().suggest(typed, scope, limit=limit)]


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> Orders:
    """A further kind with signs of its own, registered for one test."""
    added = Orders({"#T-7": "Seven apples.", "[[order 8]]": "Eight pears."})
    monkeypatch.setattr(kinds, "KINDS", [added, *kinds.KINDS])
    return added


def scope_of(talk: Talk) -> ReferenceScope:
    def load(conversation_id: str) -> Conversation:
        return Conversation(EMAIL, talk.store, conversation_id)

    return stored_scope(EMAIL, database=talk.database, loader=load, services=talk.services)


def report(talk: Talk, *names: str) -> list[dict[str, Any]]:
    def load(conversation_id: str) -> Conversation:
        return Conversation(EMAIL, talk.store, conversation_id)

    return resolve_report(names, user_email=EMAIL, database=talk.database, loader=load, services=talk.services)


def test_a_kind_from_outside_reaches_the_report_and_the_model(talk: Talk, tickets: Tickets) -> None:
    conversation = talk.new()
    events = talk.say(conversation, "What of @ticket_7 and @ticket_8?")
    found, missing = events[0]["references"]
    assert (found["kind"], found["status"], found["target"]) == ("ticket", "resolved", {"ticket_id": "7"})
    assert missing["status"] == "not_found"
    assert "The printer is on fire." in talk.last_prompt
    assert tickets.asked == [["ticket_7", "ticket_8"]]


def test_a_kind_from_outside_is_suggested_and_shown(talk: Talk, tickets: Tickets) -> None:
    offered = {"kind": "ticket", "reference": "ticket_7", "title": "The printer is on fire.", "icon": "flag"}
    assert kinds.suggest("tick", scope_of(talk), limit=5) == [offered]
    (entry,) = report(talk, "ticket_7")
    assert {name: kinds.shown(entry)[name] for name in ("icon", "permalink")} == {
        "icon": "flag",
        "permalink": "/tickets/7",
    }
    assert [entry.kind for entry in unresolved(["ticket_7", "conversation_a_b4f2", "x"], note="No.").report] == [
        "ticket",
        "conversation",
        "claim",
    ]
    assert tickets.titles


def test_a_kind_from_outside_is_completed_behind_the_sign_that_it_has(talk: Talk, orders: Orders) -> None:
    for typed, reference in (("#T", "#T-7"), ("#", "#T-7"), ("[[ord", "[[order 8]]"), ("[[", "[[order 8]]")):
        offered = [each for each in kinds.suggest(typed, scope_of(talk), limit=5) if each["kind"] == "order"]
        assert [(each["reference"], each["icon"]) for each in offered] == [(reference, "box")]
    for typed in ("", "T", "order"):
        assert "order" not in {each["kind"] for each in kinds.suggest(typed, scope_of(talk), limit=5)}
    assert orders.signs == ("#", "[[")


def test_what_is_asked_for_elsewhere_is_left_out(
    talk: Talk, tickets: Tickets, knowledge: KnowledgeAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk.about("Tickets of today", ("Hello", "Hi"))
    remember(knowledge, "Tickets are numbered.")
    known = ("conversation", "message", "message_range", "claim", "context", "entity", "tag", "domain")
    assert {each["kind"] for each in kinds.suggest("ticket", scope_of(talk), limit=5)} >= {"ticket", "conversation"}
    assert {each["kind"] for each in kinds.suggest("ticket", scope_of(talk), limit=5, without=["claim"])} == {
        "ticket",
        "conversation",
    }
    # Nobody looks for conversations or memories then.
    for kind in kinds.KINDS:
        if set(kind.icons) <= set(known):
            monkeypatch.setattr(type(kind), "suggest", None)
    (offered,) = kinds.suggest("ticket", scope_of(talk), limit=5, without=known)
    assert (offered["kind"], offered["title"]) == ("ticket", tickets.titles["ticket_7"])


def test_a_kind_with_a_sign_of_its_own_takes_no_others_behind_it(talk: Talk) -> None:
    talk.about("Bread Starter", ("Hello", "Hi"))
    for typed in ("#", "#a", "#4"):
        offered = {each["kind"] for each in kinds.suggest(typed, scope_of(talk), limit=5)}
        assert offered <= {"activity", "claim", "context", "entity", "tag", "domain"}
    for typed in ("", "a", "bread"):
        assert not {"activity", "document"} & {each["kind"] for each in kinds.suggest(typed, scope_of(talk), limit=5)}


def test_a_name_that_one_kind_does_not_know_is_left_to_the_next(
    talk: Talk, tickets: Tickets, knowledge: KnowledgeAccess
) -> None:
    claim = remember(knowledge, "The printer was mended.", friendly_id="ticket_9")
    (entry,) = report(talk, "ticket_9")
    assert (entry["kind"], entry["target"]["claim_id"]) == ("claim", claim.claim_id)
    assert tickets.asked == [["ticket_9"]]


def test_conversations_and_memories_are_suggested_together_and_say_where_they_are(
    talk: Talk, knowledge: KnowledgeAccess
) -> None:
    source = talk.about("Growing Tomatoes", ("How much water?", "Twice a day."))
    claim = remember(knowledge, "Tomatoes grow on the balcony.")
    offered = kinds.suggest("tomatoes", scope_of(talk), limit=5)
    assert [(each["kind"], each["reference"]) for each in offered] == [
        ("conversation", f"conversation_{fid(source)}"),
        ("claim", claim.friendly_id),
    ]
    names = (f"conversation_{fid(source)}_message_2", f"conversation_{fid(source)}", str(claim.friendly_id))
    permalinks = [kinds.shown(entry)["permalink"] for entry in report(talk, *names)]
    address = f"/interface/{source.conversation_id.replace('@', '%40')}"
    message_id = source.get_message_list()[1]["message_id"]
    assert permalinks == [f"{address}?message={message_id}", address, None]
    assert kinds.shown({"kind": "of a newer version", "target": {}})["icon"] is None


class TestDidYouMean:
    """A name that is nobody's comes with the names of the person's things that are spelled much like it."""

    @staticmethod
    def candidates(talk: Talk, name: str, *, email: str = EMAIL) -> list[str]:
        load = partial(Conversation, email, talk.store)
        (entry,) = resolve_report([name], user_email=email, database=talk.database, loader=load, services=talk.services)
        assert entry["status"] == "not_found"
        return [candidate["ref"] for candidate in entry["candidates"]]

    def test_of_conversations(self, talk: Talk) -> None:
        name = fid(talk.about("Bread Starter", ("Hello", "Hi")))
        assert self.candidates(talk, f"conversation_{name.replace('starter', 'startr')}") == [f"@conversation_{name}"]

    def test_of_messages_whose_conversation_is_misspelled(self, talk: Talk) -> None:
        name = fid(talk.about("Bread Starter", ("Hello", "Hi")))
        typed = name.replace("starter", "startr")
        assert self.candidates(talk, f"conversation_{typed}_message_2") == [f"@conversation_{name}_message_2"]

    @pytest.mark.parametrize("rest", ["message_2_file_1", "message_a3f2b1_file_2", "msg_2_file_1_pages_3-5"])
    @pytest.mark.parametrize("prefix", ["conversation", "conv", "Conversation"])
    def test_of_files_whose_conversation_is_misspelled(self, talk: Talk, prefix: str, rest: str) -> None:
        name = fid(talk.about("Bread Starter", ("Hello", "Hi")))
        typed = f"{prefix}_{name.replace('starter', 'startr')}_{rest}"
        assert self.candidates(talk, typed) == [f"@conversation_{name}_{rest}"]
        ((candidate,),) = (entry["candidates"] for entry in report(talk, typed))
        assert (candidate["kind"], candidate["title"]) == ("file", "Bread Starter")

    def test_of_messages_whose_conversation_is_called_like_what_follows(self, talk: Talk) -> None:
        own = {"database": talk.database, "user_email": EMAIL}
        made = create_conversation(**own, domain="assistant", title="Message 2").conversation_id
        set_friendly_id(**own, conversation_id=made, conversation_friendly_id="message_k3f9")
        assert self.candidates(talk, "conversation_mesage_k3f9_message_2") == ["@conversation_message_k3f9_message_2"]

    def test_a_file_that_its_message_lacks_is_not_corrected(self, talk: Talk) -> None:
        name = fid(talk.about("Bread Starter", ("Hello", "Hi")))
        assert self.candidates(talk, f"conversation_{name}_message_1_file_7") == []

    def test_of_agents(self, talk: Talk) -> None:
        who = {"database": talk.database, "user_email": EMAIL}
        create_agent(**who, rules=AgentRules(title="The Botanist"))
        create_agent(**who, rules=AgentRules(title="The Cook"))
        for typed in ("agent_the_botanst", "agent_teh_botanist", "Agent_the_botanist2"):
            assert self.candidates(talk, typed)[:1] == ["@agent_the_botanist"]
        ((candidate, *_),) = (entry["candidates"] for entry in report(talk, "agent_the_botanst"))
        assert candidate == {"kind": "agent", "ref": "@agent_the_botanist", "title": "The Botanist"}
        assert self.candidates(talk, "agent_the_botanst", email="bob@example.com") == []

    def test_not_of_short_ids_which_may_as_well_be_colours(self, talk: Talk) -> None:
        talk.about("Bread Starter", ("Hello", "Hi"))
        offered = [each for digit in string.hexdigits for each in kinds.suggest(f"#{digit}", scope_of(talk), limit=5)]
        name = next(each["reference"] for each in offered if each["kind"] == "activity")
        typed = f"{name[:-1]}{'a' if name[-1] != 'a' else 'b'}"
        (entry,) = report(talk, typed)
        assert (entry["status"], entry["muted"], entry["candidates"]) == ("not_found", True, [])

    def test_of_memories(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        claim = remember(knowledge, "I prefer morning workouts")
        typed = f"{claim.friendly_id[:-1]}{'1' if claim.friendly_id[-1] != '1' else '2'}"
        assert self.candidates(talk, typed) == [f"@{claim.friendly_id}"]

    def test_of_memories_whose_ids_have_no_digit(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        remember(knowledge, "I prefer morning workouts", friendly_id="prefer_morning_workouts_abcd")
        for typed in ("prefer_mornig_workouts_abcd", "prefer_morning_workouts_abce"):
            assert self.candidates(talk, typed) == ["@prefer_morning_workouts_abcd"]
            assert report(talk, typed)[0]["muted"] is False
        assert [report(talk, name)[0]["muted"] for name in ("john", "my_decorator")] == [True, True]

    def test_of_memories_however_many_begin_alike(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        ends = [f"{7919 * number % 36**4:04d}"[-4:] for number in range(1, 121)]
        ids = [f"prefer_tea_number_{end}" for end in ends]
        for name in ids:
            remember(knowledge, f"I prefer tea, number {name[-4:]}", friendly_id=name)
        typed = {name: f"{name[:-1]}z" for name in ids[::10]}
        assert [name for name in typed if f"@{name}" not in self.candidates(talk, typed[name])] == []

    def test_of_conversations_however_many_begin_alike(self, talk: Talk) -> None:
        ids = [f"deep_thought_{chr(97 + number // 26)}{chr(97 + number % 26)}k3" for number in range(90)]
        for name in ids:
            made = create_conversation(database=talk.database, user_email=EMAIL, domain="assistant", title="Thought")
            own = {"database": talk.database, "user_email": EMAIL, "conversation_id": made.conversation_id}
            set_friendly_id(**own, conversation_friendly_id=name)
        typed = {name: f"conversation_{name[:-1]}z" for name in ids}
        missed = [name for name in ids if f"@conversation_{name}" not in self.candidates(talk, typed[name])]
        assert missed == []

    def test_of_a_renamed_conversation_whose_first_letter_is_wrong(self, talk: Talk) -> None:
        conversation = talk.about("Bread Starter", ("Hello", "Hi"))
        name = fid(conversation)
        here = {"database": talk.database, "user_email": EMAIL, "conversation_id": conversation.conversation_id}
        update_conversation(**here, changes={"title": "Something else"})
        assert fid(conversation) == name
        assert self.candidates(talk, f"conversation_x{name[1:]}") == [f"@conversation_{name}"]
        assert self.candidates(talk, f"conversation_x{name[1:]}_message_1") == [f"@conversation_{name}_message_1"]

    def test_of_a_renamed_conversation_that_is_misspelled_twice_among_many(
        self, talk: Talk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kinds, "_AROUND", 5)
        for number in range(60):
            own = {"database": talk.database, "user_email": EMAIL, "domain": "assistant"}
            made = create_conversation(**own, title=f"Thought {number}").conversation_id
            name = f"{chr(97 + number % 26)}ove_thought_{number:02d}k3"
            here = {"database": talk.database, "user_email": EMAIL, "conversation_id": made}
            set_friendly_id(**here, conversation_friendly_id=name)
        conversation = talk.about("Bread Starter", ("Hello", "Hi"))
        name = fid(conversation)
        here = {"database": talk.database, "user_email": EMAIL, "conversation_id": conversation.conversation_id}
        update_conversation(**here, changes={"title": "Something else"})
        end = name[-4:]
        for typed in (f"xread_starter_{end[:-1]}-", f"breud_sturter_{end}", f"qreud_starter_{end[:2]}zz"):
            typed = typed.replace("-", "z" if end[-1] != "z" else "y")
            assert self.candidates(talk, f"conversation_{typed}")[:1] == [f"@conversation_{name}"]

    def test_of_what_a_conversation_was_called_before(self, talk: Talk) -> None:
        conversation = talk.about("Bread Starter", ("Hello", "Hi"))
        own = {"user_email": EMAIL}
        alias = "winter_garden_plans"
        talk.database.write(lambda connection: add_alias(connection, alias, conversation.conversation_id, **own))
        typed = "conversation_wintar_garden_plons"
        assert self.candidates(talk, typed) == [f"@conversation_{alias}"]
        assert self.candidates(talk, f"{typed}_message_1") == [f"@conversation_{alias}_message_1"]
        assert report(talk, f"conversation_{alias}")[0]["status"] == "resolved"
        assert self.candidates(talk, typed, email="bob@example.com") == []

    def test_of_some_names_of_a_message_and_not_of_thousands(self, talk: Talk) -> None:
        name = fid(talk.about("Bread Starter", ("Hello", "Hi")))
        typed = [f"conversation_{name.replace('starter', 'startr')}_message_{number}" for number in range(1, 13)]
        told = report(talk, *typed)
        assert [len(entry["candidates"]) for entry in told] == [1] * 10 + [0] * 2
        assert [entry["notes"][1:] for entry in told] == [[]] * 10 + [
            ["Similar names are offered for the first 10 only."]
        ] * 2

    def test_never_of_what_others_have(self, talk: Talk) -> None:
        name = fid(talk.about("Bread Starter", ("Hello", "Hi")))
        assert self.candidates(talk, f"conversation_{name.replace('starter', 'startr')}", email="bob@example.com") == []

    def test_what_was_hardly_meant_as_a_name_is_not_corrected(self, talk: Talk) -> None:
        talk.about("Fixture", ("Hello", "Hi"))
        assert self.candidates(talk, "fixture") == []

    def test_a_message_that_its_conversation_lacks_is_not_corrected(self, talk: Talk) -> None:
        name = fid(talk.about("Bread Starter", ("Hello", "Hi")))
        assert self.candidates(talk, f"conversation_{name}_message_zzzzzz") == []


def test_an_agent_is_named_by_what_stands_behind_its_prefix_in_any_case(talk: Talk) -> None:
    who = {"database": talk.database, "user_email": EMAIL}
    agent = create_agent(**who, rules=AgentRules(title="The Botanist"))
    known, unknown = report(talk, "Agent_The_Botanist", "agent_nobody")
    assert (known["kind"], known["status"], known["title"]) == ("agent", "resolved", "The Botanist")
    assert known["target"] == {"agent_id": agent.agent_id, "slug": "the_botanist"}
    assert (unknown["kind"], unknown["status"]) == ("agent", "not_found")
    assert kinds.shown(known)["permalink"] == "/settings#agents"


def test_the_seventh_agent_of_a_message_is_told_that_it_does_not_answer(talk: Talk) -> None:
    who = {"database": talk.database, "user_email": EMAIL}
    names = [f"agent_{create_agent(**who, rules=AgentRules(title=f'Agent {n}')).slug}" for n in range(7)]
    told = report(talk, *names)
    assert [entry["status"] for entry in told] == ["resolved"] * 6 + ["unavailable"]
    assert told[6]["notes"] == ["At most 6 agents answer one message."]


@pytest.mark.parametrize("typed", ["bot", "agent_b", "the_b", "ag", "Botanist"])
def test_agents_are_offered_by_their_name_and_the_words_of_their_title(typed: str, talk: Talk) -> None:
    who = {"database": talk.database, "user_email": EMAIL}
    list_agents(**who)
    create_agent(**who, rules=AgentRules(title="The Botanist"))
    found = kinds.suggest(typed, scope_of(talk), limit=5)
    assert {"kind": "agent", "reference": "agent_the_botanist", "title": "The Botanist", "icon": "robot"} in found
