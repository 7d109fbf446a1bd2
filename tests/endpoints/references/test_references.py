"""References, permalinks and what is offered while one is typed, over HTTP."""

from __future__ import annotations

import pytest

from endpoints.references.models import Backlink, ResolvedItem, Suggestion
from tests.endpoints.conftest import Person, refused
from tests.endpoints.turns.test_turns import last_ids

pytestmark = pytest.mark.contract


def test_a_reference_leads_to_the_message_and_back(ada: Person) -> None:
    source = ada.new_conversation()
    ids = last_ids(ada.say(source, "The secret number is 17."))
    friendly_id = ada.get(f"/get_conversation_details/{source}").json["conversation_friendly_id"]
    reference = f"@conversation_{friendly_id}_message_{ids['user_message_short_hash']}"

    asking = ada.new_conversation()
    events = ada.say(asking, f"Which number? {reference}")
    assert events[0]["references"][0]["status"] == "resolved"
    resolved = ada.get("/references/resolve", query_string={"ref": reference}).json
    assert resolved["target"]["message_id"] == ids["user_message_id"]
    assert ResolvedItem(**resolved).icon == "chat-square-text"
    offered = ada.get(f"/references/suggest?q=conversation_{friendly_id}").json
    assert [Suggestion(**each).icon for each in offered if each["reference"].endswith(friendly_id)] == ["chat"]
    others = ada.get(f"/references/suggest?q=conversation_{friendly_id}&without=conversation,message").json
    assert others == [each for each in offered if each["kind"] != "conversation"]
    (backlink,) = ada.get(f"/messages/{ids['user_message_id']}/backlinks").json
    assert backlink["message_id"] == last_ids(events)["user_message_id"]

    for named in (ids["user_message_short_hash"], "1"):
        permalink = ada.get(f"/r/{friendly_id}/{named}")
        assert permalink.status_code == 302
        assert permalink.headers["Location"].endswith(f"?message={ids['user_message_id']}")
    for named in ("99", "0", "01", "000001"):
        assert ada.get(f"/r/{friendly_id}/{named}").status_code == 404
        reference = f"@conversation_{friendly_id}_message_{named}"
        assert ada.get("/references/resolve", query_string={"ref": reference}).json["status"] != "resolved"


def test_a_conversation_knows_who_refers_to_it_as_a_whole(ada: Person, eve: Person) -> None:
    source = ada.new_conversation()
    ada.say(source, "The secret number is 17.")
    name = f"@conversation_{ada.get(f'/get_conversation_details/{source}').json['conversation_friendly_id']}"
    asking = ada.new_conversation()
    asked = [
        last_ids(ada.say(asking, f"Look at {ref}"))["user_message_id"]
        for ref in (name, f"{name}_messages_1-2", f"{name}_message_1")
    ]
    listed = ada.get(f"/conversations/{source}/backlinks").json
    assert [Backlink(**link).message_id for link in listed] == asked[1::-1]
    assert ada.get(f"/conversations/{asking}/backlinks").json == []
    assert refused(eve.get(f"/conversations/{source}/backlinks")) == (404, "conversation_not_found")


@pytest.mark.parametrize("ref", ["#99", "#1", "@claim_1", "#a1b2c3", "@memory:nobody", "@health_domain&running_tag"])
def test_a_reference_means_by_itself_what_it_means_in_a_message(ada: Person, ref: str) -> None:
    ada.remember("I run at dawn", tags=["Running"], context_domain="health")
    (entry,) = (
        each for each in ada.say(ada.new_conversation(), f"{ref} hm?")[0]["references"] if each["ref"] != "memories"
    )
    resolved = ada.get("/references/resolve", query_string={"ref": ref}).json
    assert {name: resolved[name] for name in entry} == entry
    assert (entry["status"] == "resolved") == (ref in ("#1", "@claim_1", "@health_domain&running_tag"))


def test_conversations_and_messages_are_offered_while_typing(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Where is the towel?")
    (offered,) = ada.get("/conversations/autocomplete?q=deep").json
    assert offered["conversation_id"] == conversation_id
    newest = ada.get(f"/conversations/{offered['friendly_id']}/messages").json
    assert [item["index"] for item in newest] == [2, 1]
    found = ada.get(f"/conversations/{offered['friendly_id']}/messages?q=towel").json
    assert [item["preview"] for item in found] == ["Where is the towel?"]


def test_a_long_message_that_is_offered_shows_where_it_says_what_is_typed(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, f"{'We talked of the weather. ' * 40}Take the towel along. {'It rained. ' * 40}")
    (offered,) = ada.get("/conversations/autocomplete?q=deep").json

    def first(q: str) -> str:
        found: str = ada.get(f"/conversations/{offered['friendly_id']}/messages?q={q}").json[-1]["preview"]
        return found

    assert "Take the towel along." in first("tow")
    assert first("tow").startswith("… ")
    assert len(first("tow")) < 250
    assert first("").startswith("We talked of the weather.")
