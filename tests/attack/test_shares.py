"""What a shared link gives away: the words of one conversation, to who has the link, until it is withdrawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from flask import Flask
from flask.testing import FlaskClient

from language_models.testing import ScriptedChatModel
from tests.endpoints.conftest import Person, refused

PAGE = {"Accept": "text/html"}
XSS = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--"


@dataclass(frozen=True)
class Shared:
    """A shared conversation. secrets: what its messages lead to, or keep beside their words."""

    conversation_id: str
    url: str
    secrets: tuple[str, ...]


@pytest.fixture
def stranger(app: Flask) -> FlaskClient:
    """Somebody without an account."""
    return app.test_client()


@pytest.fixture
def shared(ada: Person) -> Shared:
    """It names a memory and a message of another conversation, was given a second memory, and hides a message."""
    elsewhere = ada.new_conversation()
    ada.put(f"/conversations/{elsewhere}/title", json={"title": "Journey to Zanzibar"})
    ada.say(elsewhere, "The treasure lies under the fig tree")
    source = ada.get(f"/get_conversation_details/{elsewhere}").json["conversation_friendly_id"]
    named, attached = ada.remember("My account is number 4711"), ada.remember("My allergy is to peanuts")
    conversation_id = ada.new_conversation()
    ada.put(f"/conversations/{conversation_id}/title", json={"title": "Plans"})
    text = f"What of @{named.friendly_id} and @conversation_{source}_message_1?"
    ada.say(conversation_id, text, attached_claim_ids=[attached.claim_id])
    ids = [event["message_ids"] for event in ada.say(conversation_id, "My maiden name") if "message_ids" in event][-1]
    hide = f"/show_hide_message_from_conversation/{conversation_id}/{ids['user_message_id']}/3"
    assert ada.post(hide, json={"show_hide": "hide"}).status_code == 200
    url = ada.post(f"/share/{conversation_id}").json["url"]
    told = ("Zanzibar", "fig tree", "account is number 4711", "peanuts", "maiden")
    ids_of_ada = (ada.email, ada.email.partition("@")[0] + "@", conversation_id, elsewhere, ids["user_message_id"])
    return Shared(conversation_id, url, (*told, *ids_of_ada, named.claim_id, attached.claim_id, "claim_id"))


def share(person: Person, *, title: str, text: str) -> str:
    """The link to a new conversation of one turn."""
    conversation_id = person.new_conversation()
    person.put(f"/conversations/{conversation_id}/title", json={"title": title})
    person.say(conversation_id, text)
    return str(person.post(f"/share/{conversation_id}").json["url"])


@pytest.mark.parametrize("headers", [{}, PAGE], ids=["json", "page"])
def test_nothing_that_messages_refer_to_or_were_given_is_in_it(
    shared: Shared, ada: Person, main_model: ScriptedChatModel, stranger: FlaskClient, headers: dict[str, str]
) -> None:
    listed = ada.get(f"/list_messages_by_conversation/{shared.conversation_id}").get_data(as_text=True)
    given = str(main_model.prompts)
    # They were there to leak: the model had them, and the messages keep what they were.
    assert all(secret in given for secret in ("fig tree", "account is number 4711", "peanuts"))
    assert '"memories":[{' in listed
    assert "Zanzibar" in listed

    answer = stranger.get(shared.url, headers=headers).get_data(as_text=True)
    assert "What of @" in answer
    assert [secret for secret in shared.secrets if secret in answer] == []


def test_being_signed_in_as_somebody_adds_nothing(shared: Shared, ada: Person, eve: Person) -> None:
    # The owner, too, sees what a stranger would.
    assert ada.get(shared.url).get_data() == eve.get(shared.url).get_data()


def test_markup_in_title_and_text_stays_text(ada: Person, stranger: FlaskClient) -> None:
    url = share(ada, title=XSS, text=XSS)
    page = stranger.get(url, headers=PAGE).get_data(as_text=True)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&lt;/script&gt;" in page
    answer = stranger.get(url)
    assert (answer.mimetype, answer.headers["X-Content-Type-Options"]) == ("application/json", "nosniff")
    assert (answer.json["title"], answer.json["messages"][0]["text"]) == (XSS, XSS)


def test_links_can_not_be_guessed_and_tell_nothing_of_each_other(ada: Person, stranger: FlaskClient) -> None:
    tokens = [share(ada, title="Same", text="Same").rpartition("/")[2] for _ in range(3)]
    assert len(set(tokens)) == 3
    # 256 bits in URL-safe Base64; nothing in front is the same.
    assert [len(token) for token in tokens] == [43, 43, 43]
    assert len({token[:4] for token in tokens}) == 3
    first = tokens[0]
    for guess in (
        first[:-1],
        first + "=",
        first.swapcase(),
        first + "%00",
        "%25",
        "_" * 43,
        first + "/",
        "..%2f" + first,
    ):
        assert stranger.get(f"/shared_chat/{guess}").status_code in (400, 404), guess


@pytest.mark.parametrize("headers", [{}, PAGE], ids=["json", "page"])
def test_withdrawn_binned_and_unknown_links_read_alike(
    ada: Person, stranger: FlaskClient, headers: dict[str, str]
) -> None:
    withdrawn, binned = share(ada, title="One", text="One"), share(ada, title="Two", text="Two")
    two, one = (item["conversation_id"] for item in ada.get("/shares").json)
    ada.delete(f"/share/{one}")
    ada.delete(f"/delete_conversation/{two}")

    def told(url: str) -> tuple[int, Any, Any]:
        answer = stranger.get(url, headers=headers)
        kept = {name: text for name, text in answer.headers.items() if name.lower() not in {"x-request-id", "date"}}
        body = answer.get_data(as_text=True).replace(answer.headers["X-Request-ID"], "")
        return answer.status_code, kept, body

    unknown = told(f"/shared_chat/{'x' * 43}")
    assert unknown[0] == 404
    assert told(withdrawn) == unknown
    assert told(binned) == unknown


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_another_site_neither_shares_nor_withdraws(
    shared: Shared, ada: Person, stranger: FlaskClient, method: str
) -> None:
    foreign = ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"})
    for headers in foreign:
        answer = ada.request(method, f"/share/{shared.conversation_id}", headers=headers)
        assert refused(answer) == (403, "forbidden")
    assert stranger.get(shared.url).status_code == 200


def test_a_link_lets_nobody_into_anything_else(shared: Shared, stranger: FlaskClient) -> None:
    token = shared.url.rpartition("/")[2]
    bearer = {"Authorization": f"Bearer {token}"}
    for method, path in (
        ("GET", f"/list_messages_by_conversation/{shared.conversation_id}"),
        ("GET", f"/share/{shared.conversation_id}"),
        ("POST", f"/share/{shared.conversation_id}"),
        ("DELETE", f"/share/{shared.conversation_id}"),
        ("GET", "/shares"),
    ):
        assert refused(stranger.open(path, method=method, headers=bearer)) == (401, "unauthorized"), path
    assert stranger.open(shared.url, method="DELETE", headers=bearer).status_code == 405


def test_a_token_that_may_only_read_shares_nothing(shared: Shared, ada: Person, app: Flask) -> None:
    made = ada.post("/api_tokens", json={"name": "reader", "read_only": True}).json["token"]
    program = app.test_client()
    bearer = {"Authorization": f"Bearer {made}"}
    path = f"/share/{shared.conversation_id}"
    assert program.get(path, headers=bearer).json["share"]["url"] == shared.url
    assert refused(program.post(path, headers=bearer)) == (403, "forbidden")
    assert refused(program.delete(path, headers=bearer)) == (403, "forbidden")


def test_the_link_is_not_made_of_what_a_request_says_of_its_host(shared: Shared, ada: Person) -> None:
    answer = ada.post(f"/share/{shared.conversation_id}", headers={"X-Forwarded-Host": "evil.example"})
    assert orjson.loads(answer.get_data())["url"].startswith("/shared_chat/")
