"""Errors of a request, and the table that maps every error of the product to an HTTP status and a code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from pydantic import ValidationError

from activity.recipes import errors as activity
from attachments import errors as files
from chat.exchange import errors
from chat.runtime.startup import ServerRunningError
from chat.tools.foreign.addresses import AddressRefusedError
from chat.tools.foreign.personal import TooManyCallsError
from chat.tools.references import (
    AmbiguousNameError,
    MalformedReferenceError,
    ReferenceUnavailableError,
    UnresolvedReferenceError,
)
from chat.tools.registry import NotSignedInError, ToolError, ToolNotFoundError, ToolTimeoutError
from database.engine import errors as store
from language_models import errors as models
from portability.errors import BrokenImportError, UnknownImportError
from sentences import say
from truth_management_system.interface.structured_api import (
    InvalidKnowledgeError,
    KnowledgeBusyError,
    KnowledgeError,
    KnowledgeNotFoundError,
    KnowledgeUnavailableError,
)
from vault import errors as vault


class RequestError(Exception):
    """The request itself can't be served. `message` is one sentence for a person; by default that of the class."""

    sentence = ""

    def __init__(self, message: str = "", *, details: Sequence[Mapping[str, Any]] | None = None) -> None:
        self.message = message or self.sentence
        super().__init__(self.message)
        self.details = details


class InvalidRequestError(RequestError):
    """Malformed, incomplete or contradictory; `details` name the fields."""


class UnauthorizedError(RequestError):
    """No valid credentials were sent."""

    sentence = "Please log in."


class BadTokenError(UnauthorizedError):
    """The `Authorization` of a request holds no token that is valid."""

    sentence = (
        "This API token is not valid: it may be mistyped, revoked, or its account disabled. "
        "Send one as `Authorization: Bearer …`."
    )


class OtherAccountError(RequestError):
    """The page that sent the request belongs to another account than the credentials."""

    sentence = "Another account is logged in in this browser now. Nothing was done."


class ForbiddenError(RequestError):
    """The caller is known and may not do this."""


class PasswordSignInOffError(RequestError):
    """People log in by an OpenID provider alone."""

    sentence = "This server does not let people log in with passwords."


class SignInExpiredError(RequestError):
    """What an OpenID provider answers belongs to no login that this browser began within the last ten minutes."""

    sentence = "This login was not begun in this browser, was used already, or took too long. Log in again."


class SignInRefusedError(RequestError):
    """The OpenID provider did not let the person in, or what it answers can't be trusted. The log says why."""

    sentence = "The login service did not confirm who you are. Log in again, or ask the administrator of this server."


class ProviderUnavailableError(RequestError):
    """The OpenID provider can't be reached, or is not as its settings say. The log says why."""

    sentence = "The login service can't be reached just now. Try again in a few minutes."


class EmailNotVerifiedError(RequestError):
    """The OpenID provider does not say that the e-mail address is the person's."""

    sentence = "The login service does not confirm your e-mail address. Confirm it there, then log in again."


class GroupNotAllowedError(RequestError):
    """The person is in no group that may use this server."""

    sentence = "You are in none of the groups that may use this server. Ask its administrator."


class NotInvitedError(RequestError):
    """The person has no account, and gets none by logging in."""

    sentence = "You have no account here yet. Ask the administrator of this server for an invitation."


class AccountDisabledError(RequestError):
    """The account of the person, who has proved who they are, is disabled."""

    sentence = "Your account is disabled. Ask the administrator of this server."


class AccountConnectedError(RequestError):
    """The account with the person's e-mail address has no password to confirm that it is theirs."""

    sentence = "The account with your e-mail address has another login already. Ask the administrator of this server."


class UnsupportedMediaError(RequestError):
    """The body is not JSON."""


class TooLargeError(RequestError):
    """The request is larger than allowed."""


def file_too_large(most: int) -> TooLargeError:
    """The error for an upload of more than `most` bytes."""
    return TooLargeError(say("file_too_large", megabytes=most // (1024 * 1024)))


class DiskFullError(RequestError):
    """The disk has no room for the file that the request uploads."""

    sentence = "The disk of the server is full."


class RequestTooSlowError(RequestError):
    """The body did not arrive in time."""


class ServerBusyError(RequestError):
    """The queue for this kind of work, or the memory for requests, is full."""

    def __init__(self, *, retry_after: float) -> None:
        super().__init__("The server has too much to do just now. Try again in a moment.")
        self.retry_after = retry_after


class RateLimitedError(RequestError):
    """Too many attempts."""

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: an error, its HTTP status, its code. `{noun}` and `{code}` are the error's own."""

    error: type[Exception]
    status: HTTPStatus
    code: str


# The first matching row decides, so specific errors come before general ones.
ERROR_TABLE: tuple[Row, ...] = (
    Row(ValidationError, HTTPStatus.BAD_REQUEST, "bad_request"),
    Row(InvalidRequestError, HTTPStatus.BAD_REQUEST, "bad_request"),
    Row(errors.EmptyMessageError, HTTPStatus.BAD_REQUEST, "bad_request"),
    Row(vault.PathRefusedError, HTTPStatus.BAD_REQUEST, "path_refused"),
    Row(store.MessageNotMovableError, HTTPStatus.UNPROCESSABLE_ENTITY, "message_not_movable"),
    Row(store.InvalidChangeError, HTTPStatus.BAD_REQUEST, "bad_request"),
    Row(UnauthorizedError, HTTPStatus.UNAUTHORIZED, "unauthorized"),
    Row(NotSignedInError, HTTPStatus.UNAUTHORIZED, "unauthorized"),
    Row(AddressRefusedError, HTTPStatus.BAD_REQUEST, "address_refused"),
    Row(ToolNotFoundError, HTTPStatus.NOT_FOUND, "{code}"),
    Row(TooManyCallsError, HTTPStatus.TOO_MANY_REQUESTS, "too_many_calls"),
    Row(MalformedReferenceError, HTTPStatus.BAD_REQUEST, "malformed"),
    Row(AmbiguousNameError, HTTPStatus.CONFLICT, AMBIGUOUS),
    Row(ReferenceUnavailableError, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable"),
    Row(UnresolvedReferenceError, HTTPStatus.NOT_FOUND, "{code}"),
    Row(ToolTimeoutError, HTTPStatus.GATEWAY_TIMEOUT, "tool_timeout"),
    Row(ToolError, HTTPStatus.BAD_REQUEST, "{code}"),
    Row(ForbiddenError, HTTPStatus.FORBIDDEN, "forbidden"),
    Row(PasswordSignInOffError, HTTPStatus.FORBIDDEN, "password_sign_in_off"),
    Row(SignInExpiredError, HTTPStatus.BAD_REQUEST, "sign_in_expired"),
    Row(SignInRefusedError, HTTPStatus.FORBIDDEN, "sign_in_refused"),
    Row(EmailNotVerifiedError, HTTPStatus.FORBIDDEN, "email_not_verified"),
    Row(GroupNotAllowedError, HTTPStatus.FORBIDDEN, "group_not_allowed"),
    Row(NotInvitedError, HTTPStatus.FORBIDDEN, "not_invited"),
    Row(AccountDisabledError, HTTPStatus.FORBIDDEN, "account_disabled"),
    Row(AccountConnectedError, HTTPStatus.FORBIDDEN, "account_connected"),
    Row(ProviderUnavailableError, HTTPStatus.SERVICE_UNAVAILABLE, "provider_unavailable"),
    Row(vault.VaultReadOnlyError, HTTPStatus.FORBIDDEN, "vault_read_only"),
    Row(store.ShareOutdatedError, HTTPStatus.GONE, "share_outdated"),
    Row(store.NotFoundError, HTTPStatus.NOT_FOUND, "{noun}_not_found"),
    Row(RequestTooSlowError, HTTPStatus.REQUEST_TIMEOUT, "request_timeout"),
    Row(OtherAccountError, HTTPStatus.CONFLICT, "other_account"),
    Row(store.StoreIncompleteError, HTTPStatus.CONFLICT, "store_incomplete"),
    Row(store.TurnInProgressError, HTTPStatus.CONFLICT, "turn_in_progress"),
    Row(store.AmbiguousReferenceError, HTTPStatus.CONFLICT, AMBIGUOUS),
    Row(store.ThreadMismatchError, HTTPStatus.CONFLICT, "thread_mismatch"),
    Row(store.ConflictError, HTTPStatus.CONFLICT, "conflict"),
    Row(store.StreamExpiredError, HTTPStatus.GONE, "stream_expired"),
    Row(vault.VersionConflictError, HTTPStatus.PRECONDITION_FAILED, "version_conflict"),
    Row(vault.VersionMissingError, HTTPStatus.PRECONDITION_REQUIRED, "version_missing"),
    Row(vault.DocumentTooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large"),
    Row(files.FileTooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large"),
    Row(TooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large"),
    Row(errors.MessageTooLongError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large"),
    Row(files.FileTypeError, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type"),
    Row(UnsupportedMediaError, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type"),
    Row(activity.RecipeNotFoundError, HTTPStatus.NOT_FOUND, "{code}"),
    Row(activity.AmbiguousTypeError, HTTPStatus.UNPROCESSABLE_ENTITY, "ambiguous_type"),
    Row(activity.CrossDomainReplyError, HTTPStatus.UNPROCESSABLE_ENTITY, "cross_domain_reply"),
    Row(activity.InvalidPayloadError, HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_payload"),
    Row(activity.UnknownTypeError, HTTPStatus.UNPROCESSABLE_ENTITY, "unknown_type"),
    Row(UnknownImportError, HTTPStatus.UNPROCESSABLE_ENTITY, "import_form_unknown"),
    Row(BrokenImportError, HTTPStatus.UNPROCESSABLE_ENTITY, "import_refused"),
    Row(DiskFullError, HTTPStatus.INSUFFICIENT_STORAGE, "disk_full"),
    Row(RateLimitedError, HTTPStatus.TOO_MANY_REQUESTS, "rate_limited"),
    Row(errors.TooManyTurnsError, HTTPStatus.TOO_MANY_REQUESTS, "too_many_turns"),
    Row(errors.QuotaReachedError, HTTPStatus.TOO_MANY_REQUESTS, "quota_reached"),
    Row(KnowledgeNotFoundError, HTTPStatus.NOT_FOUND, "{code}"),
    Row(InvalidKnowledgeError, HTTPStatus.BAD_REQUEST, "{code}"),
    Row(KnowledgeBusyError, HTTPStatus.SERVICE_UNAVAILABLE, "storage_busy"),
    Row(KnowledgeUnavailableError, HTTPStatus.SERVICE_UNAVAILABLE, "knowledge_unavailable"),
    Row(KnowledgeError, HTTPStatus.CONFLICT, "{code}"),
    Row(files.FilesUnavailableError, HTTPStatus.SERVICE_UNAVAILABLE, "files_unavailable"),
    Row(files.QuotaExceededError, HTTPStatus.INSUFFICIENT_STORAGE, "quota_exceeded"),
    Row(vault.NoRoomError, HTTPStatus.INSUFFICIENT_STORAGE, "quota_exceeded"),
    Row(vault.VaultBusyError, HTTPStatus.SERVICE_UNAVAILABLE, "storage_busy"),
    Row(vault.VaultUnavailableError, HTTPStatus.SERVICE_UNAVAILABLE, "vault_unavailable"),
    Row(store.StoreBeingCheckedError, HTTPStatus.SERVICE_UNAVAILABLE, "storage_checking"),
    Row(store.StorageBusyError, HTTPStatus.SERVICE_UNAVAILABLE, "storage_busy"),
    Row(store.DatabaseDamagedError, HTTPStatus.SERVICE_UNAVAILABLE, "storage_damaged"),
    Row(store.SearchIndexDamagedError, HTTPStatus.SERVICE_UNAVAILABLE, "search_index_damaged"),
    Row(store.StorageFailedError, HTTPStatus.SERVICE_UNAVAILABLE, "storage_failed"),
    Row(ServerRunningError, HTTPStatus.SERVICE_UNAVAILABLE, "server_running"),
    Row(ServerBusyError, HTTPStatus.SERVICE_UNAVAILABLE, "server_busy"),
    Row(errors.StreamElsewhereError, HTTPStatus.SERVICE_UNAVAILABLE, "stream_elsewhere"),
    Row(errors.ShuttingDownError, HTTPStatus.SERVICE_UNAVAILABLE, "shutting_down"),
    Row(models.ModelNotAllowedError, HTTPStatus.FORBIDDEN, "model_not_allowed"),
    Row(models.ModelRateLimitedError, HTTPStatus.SERVICE_UNAVAILABLE, "model_rate_limited"),
    Row(models.ModelError, HTTPStatus.SERVICE_UNAVAILABLE, "model_unavailable"),
)


def row_of(error: Exception) -> Row:
    """The row of the table for `error`. Raises StopIteration for an error that is not in it."""
    return next(row for row in ERROR_TABLE if isinstance(error, row.error))


def code_of(error: Exception) -> str | None:
    """The code of `error`; None for an error that is not in the table."""
    row = next((row for row in ERROR_TABLE if isinstance(error, row.error)), None)
    return row.code.format(noun=getattr(error, "noun", ""), code=getattr(error, "code", "")) if row else None


def status_of_code(code: str) -> HTTPStatus:
    """The status of answers whose error has this code. Raises KeyError for a code that no error has."""
    if code.endswith("not_found"):
        return HTTPStatus.NOT_FOUND
    for row in ERROR_TABLE:
        if row.code == code:
            return row.status
    return _STATUS_WITHOUT_CLASS[code]


_STATUS_WITHOUT_CLASS = {
    AMBIGUOUS: HTTPStatus.CONFLICT,
    "method_not_allowed": HTTPStatus.METHOD_NOT_ALLOWED,
    "uri_too_long": HTTPStatus.REQUEST_URI_TOO_LONG,
}
