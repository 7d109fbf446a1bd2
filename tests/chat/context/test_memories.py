"""What a message gets of the memories, and what its report says of each reference to them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from chat.context.knowledge import KnowledgeAccess
from chat.exchange.ports import KnowledgeLimits
from chat.turns.accept import ANSWER_AGAIN, ASKED_INSTEAD_OF
from language_models.testing import Reply, ScriptedChatModel
from tests.chat.conftest import EMAIL, Talk, fid, remember
from truth_management_system import StructuredAPI

ITEM = re.compile(
    r'<pkb_item source="(\w+)" type="(\w+)"(?: ref="([^"]*)")?(?: note="[^"]*")?>(.*?)</pkb_item>', re.DOTALL
)


@pytest.fixture
def api(knowledge: KnowledgeAccess) -> StructuredAPI:
    return knowledge.for_user(EMAIL)


def report(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The entries of the report by reference."""
    return {entry["ref"]: entry for entry in events[0]["references"]}


def fates(talk: Talk, text: str, **more: Any) -> dict[str, tuple[str, str, int]]:
    """(kind, status, count) of each reference of a message, in order, but for what is only said in passing."""
    entries = report(talk.say(talk.new(), text, **more))
    entries = {ref: entry for ref, entry in entries.items() if not (ref == "memories" and entry["muted"])}
    return {ref: (entry["kind"], entry["status"], entry["count"]) for ref, entry in entries.items()}


def given(talk: Talk) -> list[tuple[str, str, str, str]]:
    """(source, type, ref, body) of each item that the model was given, in order."""
    return [(source, kind, ref, body) for source, kind, ref, body in ITEM.findall(talk.last_prompt)]


class TestNaming:
    """References to claims."""

    @pytest.mark.parametrize(
        ("text", "ref"),
        [
            ("@my_mornings", "@my_mornings"),
            ("@MY_Mornings", "@MY_Mornings"),
            ("@claim_1", "@claim_1"),
            ("#1", "@claim_1"),
            ("@memory:{claim_id}", "@memory:{claim_id}"),
        ],
    )
    def test_a_claim_is_named_in_every_way(self, text: str, ref: str, talk: Talk, knowledge: KnowledgeAccess) -> None:
        claim = remember(knowledge, "I run at dawn", friendly_id="my_mornings", claim_type="habit")
        text, ref = (part.format(claim_id=claim.claim_id) for part in (text, ref))
        assert fates(talk, f"{text} is that so?") == {ref: ("claim", "resolved", 1)}
        assert given(talk) == [("referenced", "habit", ref, "I run at dawn")]

    def test_two_names_of_one_claim_bring_it_once_with_both(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        remember(knowledge, "I run at dawn", friendly_id="my_mornings")
        assert len(fates(talk, "@claim_1 @my_mornings @MY_MORNINGS @claim_1 hm?")) == 3
        assert given(talk) == [("referenced", "fact", "@claim_1 @my_mornings @MY_MORNINGS", "I run at dawn")]

    def test_references_stand_in_the_order_in_which_they_were_typed(
        self, talk: Talk, knowledge: KnowledgeAccess
    ) -> None:
        for number in range(3):
            remember(knowledge, f"Fact {number}", friendly_id=f"fact_{number}")
        other = talk.about("Running Plans", ("When?", "At dawn."))
        message = f"@conversation_{fid(other)}_message_2"
        assert list(fates(talk, f"@fact_2 {message} @fact_0 @fact_1?")) == ["@fact_2", message, "@fact_0", "@fact_1"]
        assert [ref for _, _, ref, _ in given(talk)] == ["@fact_2", message, "@fact_0", "@fact_1"]

    def test_a_retracted_claim_says_so(self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI) -> None:
        claim = remember(knowledge, "I live in Rome", friendly_id="my_home")
        api.delete_claim(claim.claim_id)
        entry = report(talk.say(talk.new(), "@my_home where?"))["@my_home"]
        assert (entry["status"], entry["notes"]) == ("resolved", ["retracted"])
        assert given(talk)[0][3] == "I live in Rome"
        assert 'ref="@my_home" note="retracted">I live in Rome</pkb_item>' in talk.last_prompt

    def test_a_superseded_claim_names_its_successor(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        old = remember(knowledge, "I live in Rome", friendly_id="my_home")
        remember(knowledge, "I live in Oslo", friendly_id="new_home", supersedes=old.claim_id)
        entry = report(talk.say(talk.new(), "@my_home where?"))["@my_home"]
        assert entry["notes"] == ["superseded by @new_home"]
        assert entry["target"] == {"claim_id": old.claim_id}

    def test_a_claim_is_given_with_the_question_that_it_answers(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        remember(knowledge, "I run at dawn", friendly_id="my_mornings", possible_questions=["When do I run?"])
        entry = report(talk.say(talk.new(), "@my_mornings?"))["@my_mornings"]
        assert entry["preview"] == given(talk)[0][3] == "I run at dawn (answers: When do I run?)"
        assert entry["chars"] == len(entry["preview"])

    def test_what_does_not_look_like_an_id_is_muted(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        remember(knowledge, "I run at dawn")
        text = "@property and @dataclass, @anna, but @nothing_here_4f2a and @claim_99 and @health_context?"
        entries = report(talk.say(talk.new(), text, checkboxes={"use_pkb": False}))
        muted = {ref: entry["muted"] for ref, entry in entries.items()}
        assert muted == {
            "@property": True,
            "@dataclass": True,
            "@anna": True,
            "@nothing_here_4f2a": False,
            "@claim_99": False,
            "@health_context": False,
        }

    def test_what_the_client_lists_is_named_too(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        claim = remember(knowledge, "I run at dawn", friendly_id="my_mornings")
        listed = {"referenced_friendly_ids": ["@my_mornings"], "referenced_claim_ids": [claim.claim_id]}
        assert set(fates(talk, "When?", **listed)) == {"@my_mornings", f"@memory:{claim.claim_id}"}
        assert len(given(talk)) == 1

    def test_hundreds_of_references_are_followed_as_far_as_allowed(
        self, talk: Talk, knowledge: KnowledgeAccess
    ) -> None:
        remember(knowledge, "Fact one")
        found = fates(talk, " ".join(f"@claim_{number}" for number in range(1, 252)) + "?")
        assert found["@claim_1"] == ("claim", "resolved", 1)
        assert found["@claim_200"][1] == "not_found"
        assert found["+51"][1:] == ("unavailable", 51)
        assert "@claim_201" not in found


class TestGroups:
    """References to contexts, entities, tags and domains."""

    def test_each_kind_brings_what_is_filed_there(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        context = api.add_context("Health Goals").data
        below = api.add_context("Knee", parent_context_id=context.context_id).data
        anna = {"name": "Anna", "type": "person"}
        remember(knowledge, "Fact 0", tags=["Running"], entities=[anna], context_domain="health")
        remember(knowledge, "Fact 1", contexts=[below.context_id])
        text = "@health_goals_context @Health_Goals @anna_person_entity @running_tag @health_domain?"
        assert fates(talk, text) == {
            "@health_goals_context": ("context", "resolved", 1),
            "@Health_Goals": ("context", "resolved", 1),
            "@anna_person_entity": ("entity", "resolved", 1),
            "@running_tag": ("tag", "resolved", 1),
            "@health_domain": ("domain", "resolved", 1),
        }
        refs = {body: ref for _, _, ref, body in given(talk)}
        assert refs == {
            "Fact 1": "@health_goals_context @Health_Goals",
            "Fact 0": "@anna_person_entity @running_tag @health_domain",
        }

    def test_an_empty_group_is_reported_as_empty(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        knowledge.for_user(EMAIL).add_tag("Running")
        entry = report(talk.say(talk.new(), "@running_tag?"))["@running_tag"]
        assert (entry["status"], entry["notes"], entry["count"]) == ("empty", ["Nothing is filed there."], 0)

    def test_what_does_not_hold_in_a_group_says_so_and_is_counted(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        lockers = api.add_context("Lockers").data.context_id
        filed: dict[str, Any] = {"contexts": [lockers], "context_domain": "work"}
        remember(knowledge, "Mine is 12", **filed, valid_to="2020-01-01")
        left, right = (remember(knowledge, f"The key is {place}", **filed) for place in ("left", "right"))
        remember(knowledge, "They are blue", **filed)
        assert api.create_conflict_set([left.claim_id, right.claim_id]).success
        told = ["2 of these memories are contested.", "1 of these memories is not valid now."]
        for ref in ("@lockers_context", "@work_domain", "@lockers_context&work_domain"):
            entry = report(talk.say(talk.new(), f"{ref}?", checkboxes={"use_pkb": False}))[ref]
            assert (entry["status"], entry["count"], entry["notes"]) == ("resolved", 4, told)
            for note, body in (
                (' note="valid until 2020-01-01"', "Mine is 12"),
                (' note="contested"', "The key is left"),
                (' note="contested"', "The key is right"),
                ("", "They are blue"),
            ):
                escaped = ref.replace("&", "&amp;")
                assert f'ref="{escaped}"{note}>{body}</pkb_item>' in talk.last_prompt
            assert api.resolve_reference(ref).data["notes"] == told

    def test_of_a_large_group_the_newest_are_given(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        context = api.add_context("Health").data
        for start in range(0, 2_000, 100):
            drafts = [
                {"statement": f"Fact {number}", "contexts": [context.context_id]}
                for number in range(start, start + 100)
            ]
            assert api.add_claims_bulk(drafts).success
        talk.models.main_model = ScriptedChatModel(replies=[Reply("Fine.")], context_window=200_000)
        entry = report(talk.say(talk.new(), "@health_context?", checkboxes={"use_pkb": False}))["@health_context"]
        assert (entry["status"], entry["count"]) == ("truncated", 500)
        assert entry["notes"] == ["The newest 500 of 2,000 memories."]
        bodies = [body for *_, body in given(talk)]
        assert (len(bodies), bodies[0], bodies[-1]) == (500, "Fact 1999", "Fact 1500")

    def test_a_name_of_two_groups_is_ambiguous_with_both(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        tops = [api.add_context(name).data.context_id for name in ("Home", "Work")]
        for top in tops:
            assert api.add_context("Notes", parent_context_id=top).success
        entry = report(talk.say(talk.new(), "@notes?"))["@notes"]
        assert (entry["status"], entry["kind"]) == ("ambiguous", "context")
        assert [candidate["title"] for candidate in entry["candidates"]] == ["Notes", "Notes"]
        found = fates(talk, " ".join(candidate["ref"] for candidate in entry["candidates"]))
        assert {status for _, status, _ in found.values()} == {"empty"}

    def test_what_begins_like_a_conversation_may_be_a_context(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        context = api.add_context("conversation starters").data
        assert fates(talk, "@conversation_starters?") == {"@conversation_starters": ("context", "empty", 0)}
        remember(knowledge, "Ask about the weather", contexts=[context.context_id])
        assert fates(talk, "@conversation_starters and @conversation_nobody_a1b2?") == {
            "@conversation_starters": ("context", "resolved", 1),
            "@conversation_nobody_a1b2": ("conversation", "not_found", 0),
        }

    def test_a_name_shaped_like_a_message_may_be_a_context(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        for number, name in enumerate(("Conversation message log", "Conversation about message policy")):
            group = api.add_context(name).data
            remember(knowledge, f"Kept for a year {number}", contexts=[group.context_id])
        assert fates(
            talk, "@conversation_message_log @Conversation_about_message_policy @conversation_message_lot?"
        ) == {
            "@conversation_message_log": ("context", "resolved", 1),
            "@Conversation_about_message_policy": ("context", "resolved", 1),
            "@conversation_message_lot": ("message", "malformed", 0),
        }

    def test_joined_groups_bring_what_all_of_them_hold(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        api.add_tag("Swimming")
        both = remember(knowledge, "I run at dawn", tags=["Running"], context_domain="health")
        remember(knowledge, "Shoes are dear", tags=["Running"], context_domain="finance")
        remember(knowledge, "I sleep well", context_domain="health")
        told = report(talk.say(talk.new(), "@health_domain&running_tag and @health_domain&swimming_tag?"))
        entry = told["@health_domain&running_tag"]
        assert (entry["kind"], entry["status"], entry["count"]) == ("domain", "resolved", 1)
        assert (entry["title"], entry["preview"]) == ("health & Running", "I run at dawn")
        assert entry["target"] == {"group": "health_domain&running_tag"}
        assert told["@health_domain&swimming_tag"]["status"] == "empty"
        named = [item for item in given(talk) if item[0] == "referenced"]
        assert named == [("referenced", "fact", "@health_domain&amp;running_tag", both.statement)]

    def test_a_joined_group_that_is_not_there_is_named_and_corrected(
        self, talk: Talk, knowledge: KnowledgeAccess
    ) -> None:
        remember(knowledge, "I run at dawn", tags=["Running"], context_domain="health")
        told = report(talk.say(talk.new(), "@health_domain&runing_tag?"))
        (entry,) = (entry for ref, entry in told.items() if ref.startswith("@"))
        assert (entry["ref"], entry["status"], entry["muted"]) == ("@health_domain&runing_tag", "not_found", False)
        assert entry["notes"] == ["No memory or context found with ID: runing_tag"]
        assert "@health_domain&running_tag" in [candidate["ref"] for candidate in entry["candidates"]]

    def test_of_many_joined_memories_the_newest_are_given(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        for start in range(0, 600, 100):
            drafts = [{"statement": f"Fact {start + number}", "tags": ["kept"]} for number in range(100)]
            assert api.add_claims_bulk(drafts).success
        entry = report(talk.say(talk.new(), "@personal_domain&kept_tag?"))["@personal_domain&kept_tag"]
        assert (entry["status"], entry["count"]) == ("truncated", 500)
        assert entry["notes"][0] == "The newest 500 of 600 memories."


class TestBeside:
    """What comes without being named."""

    def test_attached_memories_come_and_missing_ones_are_told(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        claim = remember(knowledge, "My shoes are from March")
        missing = "00000000-0000-4000-8000-000000000000"
        found = fates(talk, "Hm?", attached_claim_ids=[claim.claim_id, missing, claim.claim_id])
        assert found == {f"@memory:{missing}": ("claim", "not_found", 0)}
        assert given(talk) == [("attached", "fact", "", "My shoes are from March")]

    def test_a_question_asked_anew_in_its_place_keeps_what_was_attached_to_it_and_listed_beside_it(
        self, talk: Talk, knowledge: KnowledgeAccess
    ) -> None:
        attached = remember(knowledge, "My shoes are from March")
        remember(knowledge, "My hat is blue", friendly_id="my_hat")
        remember(knowledge, "My coat is green", friendly_id="my_coat")
        conversation = talk.new()
        beside = {"attached_claim_ids": [attached.claim_id], "referenced_friendly_ids": ["my_hat"]}
        talk.say(conversation, "What do I wear with @my_coat?", **beside)
        question = talk.again(conversation).get_message_list()[0]["message_id"]
        talk.say(talk.again(conversation), "What do I put on?", **{ASKED_INSTEAD_OF: question})
        assert "What do I put on?" in talk.last_prompt
        assert {said for _, _, _, said in given(talk)} == {"My shoes are from March", "My hat is blue"}

    def test_a_question_asked_anew_keeps_what_was_its_own_alone_beside_what_it_is_given_now(
        self, talk: Talk, knowledge: KnowledgeAccess
    ) -> None:
        said = ("My scarf is grey", "My belt is brown", "My gloves are black")
        listed, of_a_later_question, given_now = (remember(knowledge, each).claim_id for each in said)
        conversation = talk.new()
        talk.say(conversation, "What do I wear?", referenced_claim_ids=[listed])
        question = talk.again(conversation).get_message_list()[0]["message_id"]
        talk.say(talk.again(conversation), "And to work?", attached_claim_ids=[of_a_later_question])
        anew = {ASKED_INSTEAD_OF: question, "attached_claim_ids": [given_now]}
        talk.say(talk.again(conversation), "What do I put on?", **anew)
        assert {(source, body) for source, _, _, body in given(talk)} == {
            ("referenced", "My scarf is grey"),
            ("attached", "My gloves are black"),
        }

    def test_an_answer_that_is_made_again_is_given_what_was_attached_to_its_question(
        self, talk: Talk, knowledge: KnowledgeAccess
    ) -> None:
        attached = remember(knowledge, "My shoes are from March")
        conversation = talk.new()
        talk.say(conversation, "Hm?", attached_claim_ids=[attached.claim_id])
        answer = talk.again(conversation).get_message_list()[1]["message_id"]
        talk.models.main_model.calls.clear()
        talk.say(talk.again(conversation), "", **{ANSWER_AGAIN: answer})
        assert given(talk) == [("attached", "fact", "", "My shoes are from March")]

    def test_attached_memories_that_hold_no_more_say_so_to_model_and_reader(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        gone = [remember(knowledge, f"My car {number} is red", friendly_id=f"my_car_{number}") for number in range(2)]
        old = remember(knowledge, "I live in Rome", friendly_id="my_home")
        new = remember(knowledge, "I live in Oslo", friendly_id="new_home", supersedes=old.claim_id)
        for claim in gone:
            api.delete_claim(claim.claim_id)
        ids = [claim.claim_id for claim in (*gone, old, new)]
        told = report(talk.say(talk.new(), "@my_home?", attached_claim_ids=ids, checkboxes={"use_pkb": False}))
        assert {ref: (entry["status"], entry["notes"], entry["target"]) for ref, entry in told.items()} == {
            "@my_home": ("resolved", ["superseded by @new_home"], {"claim_id": old.claim_id}),
            "@my_car_0": ("resolved", ["retracted"], {"claim_id": gone[0].claim_id}),
            "@my_car_1": ("resolved", ["retracted"], {"claim_id": gone[1].claim_id}),
        }
        assert 'source="attached" type="fact" note="retracted">My car 0 is red' in talk.last_prompt
        assert ("attached", "fact", "", "I live in Oslo") in given(talk)
        assert new.friendly_id not in told

    def test_what_is_missing_is_told_once_however_often_it_is_wanted(self, talk: Talk) -> None:
        claim_id = "00000000-0000-4000-8000-000000000000"
        events = talk.say(talk.new(), f"Is it @memory:{claim_id}?", attached_claim_ids=[claim_id])
        (entries,) = [event["references"] for event in events if "references" in event]
        assert [entry["ref"] for entry in entries].count(f"@memory:{claim_id}") == 1

    def test_pins_that_hold_no_more_stay_out(self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI) -> None:
        claims = [remember(knowledge, f"Fact {number}") for number in range(4)]
        for claim in claims[:2]:
            api.pin_claim(claim.claim_id)
        for claim in (claims[0], claims[2]):
            api.delete_claim(claim.claim_id)
        gone = "00000000-0000-4000-8000-000000000000"
        pins = [claims[2].claim_id, gone, claims[3].claim_id]
        assert fates(talk, "Hm?", conversation_pinned_claim_ids=pins) == {}
        assert [(source, body) for source, _, _, body in given(talk)] == [
            ("pinned", "Fact 1"),
            ("conv_pinned", "Fact 3"),
        ]

    @pytest.mark.parametrize("status", ["superseded", "draft", "historical"])
    def test_a_pinned_memory_whose_status_says_that_it_does_not_hold_stays_out(
        self, status: str, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        claims = [remember(knowledge, f"Fact {number}") for number in range(2)]
        for claim in claims:
            api.pin_claim(claim.claim_id)
        assert api.edit_claim(claims[0].claim_id, status=status).success
        talk.say(talk.new(), "Hm?", conversation_pinned_claim_ids=[claims[0].claim_id])
        assert [body for _, _, _, body in given(talk)] == ["Fact 1"]

    def test_what_is_valid_no_more_or_not_yet_comes_only_where_it_is_asked_for(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        past = remember(knowledge, "I take the 7 o'clock train", valid_to="2020-01-31", friendly_id="old_train")
        coming = remember(knowledge, "I take the 9 o'clock train", valid_from="2999-01-01", friendly_id="new_train")
        for claim in (past, coming):
            api.pin_claim(claim.claim_id)
        pins = [past.claim_id, coming.claim_id]
        talk.say(talk.new(), "Which train do I take at what o'clock?", conversation_pinned_claim_ids=pins)
        assert given(talk) == []
        told = report(talk.say(talk.new(), "@old_train or @new_train?"))
        assert told["@old_train"]["notes"] == ["valid until 2020-01-31"]
        assert told["@new_train"]["notes"] == ["valid from 2999-01-01"]
        assert [source for source, *_ in given(talk)] == ["referenced", "referenced"]

    def test_each_source_has_its_limit(self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI) -> None:
        limits = KnowledgeLimits(attached=1, pinned=1, conversation_pinned=1, found=1)
        talk.configure(knowledge_limits=limits)
        ids = [remember(knowledge, f"Breakfast number {number}").claim_id for number in range(8)]
        past = remember(knowledge, "Breakfast of another year", valid_to="2020-01-01")
        for claim_id in (*ids[2:4], past.claim_id):
            api.pin_claim(claim_id)
        query = {"attached_claim_ids": ids[:2], "conversation_pinned_claim_ids": [*ids[4:6], past.claim_id]}
        events = talk.say(talk.new(), "What about breakfast number 6, is it good?", **query)
        notes = [note for entry in events[0]["references"] if not entry["muted"] for note in entry["notes"]]
        assert notes == [
            "Only 1 of 2 attached memories fit.",
            "Only the newest 1 of 2 pinned memories fit.",
            "Only the last 1 of 2 memories pinned to this conversation fit.",
        ]
        assert [(source, body) for source, _, _, body in given(talk)] == [
            ("attached", "Breakfast number 0"),
            ("pinned", "Breakfast number 3"),
            ("conv_pinned", "Breakfast number 5"),
            ("auto", "Breakfast number 6"),
        ]

    def test_as_many_pins_as_the_limit_are_all_given_without_a_word(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        talk.configure(knowledge_limits=KnowledgeLimits(pinned=2, conversation_pinned=2))
        ids = [remember(knowledge, f"Fact {number}").claim_id for number in range(4)]
        for claim_id in ids[:2]:
            api.pin_claim(claim_id)
        assert fates(talk, "Hm?", conversation_pinned_claim_ids=ids[2:]) == {}
        assert [source for source, *_ in given(talk)] == ["pinned", "pinned", "conv_pinned", "conv_pinned"]

    def test_the_search_is_for_the_text_without_its_references(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[str] = []
        search = StructuredAPI.search

        def noted(self: StructuredAPI, query: str, *args: Any, **kwargs: Any) -> Any:
            asked.append(query)
            return search(self, query, *args, **kwargs)

        monkeypatch.setattr(StructuredAPI, "search", noted)
        remember(knowledge, "I run at dawn", friendly_id="my_mornings")
        talk.say(talk.new(), "@my_mornings is breakfast before workouts healthy? #1")
        assert asked == ["is breakfast before workouts healthy?"]

    def test_a_message_of_references_alone_searches_for_nothing(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        remember(knowledge, "I run at dawn", friendly_id="my_mornings")
        remember(knowledge, "Mornings are mine")
        talk.say(talk.new(), "@my_mornings")
        assert [source for source, *_ in given(talk)] == ["referenced"]

    def test_without_memories_wanted_what_is_explicit_still_comes(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        claims = [remember(knowledge, f"Breakfast {number}", friendly_id=f"meal_{number}") for number in range(5)]
        api.pin_claim(claims[2].claim_id)
        talk.say(
            talk.new(),
            "@meal_0 is my breakfast fine?",
            attached_claim_ids=[claims[1].claim_id],
            conversation_pinned_claim_ids=[claims[3].claim_id],
            checkboxes={"use_pkb": False},
        )
        # What is referenced stands last, under a heading of its own.
        assert [(source, body) for source, _, _, body in given(talk)] == [
            ("attached", "Breakfast 1"),
            ("referenced", "Breakfast 0"),
        ]


class TestRemembered:
    """The answer keeps which memories it was given."""

    def test_an_answer_knows_its_memories_by_source(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        named = remember(knowledge, "I run at dawn", friendly_id="my_mornings")
        pinned = remember(knowledge, "My time zone is IST")
        api.pin_claim(pinned.claim_id)
        conversation = talk.new()
        talk.say(conversation, "@my_mornings when?")
        question, answer = talk.again(conversation).get_message_list()
        assert answer["config"]["memories"] == [
            {"claim_id": named.claim_id, "friendly_id": "my_mornings", "source": "referenced"},
            {"claim_id": pinned.claim_id, "friendly_id": pinned.friendly_id, "source": "pinned"},
        ]
        assert "memories" not in question["config"]

    def test_an_answer_without_memories_keeps_none(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        conversation = talk.new()
        talk.say(conversation, "Hello")
        assert "memories" not in talk.again(conversation).get_message_list()[1]["config"]


class TestCosts:
    """Counts of queries, whatever there is."""

    @pytest.mark.parametrize("stored", [20, 400])
    def test_twenty_references_take_a_bounded_number_of_queries(
        self, stored: int, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        for start in range(0, stored, 20):
            drafts = [{"statement": f"Fact {n}", "friendly_id": f"fact_{n}"} for n in range(start, start + 20)]
            assert api.add_claims_bulk(drafts).data["failed_count"] == 0
        text = " ".join(f"@fact_{number}" for number in range(20))
        talk.say(talk.new(), text, checkboxes={"use_pkb": False})
        database = knowledge.database()
        before = database.statements
        talk.say(talk.new(), text, checkboxes={"use_pkb": False})
        assert database.statements - before <= 20 * 2

    def test_a_group_takes_as_many_queries_as_one_claim_of_it(
        self, talk: Talk, knowledge: KnowledgeAccess, api: StructuredAPI
    ) -> None:
        database = knowledge.database()
        counts = []
        for number in range(200):
            remember(knowledge, f"Fact {number}", tags=["Running"])
            if number in {0, 199}:
                before = database.statements
                talk.say(talk.new(), "@running_tag?", checkboxes={"use_pkb": False})
                counts.append(database.statements - before)
        assert counts[0] == counts[1] <= 5

    def test_for_a_person_without_memories_the_knowledge_base_is_asked_once(
        self, talk: Talk, knowledge: KnowledgeAccess
    ) -> None:
        database = knowledge.database()
        before = database.statements
        talk.say(talk.new(), "What do you know of my mornings?")
        assert database.statements - before == 1

    @pytest.mark.parametrize("words", [5, 2_000])
    def test_a_message_without_references_takes_a_bounded_number_of_queries(
        self, words: int, talk: Talk, knowledge: KnowledgeAccess
    ) -> None:
        remember(knowledge, "I run at dawn")
        database = knowledge.database()
        before = database.statements
        talk.say(talk.new(), " ".join(f"walking{number}" for number in range(words)))
        assert database.statements - before <= 60
