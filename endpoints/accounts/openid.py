"""An OpenID provider as its client sees it: discovery, the code flow with PKCE, and checking what the provider signed.

Authlib has the protocol, joserfc the signatures, httpx2 the requests; the module is imported by the first login by it.
Specification: OpenID Connect Core 1.0 and Discovery 1.0, RFC 7636 (PKCE), RFC 9207 (the issuer in the answer).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import httpx2
import orjson
from authlib.common.urls import add_params_to_uri
from authlib.oauth2.client import OAuth2Client
from authlib.oauth2.rfc6749.parameters import prepare_token_request
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import OpenIDProviderMetadata
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from endpoints.http.errors import ProviderUnavailableError, SignInRefusedError
from settings import Settings

log = logging.getLogger("anaphora.sign_in")

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""Signatures by a private key. With `none`, or with a secret that both know, anybody else could have made the token."""
_SECONDS = 10.0
_MOST_BYTES = 1024 * 1024
_METADATA_SECONDS = 600.0
_LEEWAY_SECONDS = 60
_KEYS_AT_MOST = 100
_EMAIL_CLAIMS = ("email", "email_verified")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What one login is known by until the person comes back from the provider. All are random and secret."""

    state: str
    nonce: str
    code_verifier: str


class OpenIDProvider:
    """One provider. Thread-safe."""

    def __init__(
        self, *, issuer: str, client_id: str, client_secret: str | None, scopes: str, groups_claim: str | None
    ) -> None:
        self._issuer = issuer
        self._client = OAuth2Client(
            None,
            client_id=client_id,
            client_secret=client_secret,
            scope=scopes,
            code_challenge_method="S256",
        )
        self._groups_claim = groups_claim
        self._lock = threading.Lock()
        self._metadata: tuple[float, Mapping[str, Any]] | None = None

    def authorization_url(self, attempt: Attempt, *, redirect_uri: str) -> str:
        """Where the browser goes, so that the person logs in there. Raises ProviderUnavailableError."""
        url, _ = self._client.create_authorization_url(
            self._described()["authorization_endpoint"],
            state=attempt.state,
            code_verifier=attempt.code_verifier,
            nonce=attempt.nonce,
            redirect_uri=redirect_uri,
        )
        return str(url)

    def log_out_url(self) -> str | None:
        """Where the browser goes to end the session there, which the provider asks the person about; None without it.

        Specification: OpenID Connect RP-Initiated Logout 1.0. Raises ProviderUnavailableError.
        """
        address = self._described().get("end_session_endpoint")
        return None if address is None else add_params_to_uri(address, [("client_id", self._client.client_id)])

    def redeem(self, code: str, attempt: Attempt, *, redirect_uri: str, issuer: str | None) -> Mapping[str, Any]:
        """The claims about the person, for the code that the provider sent along with them.

        issuer: the one that the answer names, if it names one.

        Raises:
            SignInRefusedError: the code, or what the provider gave for it, is not valid for this attempt.
            ProviderUnavailableError: the provider can't be reached, or talks nonsense.
        """
        described = self._described()
        named = described["issuer"] if _may_leave_out_issuer(described) and issuer is None else issuer
        if named != described["issuer"]:
            raise refused("the answer is another provider's, or does not say whose it is")
        tokens = self._tokens(described, code, attempt, redirect_uri=redirect_uri)
        claims = self._checked(described, tokens, nonce=attempt.nonce)
        return claims | self._user_info(described, tokens, claims)

    def _described(self) -> Mapping[str, Any]:
        """The provider's description of itself, asked for again after ten minutes. Raises ProviderUnavailableError."""
        with self._lock:
            kept = self._metadata
        if kept is not None and time.monotonic() - kept[0] < _METADATA_SECONDS:
            return kept[1]
        found = _answer("GET", f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        _check_description(found, self._issuer)
        with self._lock:
            self._metadata = (time.monotonic(), found)
        return found

    def _tokens(
        self, described: Mapping[str, Any], code: str, attempt: Attempt, *, redirect_uri: str
    ) -> dict[str, Any]:
        body = prepare_token_request(
            "authorization_code", code=code, redirect_uri=redirect_uri, code_verifier=attempt.code_verifier
        )
        method = _authentication(described, self._client.client_secret)
        uri, headers, body = self._client.client_auth(method).prepare(
            "POST", described["token_endpoint"], {"Content-Type": "application/x-www-form-urlencoded"}, body
        )
        return _answer("POST", uri, headers=headers, content=body.encode())

    def _checked(self, described: Mapping[str, Any], tokens: Mapping[str, Any], *, nonce: str) -> dict[str, Any]:
        """The claims of the ID token: signed by the provider, for this server, now, and for this attempt."""
        keys = _answer("GET", described["jwks_uri"])
        try:
            token = jwt.decode(str(tokens.get("id_token")), _signing_keys(keys), algorithms=list(ALGORITHMS))
            claims = CodeIDToken(
                token.claims,
                token.header,
                options={
                    "iss": {"essential": True, "value": described["issuer"]},
                    "aud": {"essential": True, "value": self._client.client_id},
                    "sub": {"essential": True},
                },
                params={
                    "nonce": nonce,
                    "client_id": self._client.client_id,
                    "access_token": tokens.get("access_token"),
                },
            )
            claims.validate(leeway=_LEEWAY_SECONDS)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise refused(f"the ID token is not valid: {type(error).__name__} {error}") from error
        if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= 255:
            raise refused("the ID token names nobody")
        return dict(claims)

    def _user_info(
        self, described: Mapping[str, Any], tokens: Mapping[str, Any], claims: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What the ID token lacks of e-mail address and groups, if the provider has it elsewhere."""
        wanted = {*_EMAIL_CLAIMS, *(() if self._groups_claim is None else (self._groups_claim.partition(".")[0],))}
        address, token = described.get("userinfo_endpoint"), tokens.get("access_token")
        if wanted <= claims.keys() or not isinstance(address, str) or not isinstance(token, str):
            return {}
        told = _answer("GET", address, headers={"Authorization": f"Bearer {token}"})
        if told.get("sub") != claims["sub"]:
            raise refused("what is told about the person is about somebody else")
        lacking = {name: value for name, value in told.items() if name not in claims}
        if not claims.keys() >= set(_EMAIL_CLAIMS):
            # Together, or an address of the token would count as verified because another one is.
            lacking |= {name: told.get(name) for name in _EMAIL_CLAIMS}
        return lacking


def provider_of(settings: Settings) -> OpenIDProvider:
    """The provider that the settings name. There must be one."""
    decides = settings.oidc_admin_groups or settings.oidc_allowed_groups
    return _provider(
        str(settings.oidc_issuer),
        str(settings.oidc_client_id),
        settings.oidc_client_secret,
        settings.oidc_scopes,
        settings.oidc_groups_claim if decides else None,
    )


@lru_cache(maxsize=8)
def _provider(
    issuer: str, client_id: str, client_secret: str | None, scopes: str, groups_claim: str | None
) -> OpenIDProvider:
    return OpenIDProvider(
        issuer=issuer, client_id=client_id, client_secret=client_secret, scopes=scopes, groups_claim=groups_claim
    )


def refused(reason: str) -> SignInRefusedError:
    """The error for an answer that is not trusted; the reason is told to the log alone."""
    log.warning("A login by the OpenID provider is refused: %s", reason)
    return SignInRefusedError()


def _unavailable(reason: str) -> ProviderUnavailableError:
    log.warning("The OpenID provider can't be used: %s", reason)
    return ProviderUnavailableError()


def _answer(method: str, url: str, **request: Any) -> dict[str, Any]:
    """The JSON object that the provider answers; redirects are not followed.

    Raises:
        SignInRefusedError: the provider says that the request is wrong.
        ProviderUnavailableError: any other failure.
    """
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # its lines hold addresses
    where = url.partition("?")[0]
    try:
        with httpx2.Client(timeout=_SECONDS, trust_env=False) as client, client.stream(method, url, **request) as reply:
            content = bytearray()
            for part in reply.iter_bytes():
                content += part
                if len(content) > _MOST_BYTES:
                    raise _unavailable(f"{where} answers more than {_MOST_BYTES:,} bytes")
            status = reply.status_code
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _unavailable(f"{where}: {type(error).__name__}") from error
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and method == "POST":
        raise refused(f"{where} answers {status}")
    if status != HTTPStatus.OK:
        raise _unavailable(f"{where} answers {status}")
    try:
        answer = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise _unavailable(f"{where} answers no JSON") from error
    if not isinstance(answer, dict):
        raise _unavailable(f"{where} answers no JSON object")
    return answer


def _check_description(found: Mapping[str, Any], issuer: str) -> None:
    """Raises ProviderUnavailableError for the description of another provider, and for unsafe addresses."""
    if str(found.get("issuer")).rstrip("/") != issuer.rstrip("/"):
        raise _unavailable("it calls itself by another address than ANAPHORA_OIDC_ISSUER")
    metadata = OpenIDProviderMetadata(found)
    optional = [name for name in ("userinfo_endpoint", "end_session_endpoint") if found.get(name) is not None]
    try:
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", *optional):
            address = str(metadata.get(name))
            if not address.startswith("https://" if issuer.startswith("https://") else ("http://", "https://")):
                raise ValueError(f"{name} is no safe address")
        metadata.validate_response_types_supported()
    except ValueError as error:
        raise _unavailable(str(error)) from error


def _may_leave_out_issuer(described: Mapping[str, Any]) -> bool:
    """Whether the provider does not promise to name itself in its answers (RFC 9207, 2.4)."""
    return described.get("authorization_response_iss_parameter_supported") is not True


def _authentication(described: Mapping[str, Any], client_secret: str | None) -> str:
    """How this server proves to the provider who it is."""
    if not client_secret:
        return "none"
    # When the description doesn't say, client_secret_basic is the default (Discovery 1.0, 3).
    methods = described.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return "client_secret_post" if "client_secret_basic" not in methods else "client_secret_basic"


def _signing_keys(keys: Mapping[str, Any]) -> KeySet:
    """The keys that sign; those of other kinds and uses are left out. Raises ValueError without any."""
    rows = keys.get("keys")
    usable = [
        row
        for row in (rows if isinstance(rows, list) else [])[:_KEYS_AT_MOST]
        if isinstance(row, dict) and row.get("kty") in ("RSA", "EC", "OKP") and row.get("use", "sig") == "sig"
    ]
    if not usable:
        raise ValueError("the provider shows no key")
    return KeySet.import_key_set({"keys": usable})
