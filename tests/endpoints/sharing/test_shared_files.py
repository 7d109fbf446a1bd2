"""Files behind a shared link: those that were chosen, as long as the conversation has them, and no others."""

from __future__ import annotations

import io
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from PIL import Image
from sqlalchemy import insert, update

from attachments.storage import Attachments
from database.schema import attachments, message_parts
from database.sharing import snapshots
from database.sharing.shares import SharedPage
from endpoints.http.models import Done
from endpoints.http.scope import EXTENSION
from endpoints.sharing import models as share_models
from tests.attachments.made_files import picture_of
from tests.endpoints.conftest import Person, refused, told

pytestmark = pytest.mark.contract

PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
NOTES, PLAN, PHOTO = b"Sow in March.", b"Beans by the wall.", picture_of(40, 20, turned=True)


@pytest.fixture
def stranger(app: Flask) -> FlaskClient:
    """Somebody without an account."""
    return app.test_client()


def upload(person: Person, content: bytes, name: str) -> str:
    answer = person.post(f"/attachments?name={name}", data=content, content_type="application/octet-stream")
    assert answer.status_code == 201, answer.get_data(as_text=True)
    return str(answer.json["attachment_id"])


class Garden:
    """A conversation of ada's with a question that has two files, and one with a photo."""

    def __init__(self, ada: Person) -> None:
        self.ada = ada
        self.conversation_id = ada.new_conversation()
        self.notes, self.plan, self.photo = (
            upload(ada, content, name)
            for content, name in ((NOTES, "notes.txt"), (PLAN, "plan.txt"), (PHOTO, "photo.jpg"))
        )
        self.first = self.ask("When?", [self.notes, self.plan])
        self.second = self.ask("And this one?", [self.photo])

    def ask(self, text: str, files: list[str]) -> str:
        """The id of the question."""
        events = self.ada.say(self.conversation_id, text, files=files)
        ids = [event["message_ids"] for event in events if "message_ids" in event][-1]
        return str(ids["user_message_id"])

    def share(self, *files: str) -> str:
        """The path of the link, which shows these files."""
        made = self.ada.post(f"/share/{self.conversation_id}", json={"files": list(files)})
        return str(told(made, share_models.ShareItem).url)

    def state(self) -> share_models.ShareState:
        return told(self.ada.get(f"/share/{self.conversation_id}"), share_models.ShareState)

    def chosen(self) -> list[str]:
        return [file.name for file in self.state().files if file.is_shared]


@pytest.fixture
def garden(ada: Person) -> Garden:
    return Garden(ada)


def file_at(stranger: FlaskClient, url: str, place: str) -> str:
    """The path of a file of the snapshot that the link shows now; `place`: message and number."""
    return f"{url}/files/{told(stranger.get(url), SharedPage).snapshot}/{place}"


def parts_in(stranger: FlaskClient, url: str) -> dict[int, list[dict[str, Any]]]:
    """The parts that a reader is told of, by the number of their message."""
    messages = told(stranger.get(url), SharedPage).messages
    return {message["message_index"]: message["parts"] for message in messages if "parts" in message}


def test_a_link_shows_no_file_that_was_not_chosen(garden: Garden, ada: Person, stranger: FlaskClient) -> None:
    without_body = str(told(ada.post(f"/share/{garden.conversation_id}"), share_models.ShareItem).url)
    assert parts_in(stranger, without_body) == {}
    assert garden.chosen() == []
    assert garden.share() == without_body
    assert parts_in(stranger, without_body) == {}
    for place in ("1/1", "1/2", "3/1"):
        assert refused(stranger.get(file_at(stranger, without_body, place))) == (404, "share_not_found")


def test_chosen_files_are_at_their_messages_and_can_be_fetched(garden: Garden, stranger: FlaskClient) -> None:
    url = garden.share(garden.plan, garden.photo)
    plan = {"kind": "file", "name": "plan.txt", "media_type": "text/plain", "size": len(PLAN), "number": 2}
    photo = {"kind": "image", "name": "photo.jpg", "media_type": "image/jpeg", "size": len(PHOTO), "number": 1}
    ((first,), (second,)) = (parts_in(stranger, url)[index] for index in (1, 3))
    assert first == {**plan, "at": first["at"]}
    assert second == {**photo, "at": second["at"], "width": 20, "height": 40}

    saved = stranger.get(file_at(stranger, url, "1/2"))
    assert (saved.get_data(), saved.mimetype) == (PLAN, "application/octet-stream")
    assert saved.headers["Content-Disposition"].startswith('attachment; filename="plan.txt"')
    for place in ("1/1", "1/3", "2/1", "3/2", "0/1"):
        assert refused(stranger.get(file_at(stranger, url, place))) == (404, "share_not_found"), place
    assert stranger.get(file_at(stranger, url, f"1/{2**70}")).status_code == 404


def test_a_photo_is_shown_without_what_it_says_beside_the_picture(garden: Garden, stranger: FlaskClient) -> None:
    shown = stranger.get(file_at(stranger, garden.share(garden.photo), "3/1"))
    assert shown.mimetype == "image/jpeg"
    assert len(Image.open(io.BytesIO(PHOTO)).getexif()) > 0
    with Image.open(io.BytesIO(shown.get_data())) as picture:
        assert (picture.size, len(picture.getexif())) == ((20, 40), 0)


@pytest.mark.parametrize("place", ["1/2", "3/1"])
def test_nothing_runs_in_a_file_and_nobody_keeps_it(garden: Garden, stranger: FlaskClient, place: str) -> None:
    answer = stranger.get(file_at(stranger, garden.share(garden.plan, garden.photo), place), headers=PAGE)
    assert answer.status_code == 200
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Robots-Tag"] == "noindex, nofollow"


def test_no_reader_learns_the_id_of_a_file(garden: Garden, stranger: FlaskClient) -> None:
    url = garden.share(garden.notes, garden.photo)
    for headers in ({}, PAGE):
        said = stranger.get(url, headers=headers).get_data(as_text=True)
        assert [each for each in (garden.notes, garden.plan, garden.photo, "plan.txt") if each in said] == []
    assert refused(stranger.get(f"/attachments/{garden.notes}")) == (401, "unauthorized")


def test_the_files_that_can_be_chosen_are_told_and_sharing_again_chooses_anew(
    garden: Garden, stranger: FlaskClient
) -> None:
    garden.ask("Once more", [garden.notes])
    told_of = [(file.name, file.media_type, file.size, file.is_shared) for file in garden.state().files]
    assert sorted(told_of) == [
        ("notes.txt", "text/plain", len(NOTES), False),
        ("photo.jpg", "image/jpeg", len(PHOTO), False),
        ("plan.txt", "text/plain", len(PLAN), False),
    ]
    url = garden.share(garden.notes)
    # A file that two questions have is with both.
    assert sorted(parts_in(stranger, url)) == [1, 5]
    assert garden.chosen() == ["notes.txt"]
    assert garden.share(garden.plan) == url
    assert garden.chosen() == ["plan.txt"]
    assert stranger.get(file_at(stranger, url, "1/2")).get_data() == PLAN
    assert refused(stranger.get(file_at(stranger, url, "1/1"))) == (404, "share_not_found")
    assert refused(stranger.get(file_at(stranger, url, "5/1"))) == (404, "share_not_found")


def test_a_page_from_before_the_link_was_renewed_gets_no_other_file(
    garden: Garden, ada: Person, stranger: FlaskClient
) -> None:
    both = garden.ask("And these?", [garden.plan, garden.notes])
    url = garden.share(garden.photo, garden.notes)
    before = file_at(stranger, url, "3/1")
    assert stranger.get(before).mimetype == "image/jpeg"
    # Its message is the third no more, and the first of the files of the third is another one.
    moved = {"message_ids": [both], "direction": "up"}
    for _ in range(2):
        assert ada.post(f"/move_messages_up_or_down/{garden.conversation_id}", json=moved).status_code == 200
    assert garden.share(garden.plan, garden.photo) == url
    assert stranger.get(file_at(stranger, url, "3/1")).get_data() == PLAN
    assert refused(stranger.get(before)) == (410, "share_outdated")
    assert "reload" in stranger.get(before, headers=PAGE).get_data(as_text=True)
    unheard_of = f"{url}/files/{'0' * 32}/3/1"
    assert refused(stranger.get(unheard_of)) == (410, "share_outdated")


def test_what_is_no_file_of_the_conversation_is_refused_and_changes_nothing(
    garden: Garden, ada: Person, eve: Person, stranger: FlaskClient
) -> None:
    elsewhere = Garden(eve)
    other = ada.new_conversation()
    secret = upload(ada, b"My number is 4711.", "secret.txt")
    ada.say(other, "Keep it", files=[secret])
    unsent = upload(ada, b"Not sent yet.", "draft.txt")
    hidden = f"/show_hide_message_from_conversation/{garden.conversation_id}/{garden.second}/3"
    assert ada.post(hidden, json={"show_hide": "hide"}).status_code == 200
    path = f"/share/{garden.conversation_id}"
    wrong = (secret, elsewhere.plan, unsent, garden.photo, garden.conversation_id, "never-was")
    for file in wrong:
        assert refused(ada.post(path, json={"files": [garden.notes, file]})) == (404, "attachment_not_found")
    assert ada.get("/shares").json == []
    url = garden.share(garden.notes)
    for file in wrong:
        assert refused(ada.post(path, json={"files": [file]})) == (404, "attachment_not_found")
    assert garden.chosen() == ["notes.txt"]
    assert list(parts_in(stranger, url)) == [1]
    for body in ({"files": garden.notes}, {"files": None}, {"files": [""]}, {"all": True}, []):
        assert refused(ada.post(path, json=body)) == (400, "bad_request")
    assert refused(eve.post(path, json={"files": [garden.notes]})) == (404, "conversation_not_found")


def test_a_file_beside_the_active_path_can_not_be_chosen(garden: Garden, ada: Person, stranger: FlaskClient) -> None:
    url = garden.share(garden.photo)
    events = ada.post(f"/branch/{garden.conversation_id}/{garden.first}", json={"text": "Where?"})
    assert b"message_ids" in events.get_data()
    assert "photo.jpg" not in [file.name for file in garden.state().files]
    refusal = ada.post(f"/share/{garden.conversation_id}", json={"files": [garden.photo]})
    assert refused(refusal) == (404, "attachment_not_found")
    # The snapshot is of before.
    assert stranger.get(file_at(stranger, url, "3/1")).status_code == 200


def test_a_token_serves_only_what_its_own_conversation_shares(
    garden: Garden, eve: Person, stranger: FlaskClient
) -> None:
    of_eve = Garden(eve)
    mine, hers = garden.share(garden.notes), of_eve.share(of_eve.plan)
    assert stranger.get(file_at(stranger, mine, "1/1")).get_data() == NOTES
    assert stranger.get(file_at(stranger, hers, "1/2")).get_data() == PLAN
    assert refused(stranger.get(file_at(stranger, mine, "1/2"))) == (404, "share_not_found")
    assert refused(stranger.get(file_at(stranger, hers, "1/1"))) == (404, "share_not_found")
    # Nor for their owner, who has an account.
    assert refused(garden.ada.get(file_at(stranger, mine, "1/2"))) == (404, "share_not_found")


def test_files_end_with_the_link(garden: Garden, ada: Person, stranger: FlaskClient) -> None:
    url = garden.share(garden.notes, garden.photo)
    files = [file_at(stranger, url, place) for place in ("1/1", "3/1")]
    told(ada.delete(f"/share/{garden.conversation_id}"), Done)
    for file in files:
        assert refused(stranger.get(file)) == (404, "share_not_found")
    again = garden.share()
    assert again != url
    for place, file in zip(("1/1", "3/1"), files, strict=True):
        assert refused(stranger.get(file)) == (404, "share_not_found")
        assert refused(stranger.get(file_at(stranger, again, place))) == (404, "share_not_found")


def test_files_sleep_in_the_bin_and_end_with_the_conversation_though_another_has_them(
    garden: Garden, ada: Person, stranger: FlaskClient
) -> None:
    ada.say(ada.new_conversation(), "Here, too", files=[garden.notes])
    file = file_at(stranger, garden.share(garden.notes), "1/1")
    ada.delete(f"/delete_conversation/{garden.conversation_id}")
    assert refused(stranger.get(file)) == (404, "share_not_found")
    ada.post(f"/restore_conversation/{garden.conversation_id}")
    assert stranger.get(file).get_data() == NOTES
    ada.delete(f"/delete_conversation/{garden.conversation_id}")
    ada.post("/empty_bin/assistant")
    assert refused(stranger.get(file)) == (404, "share_not_found")
    assert ada.get(f"/attachments/{garden.notes}").get_data() == NOTES


def test_a_file_ends_with_the_message_that_has_it_though_the_words_stay(
    garden: Garden, ada: Person, stranger: FlaskClient
) -> None:
    ada.say(ada.new_conversation(), "Here, too", files=[garden.notes])
    url = garden.share(garden.notes, garden.photo)
    gone = f"/delete_message_from_conversation/{garden.conversation_id}/{garden.first}/1"
    assert ada.delete(gone).status_code == 200
    assert refused(stranger.get(file_at(stranger, url, "1/1"))) == (404, "share_not_found")
    assert stranger.get(file_at(stranger, url, "3/1")).status_code == 200
    assert told(stranger.get(url), SharedPage).messages[0]["text"] == "When?"
    assert [file.name for file in garden.state().files] == ["photo.jpg"]


def test_a_file_of_somebody_else_is_never_shared_though_a_message_names_it(
    garden: Garden, eve: Person, app: Flask, stranger: FlaskClient
) -> None:
    url = garden.share(garden.notes, garden.plan)
    naming_hers = (
        update(message_parts)
        .where(message_parts.c.attachment_id == garden.notes)
        .values(attachment_id=upload(eve, b"My number is 4711.", "secret.txt"))
    )
    moved = update(attachments).where(attachments.c.attachment_id == garden.plan).values(user_email=eve.email)
    for change in (naming_hers, moved):
        app.extensions[EXTENSION].database.write(lambda connection, change=change: connection.execute(change).rowcount)
    assert [file.name for file in garden.state().files] == ["photo.jpg"]
    assert refused(stranger.get(file_at(stranger, url, "1/2"))) == (404, "share_not_found")


def test_a_file_of_a_version_that_is_not_shown_can_not_be_chosen(garden: Garden, ada: Person, app: Flask) -> None:
    other = upload(ada, b"Another try.", "other.txt")
    version = {"version": 2, "part_id": 1, "kind": "file", "at": 0, "data": {"name": "other.txt"}}
    row = {"message_id": garden.first, "attachment_id": other, **version}
    app.extensions[EXTENSION].database.write(
        lambda connection: connection.execute(insert(message_parts).values(row)).rowcount
    )
    assert "other.txt" not in [file.name for file in garden.state().files]
    refusal = ada.post(f"/share/{garden.conversation_id}", json={"files": [other]})
    assert refused(refusal) == (404, "attachment_not_found")


def test_the_chosen_files_of_all_pages_of_a_snapshot_are_shown(
    garden: Garden, stranger: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MESSAGES_A_PAGE", 2)
    url = garden.share(garden.notes, garden.photo)
    assert garden.chosen() == ["notes.txt", "photo.jpg"]
    assert stranger.get(file_at(stranger, url, "1/1")).get_data() == NOTES
    assert stranger.get(file_at(stranger, url, "3/1")).status_code == 200


def test_a_file_that_is_erased_is_gone_from_the_link(garden: Garden, app: Flask, stranger: FlaskClient) -> None:
    files: Attachments = app.extensions[EXTENSION].attachments
    url = garden.share(garden.notes, garden.photo)
    files.original(files.get(garden.ada.email, garden.notes)).unlink()
    assert refused(stranger.get(file_at(stranger, url, "1/1"))) == (404, "attachment_not_found")
    files.erase(garden.ada.email)
    assert refused(stranger.get(file_at(stranger, url, "3/1"))) == (404, "attachment_not_found")
