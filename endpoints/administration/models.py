"""Request and response models of administration and of what a person may use."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from database.accounts.audit import Act
from endpoints.http.models import Body, Query, Shape, Text
from endpoints.operations.health import Readiness

Count = Annotated[int, Field(ge=0, le=1_000_000_000_000)]
Megabytes = Annotated[int, Field(ge=0, le=100_000_000)]


class NewQuota(Body):
    """What holds for one account alone; null: as the settings say for everybody."""

    messages_a_day: Count | None = None
    tokens_a_day: Count | None = None
    tokens_a_month: Count | None = None
    file_megabytes: Megabytes | None = None


class QuotaItem(Shape):
    """What an account may use; null: any number, or in `own` what the settings say."""

    messages_a_day: int | None
    tokens_a_day: int | None
    tokens_a_month: int | None
    file_megabytes: int | None


class UsageItem(Shape):
    """What was used today and in this month (UTC). day_ends_at, month_ends_at: when the counts begin anew."""

    messages_today: int
    tokens_today: int
    messages_this_month: int
    tokens_this_month: int
    day_ends_at: str
    month_ends_at: str


class OwnUsage(Shape):
    """What the caller has used, and may use. file_bytes: each content counted once."""

    usage: UsageItem
    file_bytes: int
    quota: QuotaItem


class PersonItem(Shape):
    """An account with what it has used. quota: what holds for it; own: what was set for it alone."""

    user_email: str
    name: str
    is_admin: bool
    created_at: str
    disabled_at: str | None
    last_seen_at: str | None
    usage: UsageItem
    file_bytes: int
    quota: QuotaItem
    own: QuotaItem


class AuditQuery(Query):
    """Which acts of the audit log."""

    before: Annotated[
        Annotated[int, Field(ge=1, le=2**62)] | None,
        Field(description="Only acts with a smaller `audit_id`; the `next` of the page before."),
    ] = None
    limit: Annotated[int, Field(ge=1, le=500, description="How many acts at most.")] = 50
    act: Annotated[
        Annotated[Act | None, BeforeValidator(lambda act: act or None)],
        Field(description="Only this kind of act, such as `account_disabled`."),
    ] = None
    subject: Annotated[
        Annotated[Text, Field(max_length=400)] | None,
        Field(description="Only what was done to this account, by its e-mail address, or to the thing of this name."),
    ] = None


class ActItem(Shape):
    """What somebody did. actor_email: "" on the command line of the server. door: how they came in."""

    audit_id: int
    at: str
    actor_email: str
    door: Literal["page", "token", "command line"]
    address: str
    act: str
    subject: str
    details: dict[str, Any]


class AuditPage(Shape):
    """Acts, the latest first. next: the `before` of the next page, null for none."""

    acts: list[ActItem]
    next: int | None


class JobItem(Shape):
    """A job. status: as it ended last; running: a process works on it now.

    waits_for: "turn": it is due, and begins as soon as a process has time; "retry": it failed, and is tried again at
    due_at; "time": it begins at due_at; null where it runs, or nothing is left to do.
    error: the last failure of the server's own work; "" for none, and for work on what is somebody's.
    """

    job_id: str
    kind: str
    user_email: str | None
    status: Literal["waiting", "done", "failed"]
    running: bool
    waits_for: Literal["turn", "retry", "time"] | None
    done: int
    total: int | None
    attempts: int
    error: str
    due_at: str | None
    updated_at: str


class Jobs(Shape):
    """All jobs, the failed ones first; imports: how many there are in each state."""

    jobs: list[JobItem]
    imports: dict[str, int]


class DutyItem(Shape):
    """A process of this server, and how much it does for all."""

    process: str
    duties: int


class DiskItem(Shape):
    """The disk of the data folder, in bytes."""

    free: int
    total: int


class ServerHealth(Shape):
    """How the server is. ready: as `/readyz` says. processes: those that do upkeep, where several share the store.

    version: of the program. page: of the page's files, as `X-Anaphora-Version` says.
    """

    ready: Readiness
    version: str
    page: str
    python: str
    engine: str
    process: str
    processes: list[DutyItem]
    turns_running: int
    disk: DiskItem
