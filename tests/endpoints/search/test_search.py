"""One question finds messages, conversations and memories, each with what leads there; only one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask

from database.conversations.repository import set_friendly_id
from database.search.index import folded
from endpoints.http.scope import EXTENSION
from endpoints.search.models import ConversationResult, FileResult, MemoryResult, MessageResult, SearchResults
from search.things.kinds import KINDS, Page, Wanted
from tests.endpoints.conftest import Person, refused, told
from truth_management_system.interface.structured_api import KnowledgeUnavailableError


def found(person: Person, q: str, **more: Any) -> SearchResults:
    """What a search finds."""
    return told(person.get("/search", query_string={"q": q, **more}), SearchResults)


@pytest.fixture
def talk(ada: Person) -> str:
    """A conversation about sourdough; "It is forty-two." is the answer to everything."""
    conversation_id = ada.new_conversation()
    ada.put(f"/conversations/{conversation_id}/title", json={"title": "Sourdough at home"})
    ada.say(conversation_id, "How long does a sourdough starter keep?")
    return conversation_id


def test_all_kinds_are_found_with_what_leads_there(ada: Person, talk: str) -> None:
    claim = ada.remember("I feed my sourdough on Sundays", friendly_id="sourdough_sundays")
    conversation, memory, message = found(ada, "sourdo").results
    assert isinstance(conversation, ConversationResult)
    assert isinstance(memory, MemoryResult)
    assert isinstance(message, MessageResult)
    name = conversation.conversation_friendly_id
    assert (conversation.conversation_id, conversation.reference) == (talk, f"@conversation_{name}")
    assert (memory.reference, memory.claim.claim_id) == ("@sourdough_sundays", claim.claim_id)
    assert message.reference == f"@conversation_{name}_message_{message.message_short_hash}"
    assert (message.title, message.sender, message.message_index) == ("Sourdough at home", "user", 1)
    for result in (conversation, memory, message):
        assert [result.snippet[slice(*place)].lower() for place in result.ranges] == ["sourdough"]
        told_of = ada.get("/references/resolve", query_string={"ref": result.reference}).json
        assert told_of["status"] == "resolved"


class Recipes:
    """A kind of thing that another module adds."""

    takes_filters = False

    def search(self, wanted: Wanted) -> Page:
        begin, end = wanted.span()
        named = [
            f"{word} soup of {wanted.user_email}" for word in ("hot", "cold") if wanted.query.text in f"{word} soup"
        ]
        shown = [{"kind": "recipe", "reference": None, "title": each, "snippet": each, "ranges": []} for each in named]
        return Page(results=shown[begin:end], next=str(end) if len(shown) > end else None)


def test_another_kind_of_thing_can_be_added(ada: Person, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert talk
    assert ada.get("/search?q=soup&kind=recipe").status_code == 400
    monkeypatch.setitem(KINDS, "recipe", Recipes())
    alone = found(ada, "soup", kind="recipe", limit=1)
    assert [(each.kind, each.title) for each in alone.results] == [("recipe", f"hot soup of {ada.email}")]
    (last,) = found(ada, "soup", kind="recipe", limit=1, cursor=alone.next).results
    assert last.title == f"cold soup of {ada.email}"
    ada.say(talk, "A recipe for soup, please")
    assert [each.kind for each in found(ada, "soup").results] == ["recipe", "recipe", "message"]
    assert [each.kind for each in found(ada, "soup sender:user").results] == ["message"]


def test_one_kind_alone_can_be_asked_for(ada: Person, talk: str) -> None:
    ada.remember("I feed my sourdough on Sundays")
    assert talk
    for kind in ("message", "conversation", "memory"):
        assert [result.kind for result in found(ada, "sourdough", kind=kind).results] == [kind]


def test_filters_may_stand_beside_the_words_and_ask_for_messages(ada: Person, talk: str) -> None:
    name = ada.get(f"/get_conversation_details/{talk}").json["conversation_friendly_id"]
    ada.remember("Forty-two is a number")
    for filters in ({"sender": "model"}, {"conversation": name}, {"conversation": talk}):
        assert [result.kind for result in found(ada, "forty", **filters).results] == ["message"]
    assert {result.kind for result in found(ada, "forty", after="2020").results} == {"message", "memory"}
    for filters in ({"sender": "user"}, {"conversation": "nothing_here_0000"}, {"before": "2020-01-01"}):
        assert found(ada, "forty", **filters).results == []
    assert found(ada, "forty sender:user", sender="model").results
    left_out = found(ada, "forty sender:model", kind="memory")
    assert (left_out.results, len(left_out.warnings)) == ([], 1)


@pytest.mark.parametrize("kind", ["message", "conversation", "memory", "all"])
def test_pages_follow_each_other_to_the_end(ada: Person, kind: str) -> None:
    for number in range(3):
        conversation_id = ada.new_conversation()
        ada.put(f"/conversations/{conversation_id}/title", json={"title": f"Rye bread {number}"})
        ada.say(conversation_id, f"rye question {number}")
        ada.remember(f"Rye fact {number}")
    seen, cursor = list[str | None](), None
    while True:
        page = found(ada, "rye", kind=kind, limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [result.reference for result in page.results]
        cursor = page.next
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == (7 if kind == "all" else 3)


def test_a_filter_that_can_not_be_read_is_looked_for_and_said(ada: Person, talk: str) -> None:
    assert talk
    answer = found(ada, "sender:bob")
    assert answer.results == []
    assert "sender:bob" in answer.warnings[0]
    ((said,),) = answer.warnings_said
    assert (said.code, said.values) == ("no_such_filter", {"filter": "sender:bob"})


def test_a_conversation_that_is_not_there_is_said_in_the_persons_language(ada: Person, talk: str) -> None:
    assert talk
    answer = found(ada, "rye in:nope_b4f2", kind="message")
    assert answer.warnings == ["There is no conversation “nope_b4f2”."]
    ((said,),) = answer.warnings_said
    assert (said.code, said.values) == ("no_such_conversation", {"name": "nope_b4f2"})


def test_without_the_knowledge_base_the_rest_is_found(
    ada: Person, talk: str, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_user_email: str) -> None:
        raise KnowledgeUnavailableError("The knowledge base is gone.")

    monkeypatch.setattr(app.extensions[EXTENSION].knowledge, "for_user", fail)
    answer = found(ada, "sourdough")
    assert [result.kind for result in answer.results] == ["conversation", "message"]
    assert len(answer.warnings) == 1
    assert talk


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "everything"},
        {"sender": "bob"},
        {"before": "yesterday"},
        {"after": "2026-02-30"},
        {"limit": 0},
        {"limit": 101},
        {"cursor": "x"},
        {"kind": "memory", "cursor": "x"},
        {"q": "x" * 2_001},
    ],
)
def test_a_search_that_is_not_valid_is_refused(ada: Person, wrong: dict[str, Any]) -> None:
    assert refused(ada.get("/search", query_string={"q": "tea", **wrong})) == (400, "bad_request")


@pytest.fixture
def named(ada: Person, talk: str) -> str:
    """The friendly id of the conversation about sourdough, whose first message has a file."""
    sent = ada.post("/attachments?name=notes.txt", data=b"Numbers.", content_type="application/octet-stream")
    ada.say(talk, "Look.", files=[sent.json["attachment_id"]])
    ada.put(f"/conversations/{talk}/title", json={"title": "Of another name"})
    ada.say(ada.new_conversation(), "What is in @conversation_nothing_here_k3f9_message_1?")
    return str(ada.get(f"/get_conversation_details/{talk}").json["conversation_friendly_id"])


PASTED = ("{}", "@{}", "{}_message_1", "@conversation_{}", "conv_{}", "@CONVERSATION_{}", "@conversation_{}_message_3")


@pytest.mark.contract
@pytest.mark.parametrize("pasted", [*PASTED, "@conversation_{}_messages_1-2", "@conversation_{}_message_3_file_1"])
def test_a_pasted_reference_finds_its_conversation_first(ada: Person, talk: str, named: str, pasted: str) -> None:
    for kind in ("conversation", "all"):
        for mode in ("auto", "words"):
            first, *_ = found(ada, pasted.format(named), kind=kind, mode=mode).results
            assert isinstance(first, ConversationResult)
            assert (first.conversation_id, first.reference) == (talk, f"@conversation_{named}")


@pytest.mark.contract
def test_a_pasted_reference_finds_its_messages_first(ada: Person, talk: str, named: str) -> None:
    for pasted, indexes in (("message_3", [3]), ("msg_1", [1]), ("messages_2-3", [2, 3]), ("message_3_file_1", [3])):
        ada.say(ada.new_conversation(), f"We spoke of @conversation_{named}_{pasted} before.")
        for shown in ("conversation_{}_{}", "@conv_{}_{}", "{}_{}"):
            results = found(ada, shown.format(named, pasted), kind="message", mode="words").results
            hits = [each for each in results if isinstance(each, MessageResult)]
            there = [each.message_index for each in hits[: len(indexes)] if each.conversation_id == talk]
            assert there == indexes
            if shown.startswith("conversation"):
                assert len(hits) > len(indexes)  # who refers to it says the same
    (by_index, *_) = found(ada, f"@conversation_{named}_message_3", kind="message").results
    assert isinstance(by_index, MessageResult)
    assert by_index.reference
    (by_hash, *_) = found(ada, by_index.reference, kind="message").results
    assert by_hash == by_index


def test_messages_of_a_pasted_reference_are_paged_as_all_others(ada: Person, named: str) -> None:
    q, seen, cursor = f"@conversation_{named}_messages_1-3", list[str | None](), None
    while True:
        page = found(ada, q, kind="message", mode="words", limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [each.reference for each in page.results]
        cursor = page.next
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 3


@pytest.mark.contract
def test_a_pasted_reference_finds_its_file(ada: Person, named: str) -> None:
    reference = f"@conversation_{named}_message_3_file_1"
    for kind in ("file", "all"):
        (file,) = (each for each in found(ada, reference, kind=kind).results if isinstance(each, FileResult))
        assert (file.title, file.number, file.message_index) == ("notes.txt", 1, 3)
    assert found(ada, f"@conversation_{named}_message_3_file_2", kind="file").results == []
    assert found(ada, f"@conversation_{named}_message_1_file_1", kind="file").results == []


@pytest.mark.contract
def test_a_former_name_finds_what_it_was_given_to(ada: Person, talk: str, named: str, app: Flask) -> None:
    own: dict[str, Any] = {"database": app.extensions[EXTENSION].database, "user_email": ada.email}
    set_friendly_id(**own, conversation_id=talk, conversation_friendly_id="loaves_zz99")
    for kind, q in (("conversation", named), ("conversation", "loaves_zz99"), ("message", f"{named}_message_1")):
        (first, *_) = found(ada, q, kind=kind).results
        assert isinstance(first, ConversationResult | MessageResult)
        assert (first.conversation_id, first.conversation_friendly_id) == (talk, "loaves_zz99")
    assert found(ada, f"forty in:{named}").results


def test_nobody_finds_by_reference_what_belongs_to_others(named: str, person: Callable[[str], Person]) -> None:
    bob = person("bob@example.org")
    for pasted in ("{}", "@conversation_{}_message_1", "@conversation_{}_message_3_file_1"):
        assert found(bob, pasted.format(named)).results == []


def test_nobody_finds_what_belongs_to_others(ada: Person, talk: str, person: Callable[[str], Person]) -> None:
    ada.remember("I feed my sourdough on Sundays")
    bob = person("bob@example.org")
    name = ada.get(f"/get_conversation_details/{talk}").json["conversation_friendly_id"]
    assert found(bob, "sourdough").results == []
    theirs = bob.get("/search", query_string={"q": "sourdough", "conversation": name})
    missing = bob.get("/search", query_string={"q": "sourdough", "conversation": "x" * len(name)})
    assert theirs.json["results"] == []
    assert theirs.get_data(as_text=True).replace(name, "") == missing.get_data(as_text=True).replace(
        "x" * len(name), ""
    )


@pytest.mark.parametrize("q", ["Müller", "muller", "Café", "cafe", "Größe", "grosse", "İstanbul", "istanbul", "日本"])
def test_conversations_are_found_by_titles_in_any_script(ada: Person, q: str) -> None:
    titles = ["Müller Projekt", "Café planning", "Größe von Teig", "İstanbul trip", "日本 旅行", "本を読む日"]
    for title in titles:
        here = ada.new_conversation()
        ada.say(here, "What is that?")
        ada.put(f"/conversations/{here}/title", json={"title": title})
    begins = {"mu": 0, "ca": 1, "gr": 2, "is": 3, "日本": 4}
    (expected,) = (titles[place] for beginning, place in begins.items() if folded(q).startswith(beginning))
    for kind in ("conversation", "all"):
        results = [each for each in found(ada, q, kind=kind).results if isinstance(each, ConversationResult)]
        assert [each.title for each in results] == [expected]
    listed = ada.get("/list_conversation_by_user/assistant", query_string={"q": q}).json
    assert [each["title"] for each in listed] == [expected]


def remembered(person: Person, q: str, **more: Any) -> set[str]:
    """The statements of the memories that a search of memories alone, and one of everything, find."""
    alone, among = (found(person, q, kind=kind, **more).results for kind in ("memory", "all"))
    statements = {each.claim.statement for each in alone if isinstance(each, MemoryResult)}
    assert {each.claim.statement for each in among if isinstance(each, MemoryResult)} == statements
    return statements


@pytest.mark.contract
def test_quoted_words_and_the_mode_of_words_find_memories_that_say_them(ada: Person) -> None:
    side_by_side = "I bake with rye flour"
    apart = "Of flour, I like that of rye"
    other = "I store flour in the cellar"
    accented = "Kärnten sells Rye Flour, too"
    for statement in (side_by_side, apart, other, accented):
        ada.remember(statement)
    phrase = {side_by_side, accented}
    for mode in ("auto", "words"):
        assert remembered(ada, '"rye flour"', mode=mode) == phrase
        assert remembered(ada, '"RYE flour" karnten', mode=mode) == {accented}
        assert remembered(ada, '"rye cellar"', mode=mode) == set()
    assert remembered(ada, "rye flour", mode="words") == {*phrase, apart}
    assert remembered(ada, "flour cel", mode="words") == {other}  # the last word may go on
    assert remembered(ada, "rye cellar", mode="words") == set()
    assert remembered(ada, "rye flour") >= {*phrase, apart, other}
    assert remembered(ada, "rye flour", mode="meaning") >= {*phrase, apart, other}


@pytest.mark.contract
def test_memories_without_a_word_are_found_in_every_mode(ada: Person) -> None:
    ada.remember("I bake with rye flour")
    ada.remember("I bake with wheat flour")
    for mode in ("auto", "words", "meaning"):
        assert remembered(ada, "bake -wheat", mode=mode) == {"I bake with rye flour"}
        assert remembered(ada, 'bake -"rye flour"', mode=mode) == {"I bake with wheat flour"}
        assert remembered(ada, "-wheat", mode=mode) == set()


@pytest.mark.contract
def test_memories_are_found_by_the_day_of_their_last_change(ada: Person) -> None:
    claim = ada.remember("I bake with rye flour")
    day, said = claim.updated_at[:10], {claim.statement}
    for mode in ("auto", "words", "meaning"):
        assert remembered(ada, f"flour after:{day}", mode=mode) == said
        assert remembered(ada, "flour before:2100", mode=mode) == said
        assert remembered(ada, f"flour before:{day}", mode=mode) == set()
        assert remembered(ada, "flour after:2100", mode=mode) == set()
    assert {each.kind for each in found(ada, f"flour after:{day}").results} == {"memory"}


def test_memories_that_say_the_words_are_paged_to_the_end(ada: Person) -> None:
    for number in range(7):
        ada.remember(f"Rye flour of brand {number}")
        ada.remember(f"Wheat flour, no rye, of brand {number}")
    seen, cursor = list[str | None](), None
    while True:
        page = found(ada, '"rye flour"', kind="memory", limit=3, **({"cursor": cursor} if cursor else {}))
        seen += [each.snippet for each in page.results if isinstance(each, MemoryResult)]
        cursor = page.next
        if cursor is None:
            break
    assert sorted(filter(None, seen)) == [f"Rye flour of brand {number}" for number in range(7)]


@pytest.mark.parametrize("mode", ["auto", "words"])
def test_a_memory_is_found_by_its_name(ada: Person, mode: str) -> None:
    ada.remember("I feed my starter on Sundays", friendly_id="starter_care_k3f9")
    for q in ("starter_care_k3f9", "@starter_care_k3f9"):
        assert remembered(ada, q, mode=mode) == {"I feed my starter on Sundays"}
    assert remembered(ada, '"starter care"', mode=mode) == set()


def test_memories_are_found_by_whole_runs_of_characters_without_spaces(ada: Person) -> None:
    ada.remember("日本に行きたい")
    ada.remember("毎晩本を読む")
    assert [each.title for each in found(ada, "日本", kind="memory").results] == [
        each.title for each in found(ada, "行きたい", kind="memory").results
    ]
    assert len(found(ada, "本", kind="memory").results) == 2
    assert len(found(ada, "日本 読む", kind="memory").results) == 2


def test_a_file_is_found_by_the_words_of_its_name(ada: Person) -> None:
    name = "Müller Bericht.txt"
    sent = ada.post(f"/attachments?name={quote(name)}", data=b"Zahlen.", content_type="application/octet-stream")
    ada.say(ada.new_conversation(), "Look.", files=[sent.json["attachment_id"]])
    for q in ("Müller", "muller", "BERICHT"):
        (file,) = found(ada, q, kind="file").results
        assert isinstance(file, FileResult)
        assert file.title == name
        hits = ada.get(f"/conversations/{file.conversation_friendly_id}/messages", query_string={"q": q}).json
        assert [hit["files"] for hit in hits] == [[{"number": 1, "name": name}]]


def test_what_was_said_comes_as_text_with_places(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "<img src=x onerror=alert(1)> and rye")
    message, *_ = found(ada, "rye onerror", kind="message").results
    assert message.snippet == "<img src=x onerror=alert(1)> and rye"
    assert [message.snippet[slice(*place)] for place in message.ranges] == ["onerror", "rye"]
