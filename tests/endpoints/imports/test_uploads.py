"""Files to import: as the body or in a form, written while they arrive, and within a quota of each person."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from flask import Flask

from endpoints.http.scope import EXTENSION, SETTINGS
from portability.imports.runner import FOLDER
from tests.endpoints.conftest import Person, refused
from tests.endpoints.serving.test_bridge import CHUNKED, Connection, ask, cookie_of

LINE = b'{"conversation": "a", "role": "user", "text": "%s"}\n'
MEGABYTE = 1024 * 1024
FORM = b"multipart/form-data; boundary=xyz"


def form(content: bytes, *, name: str = "talks.jsonl") -> bytes:
    """A form as a browser sends it, with a field before its file and another file behind."""
    field = b'--xyz\r\nContent-Disposition: form-data; name="note"\r\n\r\nmine\r\n'
    head = f'--xyz\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    other = b'\r\n--xyz\r\nContent-Disposition: form-data; name="b"; filename="b"\r\n\r\nother'
    return field + head + content + other + b"\r\n--xyz--\r\n"


def pieces(content: bytes, *, size: int) -> list[bytes]:
    return [content[start : start + size] for start in range(0, len(content), size)]


def sent(app: Flask, person: Person, body: list[bytes], *, media: bytes, declared: bool = True) -> Connection:
    length = (b"content-length", str(sum(map(len, body))).encode()) if declared else CHUNKED
    headers = [(b"content-type", media), length, cookie_of(person)]
    return ask(app, Connection("POST", "/import", body=body, headers=headers))


def uploads(app: Flask) -> list[bytes]:
    folder = app.extensions[EXTENSION].settings.data_dir / FOLDER
    return [file.read_bytes() for file in folder.iterdir()] if folder.exists() else []


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_a_file_in_a_form_is_written_as_it_is_however_it_arrives(app: Flask, ada: Person, size: int) -> None:
    content = LINE % b"--xyz \\r\\n--xy" + b"\r\n--xy\r\n" + b"x" * 500
    answer = sent(app, ada, pieces(form(content), size=size), media=FORM)
    assert answer.status == 201
    item = json.loads(answer.body)
    assert (item["file_name"], item["file_size"]) == ("talks.jsonl", len(content))
    assert uploads(app) == [content]


def test_a_form_is_taken_without_the_loop_as_well(app: Flask, ada: Person) -> None:
    data = {"file": (io.BytesIO(LINE % b"Hi"), "mine/talks.jsonl")}
    answer = ada.post("/import", data=data, content_type="multipart/form-data")
    assert (answer.status_code, answer.json["file_name"]) == (201, "talks.jsonl")
    data = {"file": (io.BytesIO(LINE % b"Hi"), "a")}
    named = ada.post("/import?name=b.jsonl", data=data, content_type="multipart/form-data")
    assert (named.status_code, named.json["file_name"]) == (201, "b.jsonl")
    long = form(LINE % b"Hi").replace(b"--xyz", b"--" + b"x" * 200)
    media = f"multipart/form-data; boundary={'x' * 200}"
    assert ada.post("/import", data=long, content_type=media).status_code == 201
    too_long = ada.post("/import", data=long, content_type=f"multipart/form-data; boundary={'x' * 300}")
    assert refused(too_long) == (400, "bad_request")
    broken = ada.post("/import", data=form(LINE % b"Hi")[:-12], content_type=FORM.decode())
    assert refused(broken) == (400, "bad_request")
    assert len(uploads(app)) == 3


@pytest.mark.parametrize(
    "body",
    [
        b"nothing of a form",
        form(LINE % b"Hi")[:-12],
        b"--xyz--\r\n",
        b'--xyz\r\nContent-Disposition: form-data; name="note"\r\n\r\nno file\r\n--xyz--\r\n',
        b"--xyz\r\n" + b"x" * MEGABYTE,
        b"".join(b'--xyz\r\nContent-Disposition: form-data; name="%d"\r\n\r\n\r\n' % n for n in range(100)),
    ],
    ids=["no form", "cut off", "empty", "no file", "endless head", "many parts"],
)
def test_what_is_no_form_with_a_file_is_refused_and_leaves_nothing(app: Flask, ada: Person, body: bytes) -> None:
    answer = sent(app, ada, pieces(body, size=100_000), media=FORM)
    assert (answer.status, json.loads(answer.body)["code"]) == (400, "bad_request")
    assert uploads(app) == []


def test_a_form_of_another_site_is_refused(app: Flask, ada: Person) -> None:
    connection = Connection("POST", "/import", body=[form(LINE % b"Hi")])
    connection.scope["headers"] = [
        (b"host", b"localhost"),
        (b"origin", b"http://elsewhere.example"),
        (b"content-type", FORM),
        cookie_of(ada),
    ]
    assert ask(app, connection).status == 403
    assert uploads(app) == []


@pytest.fixture
def small_quota(app: Flask) -> None:
    """A person may have a megabyte of files waiting."""
    state = app.extensions[EXTENSION]
    settings = state.settings.model_copy(update={"import_quota": 1})
    app.extensions[SETTINGS], app.extensions[EXTENSION] = settings, replace(state, settings=settings)


@pytest.mark.usefixtures("small_quota")
def test_files_that_wait_are_bounded_for_each_person_before_the_body_is_read(
    app: Flask, ada: Person, eve: Person
) -> None:
    content = LINE % (b"x" * (600 * 1024))
    first = sent(app, ada, [content], media=b"application/octet-stream")
    assert first.status == 201

    connection = Connection(
        "POST",
        "/import",
        body=pieces(content, size=64 * 1024),
        headers=[
            (b"content-type", b"application/octet-stream"),
            (b"content-length", b"100000000"),
            cookie_of(ada),
        ],
    )
    began = len(connection.unsent)
    answer = ask(app, connection)
    told = json.loads(answer.body)
    assert (answer.status, told["code"]) == (507, "quota_exceeded")
    assert "1 MB" in told["message"]
    assert len(connection.unsent) == began
    chunked = sent(app, ada, pieces(content, size=64 * 1024), media=b"application/octet-stream", declared=False)
    assert chunked.status == 507
    assert sent(app, ada, pieces(form(content), size=64 * 1024), media=FORM).status == 507
    assert len(uploads(app)) == 1
    assert sent(app, eve, [content], media=b"application/octet-stream").status == 201

    # What ends makes room again.
    import_id = json.loads(first.body)["import_id"]
    assert ada.post(f"/imports/{import_id}/cancel").status_code == 200
    assert sent(app, ada, [content], media=b"application/octet-stream").status == 201


@pytest.mark.usefixtures("small_quota")
def test_files_that_wait_are_bounded_without_the_loop_as_well(ada: Person) -> None:
    content = LINE % (b"x" * (600 * 1024))
    octets = "application/octet-stream"
    assert ada.post("/import", data=content, content_type=octets).status_code == 201
    assert refused(ada.post("/import", data=content, content_type=octets)) == (507, "quota_exceeded")
