"""Sharing over HTTP: by its owner with an account, to whoever has the link without one."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest
from flask import Flask
from flask.testing import FlaskClient

from database.sharing.shares import SharedPage
from endpoints.http.models import Done
from endpoints.sharing import models as share_models
from tests.endpoints.conftest import Person, refused, told

pytestmark = pytest.mark.contract

PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def stranger(app: Flask) -> FlaskClient:
    """Somebody without an account."""
    return app.test_client()


@pytest.fixture
def conversation_id(ada: Person) -> str:
    """A conversation of ada's with one turn."""
    made = ada.new_conversation()
    ada.say(made, "What is the answer?")
    return made


def shared(person: Person, conversation_id: str) -> share_models.ShareItem:
    return told(person.post(f"/share/{conversation_id}"), share_models.ShareItem)


def in_page(html: str) -> Any:
    """What the page is given to show."""
    found = re.search(r'<script type="application/json" id="shared">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return orjson.loads(found[1])


def test_who_has_the_link_reads_the_conversation_without_an_account(
    ada: Person, conversation_id: str, stranger: FlaskClient
) -> None:
    made = shared(ada, conversation_id)
    assert made.url == f"/shared_chat/{made.token}"
    chat = told(stranger.get(made.url), SharedPage)
    assert [(each["message_index"], each["sender"], each["text"]) for each in chat.messages] == [
        (1, "user", "What is the answer?"),
        (2, "model", "It is forty-two."),
    ]
    assert (chat.title, chat.created_at, chat.message_count, chat.next) == (made.title, made.created_at, 2, None)
    rest = told(stranger.get(f"{made.url}?after=1&limit=1"), SharedPage)
    assert [each["message_index"] for each in rest.messages] == [2]


def test_a_browser_gets_a_page_with_the_same_in_it(ada: Person, conversation_id: str, stranger: FlaskClient) -> None:
    url = shared(ada, conversation_id).url
    assert url is not None
    page = stranger.get(url, headers=PAGE)
    assert (page.status_code, page.mimetype) == (200, "text/html")
    assert in_page(page.get_data(as_text=True)) == stranger.get(url).json


@pytest.mark.parametrize("accept", [{}, PAGE], ids=["json", "page"])
@pytest.mark.parametrize("known", [True, False], ids=["shared", "unknown"])
def test_nobody_is_told_the_address_and_nobody_keeps_it(
    ada: Person, conversation_id: str, stranger: FlaskClient, accept: dict[str, str], known: bool
) -> None:
    url = shared(ada, conversation_id).url if known else f"/shared_chat/{'x' * 43}"
    answer = stranger.get(str(url), headers=accept)
    assert answer.status_code == (200 if known else 404)
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Robots-Tag"] == "noindex, nofollow"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Accept" in answer.vary
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


def test_a_link_is_told_again_and_shows_a_newer_snapshot_when_asked_to(
    ada: Person, conversation_id: str, stranger: FlaskClient
) -> None:
    before = told(ada.get(f"/share/{conversation_id}"), share_models.ShareState)
    assert (before.share, before.message_count, before.hidden_count) == (None, 2, 0)
    made = shared(ada, conversation_id)
    ada.say(conversation_id, "And the question?")
    state = told(ada.get(f"/share/{conversation_id}"), share_models.ShareState)
    assert (state.share, state.message_count) == (made, 4)
    assert len(told(stranger.get(str(made.url)), SharedPage).messages) == 2
    again = shared(ada, conversation_id)
    assert again.url == made.url
    assert len(told(stranger.get(str(made.url)), SharedPage).messages) == 4


def test_own_links_are_listed_and_withdrawn(
    ada: Person, eve: Person, conversation_id: str, stranger: FlaskClient
) -> None:
    made = shared(ada, conversation_id)
    listed = [share_models.ShareItem.model_validate(each, strict=True) for each in ada.get("/shares").json]
    assert listed == [made]
    assert eve.get("/shares").json == []
    told(ada.delete(f"/share/{conversation_id}"), Done)
    assert ada.get("/shares").json == []
    assert refused(stranger.get(str(made.url))) == (404, "share_not_found")
    assert refused(ada.delete(f"/share/{conversation_id}")) == (404, "share_not_found")


def test_a_link_that_leads_nowhere_says_so_to_people(stranger: FlaskClient) -> None:
    page = stranger.get("/shared_chat/never-was", headers=PAGE)
    assert (page.status_code, page.mimetype) == (404, "text/html")
    assert "This link leads nowhere: it was withdrawn or mistyped." in page.get_data(as_text=True)
    assert "/interface/" not in page.get_data(as_text=True)


def test_a_link_in_the_bin_sleeps(ada: Person, conversation_id: str, stranger: FlaskClient) -> None:
    url = str(shared(ada, conversation_id).url)
    ada.delete(f"/delete_conversation/{conversation_id}")
    assert refused(stranger.get(url)) == (404, "share_not_found")
    assert ada.get("/shares").json[0]["in_bin"] is True
    ada.post(f"/restore_conversation/{conversation_id}")
    assert stranger.get(url).status_code == 200


def test_what_can_not_be_shared_is_refused_with_the_reason(ada: Person) -> None:
    empty = ada.post(f"/share/{ada.new_conversation()}")
    assert refused(empty) == (409, "conflict")
    assert "no finished message" in empty.json["message"]
    temporary = ada.post("/create_temporary_conversation/assistant").json["conversation_id"]
    ada.say(temporary, "Hello")
    refusal = ada.post(f"/share/{temporary}")
    assert refused(refusal) == (409, "conflict")
    assert "temporary" in refusal.json["message"]


@pytest.mark.parametrize("window", ["after=-1", "limit=0", "limit=51", "after=x", f"after={2**70}"])
def test_windows_are_bounded(ada: Person, conversation_id: str, stranger: FlaskClient, window: str) -> None:
    url = shared(ada, conversation_id).url
    assert refused(stranger.get(f"{url}?{window}")) == (400, "bad_request")
