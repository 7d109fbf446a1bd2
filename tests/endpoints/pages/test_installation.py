"""What browsers install the page with: a manifest whose icons are there, a worker that keeps nothing of anybody."""

from __future__ import annotations

import json
import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.endpoints.conftest import Person

pytestmark = pytest.mark.contract


def test_the_manifest_names_icons_that_are_there(app: Flask) -> None:
    client = app.test_client()
    answer = client.get("/manifest.webmanifest")
    assert answer.mimetype == "application/manifest+json"
    manifest = answer.get_json(force=True)
    assert (manifest["start_url"], manifest["display"]) == ("/interface/", "standalone")
    for icon in manifest["icons"]:
        image = client.get(icon["src"])
        assert (image.status_code, image.mimetype) == (200, icon["type"])
    assert 'rel="manifest" href="/manifest.webmanifest"' in client.get("/setup").get_data(as_text=True)


def test_the_worker_is_asked_for_each_time_and_keeps_files_that_anybody_may_have(app: Flask) -> None:
    client = app.test_client()
    answer = client.get("/service_worker.js")
    assert (answer.mimetype, answer.headers["Cache-Control"]) == ("text/javascript", "no-cache")
    assert "worker-src 'self'" in answer.headers["Content-Security-Policy"]
    found = re.match(r"self\.KEPT = (.*);\n", answer.get_data(as_text=True))
    assert found
    kept = json.loads(found[1])
    assert kept["version"] == answer.headers["X-Anaphora-Version"]
    assert kept["shell"] in kept["files"]
    assert {client.get(address).status_code for address in kept["files"]} == {200}
    assert all(address.startswith("/static/") for address in kept["files"] if address != kept["shell"])


def test_the_shell_is_the_same_for_everybody(app: Flask, ada: Person) -> None:
    def shell_of(client: FlaskClient) -> str:
        # The language is what the browser asks for.
        return client.get("/shell", headers={"Accept-Language": "en"}).get_data(as_text=True)

    assert shell_of(ada.client) == shell_of(app.test_client())
    assert '"is_shell": true' in shell_of(ada.client)
