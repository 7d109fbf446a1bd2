"""A real OpenID provider (oidc-provider-mock) on loopback, and what an attacker in its place could answer."""

from __future__ import annotations

import base64
import json
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import flask
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

CLIENT_ID = "anaphora"
CLIENT_SECRET = "a secret of the client that nobody sees"
GOOD = {"email_verified": True, "name": "Ada Lovelace"}

OLD_FASHIONED = (
    pytest.mark.filterwarnings("ignore::authlib.deprecate.AuthlibDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:get_jwt_config:DeprecationWarning"),
)
"""Marks of tests with a provider: it calls what Authlib will take away one day."""

Forged = tuple[dict[str, Any], dict[str, Any], Any]
"""The header and the claims of an ID token, and the key that signs them; None: a signature of nothing."""


@dataclass
class Provider:
    """A running provider. `forge` changes the ID tokens that it gives from now on, `describe` its description."""

    app: flask.Flask
    port: int
    forge: Callable[[dict[str, Any], dict[str, Any], Any], Forged] | None = None
    describe: Callable[[dict[str, Any]], None] | None = None
    asked: list[str] = field(default_factory=list)
    """The paths of all requests."""
    token_requests: list[dict[str, str]] = field(default_factory=list)

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environ(self, **more: str) -> dict[str, str]:
        """The settings of a server that people log in to by this provider."""
        named = {"ISSUER": self.issuer, "CLIENT_ID": CLIENT_ID, "CLIENT_SECRET": CLIENT_SECRET, "NAME": "Example"}
        return {f"ANAPHORA_OIDC_{name}": value for name, value in (named | more).items()}

    def knows(self, subject: str, email: str, **claims: Any) -> str:
        """Give a person these claims; the subject."""
        status, _ = self._send("PUT", f"/users/{subject}", json.dumps({"email": email, **GOOD, **claims}), "json")
        assert status < 300
        return subject

    def answer_for(self, address: str, subject: str | None) -> str:
        """Log in where the server sent the browser; where the provider sends it back, without the server's address.

        None: the person does not agree.
        """
        parts = urlsplit(address)
        assert parts.netloc == f"127.0.0.1:{self.port}"
        form = {"action": "deny"} if subject is None else {"sub": subject}
        status, location = self._send("POST", f"{parts.path}?{parts.query}", urlencode(form), "x-www-form-urlencoded")
        assert status in (302, 303)
        back = urlsplit(location)
        return f"{back.path}?{back.query}"

    def _send(self, method: str, path: str, body: str, kind: str) -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, {"Content-Type": f"application/{kind}"})
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.status, response.headers.get("Location", "")


def query_of(address: str) -> dict[str, str]:
    """The parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


@contextmanager
def running_provider() -> Iterator[Provider]:
    """A provider that listens on a free port of loopback."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import oidc_provider_mock
    app = oidc_provider_mock.app()
    server = make_server("127.0.0.1", 0, app, threaded=True)
    provider = Provider(app, server.server_port)
    app.before_request(lambda: _note(provider))
    app.after_request(lambda answer: _tampered(provider, answer))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _note(provider: Provider) -> None:
    provider.asked.append(flask.request.path)
    if flask.request.path == "/oauth2/token":
        provider.token_requests.append(flask.request.form.to_dict())


def _tampered(provider: Provider, answer: flask.Response) -> flask.Response:
    path = flask.request.path
    if answer.mimetype == "text/html":
        # Its pages name a style sheet of another host, which a browser would ask for.
        answer.set_data(re.sub(rb"<link\b.*?>", b"", answer.get_data(), flags=re.DOTALL))
    if path == "/.well-known/openid-configuration" and provider.describe is not None:
        described = answer.get_json()
        provider.describe(described)
        answer.set_data(flask.json.dumps(described))
    if path == "/oauth2/token" and answer.status_code == 200 and provider.forge is not None:
        tokens = answer.get_json()
        tokens["id_token"] = _forged(provider.forge, tokens["id_token"])
        answer.set_data(flask.json.dumps(tokens))
    return answer


def _forged(forge: Callable[[dict[str, Any], dict[str, Any], Any], Forged], token: str) -> str:
    own = RSAKey.import_key(flask.g.oidc_provider_mock_storage.jwk.as_dict(is_private=True))
    read = jwt.decode(token, own)
    header, claims, key = forge(dict(read.header), dict(read.claims), own)
    if key is None:
        return unsigned(header, claims)
    return jwt.encode(header, claims, key, algorithms=[header["alg"]])


def unsigned(header: dict[str, Any], claims: dict[str, Any]) -> str:
    """A token without a signature."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (header, claims)]
    return ".".join([*parts, ""])
