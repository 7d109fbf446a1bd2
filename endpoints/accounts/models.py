"""Request and response models of accounts, sessions and tokens."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue

from database.accounts.invitations import DAYS, MOST_DAYS, MOST_USES
from database.accounts.passwords import LONGEST_PASSWORD
from database.accounts.users import MEMBER, Role
from endpoints.http.languages import Language
from endpoints.http.models import (
    Body,
    Email,
    Model,
    Name,
    OpenQuery,
    Password,
    Query,
    Shape,
    Text,
    _clean_json,
    _not_blank,
)

MOST_ACCOUNTS = 500
"""The most accounts of one page of their list."""


class Credentials(Model):
    """Credentials to log in with."""

    model_config = ConfigDict(extra="ignore")
    email: Annotated[Text, Field(max_length=256)]
    password: Annotated[Text, Field(max_length=LONGEST_PASSWORD)]
    next: Annotated[Text, Field(max_length=2_000)] = ""


class SignInStart(OpenQuery):
    """How a login by an OpenID provider begins."""

    next: Annotated[
        Text, Field(max_length=2_000, description="Where to go once logged in: an address of this server.")
    ] = ""
    invitation: Annotated[
        Text, Field(max_length=200, description="The token of an invitation that is accepted by this login.")
    ] = ""


class ProviderAnswer(OpenQuery):
    """What an OpenID provider sends along with a person who comes back."""

    state: Annotated[Text, Field(max_length=200, description="What `GET /oidc/start` sent along.")] = ""
    code: Annotated[Text, Field(max_length=2_000, description="What the provider exchanges for who the person is.")] = (
        ""
    )
    error: Annotated[Text, Field(max_length=2_000, description="Why the provider refuses the person.")] = ""
    iss: Annotated[Annotated[Text, Field(max_length=2_000)] | None, Field(description="The provider that answers.")] = (
        None
    )


class LinkConfirmation(Model):
    """The password of the account that is to be connected."""

    model_config = ConfigDict(extra="ignore")
    password: Annotated[Text, Field(max_length=LONGEST_PASSWORD)]


class NewInvitation(Body):
    """Whom to invite: the owner of an address, or `uses` people who have the link. days: how long it is valid."""

    email: Email | None = None
    role: Role = MEMBER
    uses: Annotated[int, Field(ge=1, le=MOST_USES)] = 1
    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = DAYS


class NewInvitationItem(Shape):
    """A new invitation. path: its address on this server, shown only here. expires_at: ISO 8601 in UTC."""

    invitation_id: str
    path: str
    expires_at: str


class AcceptedInvitation(Model):
    """The account that a person who was invited makes."""

    model_config = ConfigDict(extra="ignore")
    email: Email
    password: Password
    name: Name = ""


class AccountRole(Body):
    """The role of an account."""

    role: Role


class FirstAccount(AcceptedInvitation):
    """The first account of the server."""

    next: Annotated[Text, Field(max_length=2_000)] = ""


class AccountPage(Query):
    """A page of the list of accounts; without a limit, the longest one."""

    limit: Annotated[int, Field(ge=1, le=MOST_ACCOUNTS, description="How many accounts at most.")] = MOST_ACCOUNTS
    cursor: Annotated[
        Annotated[Text, Field(max_length=1_000)] | None,
        Field(description="Where the page begins, as the `Link` of the page before says."),
    ] = None
    q: Annotated[
        Text, Field(max_length=500, description="Only accounts with each of these words in the address or the name.")
    ] = ""


class NewAccount(Body):
    """A further account to create."""

    email: Email
    password: Password
    name: Name = ""
    is_admin: bool = False


class PasswordChange(Body):
    """The current and the new password."""

    current_password: Annotated[Text, Field(max_length=LONGEST_PASSWORD)]
    new_password: Password


class UserDetail(Body):
    """What a person tells about themself, for the model to know; any field beside `text` is kept as it is."""

    model_config = ConfigDict(extra="allow", strict=True)
    __pydantic_extra__: dict[str, Annotated[JsonValue, BeforeValidator(_clean_json)]]
    text: Annotated[Text, Field(max_length=20_000)] | None = None


class UserPreference(UserDetail):
    """How a person wants to be answered; any field beside `text` is kept as it is."""


class NewToken(Body):
    """A token for a program. A read-only token permits no changes."""

    name: Annotated[Text, Field(min_length=1, max_length=100), AfterValidator(_not_blank)]
    read_only: bool = False


class UserInfo(Shape):
    """The caller's account."""

    user_email: str
    name: str
    is_admin: bool
    language: Language | None


class NewTokenItem(Shape):
    """A new token with its secret, which is shown only here."""

    token_id: str
    name: str
    read_only: bool
    created_at: str
    last_used_at: str | None
    token: str


class OwnName(Body):
    """The name of a user."""

    name: Name


class OwnLanguage(Body):
    """The language of the account's pages; null for what the browser asks for."""

    language: Language | None


class AccountState(Body):
    """Whether an account is disabled."""

    disabled: bool


class AccountDeletion(Body):
    """The account's password, to confirm its deletion."""

    password: Annotated[Text, Field(max_length=LONGEST_PASSWORD)]


class ClosedAccount(Shape):
    """The account is closed, and is being erased.

    compacts_itself: false where the stores are so large that the administrator has to run `flask data compact`
    afterwards, until when deleted text may stay in free space of the files.
    """

    status: Literal["ok"]
    compacts_itself: bool


class PasswordLinkItem(Shape):
    """A new password link. path: its address on this server, shown only here. expires_at: ISO 8601 in UTC."""

    path: str
    expires_at: str


class PasswordReset(Model):
    """The new password. keep_tokens: do not revoke the account's API tokens."""

    model_config = ConfigDict(extra="ignore")
    password: Password
    keep_tokens: bool = False
