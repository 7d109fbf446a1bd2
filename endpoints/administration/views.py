"""What administrators see and change, and what everybody may know of their own use."""

from __future__ import annotations

import os
import platform
import shutil
import socket
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal

from flask import Blueprint, Response
from pydantic import BeforeValidator, Field

from chat.exchange.services import default_quota
from database import duties
from database import jobs as job_rows
from database.accounts import audit, listing, quotas, users
from database.accounts.audit import Act
from database.imports.repository import count_by_state
from database.maintenance.statistics import engine_version
from endpoints.accounts import models as account_models
from endpoints.accounts.views import require_administrator
from endpoints.http.assets import static_version
from endpoints.http.models import Body, Done, Query, Shape, Text
from endpoints.http.responses import json_page
from endpoints.http.scope import current_actor, current_settings, current_state, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.operations.health import Readiness, readiness

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
    """Which acts. before: only those with a smaller `audit_id`; act, subject: only these."""

    before: Annotated[int, Field(ge=1, le=2**62)] | None = None
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    act: Annotated[Act | None, BeforeValidator(lambda act: act or None)] = None
    subject: Annotated[Text, Field(max_length=400)] | None = None


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
    """How the server is. ready: as `/readyz` says. processes: those that do upkeep, where several share the store."""

    ready: Readiness
    version: str
    python: str
    engine: str
    process: str
    processes: list[DutyItem]
    turns_running: int
    disk: DiskItem


blueprint = Blueprint("administration", __name__)
_REFUSAL = "Only an administrator sees this."


@blueprint.get("/usage")
@answers(OwnUsage)
def own_usage() -> object:
    """What you have used today and in this month, and what you may use."""
    me, defaults = current_user_scope(), default_quota(current_settings())
    return {
        "usage": asdict(quotas.usage_of(**me)),
        "file_bytes": current_state().attachments.bytes_of(me["user_email"]),
        "quota": asdict(quotas.quota_of(**me, defaults=defaults)),
    }


@blueprint.get("/admin/people")
@asks(account_models.AccountPage)
@answers(list[PersonItem])
@fails("forbidden")
def list_people(query: account_models.AccountPage) -> Response:
    """The accounts with what they have used, by address; administrators only.

    A page of at most 500; a `Link` header with rel="next" leads to the next page.
    """
    require_administrator(_REFUSAL)
    database, defaults = current_state().database, default_quota(current_settings())
    accounts, cursor = listing.list_accounts(database=database, **query.model_dump())
    these: dict[str, Any] = {"database": database, "user_emails": [each["user_email"] for each in accounts]}
    used, own = quotas.usage_of_each(**these), quotas.quotas_of_each(**these)
    files = quotas.bytes_of_each(**these, unmetered=current_state().attachments.unmetered)

    def item(account: listing.Account) -> dict[str, Any]:
        email = account["user_email"]
        return {
            **account,
            "usage": asdict(used[email]),
            "file_bytes": files[email],
            "quota": asdict(own[email].with_defaults(defaults)),
            "own": asdict(own[email]),
        }

    return json_page([item(account) for account in accounts], cursor=cursor)


@blueprint.put("/admin/people/<user_email>/quota")
@takes(NewQuota)
@answers(Done)
@fails("forbidden")
def change_quota(user_email: str, body: NewQuota) -> None:
    """Set what one account may use; what is null is as the settings say. Administrators only."""
    require_administrator("Only an administrator sets quotas.")
    quota = quotas.Quota(**body.model_dump())
    quotas.set_quota(database=current_state().database, user_email=user_email, quota=quota, by=current_actor())


@blueprint.get("/admin/audit")
@asks(AuditQuery)
@answers(AuditPage)
@fails("forbidden")
def show_audit_log(query: AuditQuery) -> object:
    """What administrators did, the latest first; administrators only."""
    require_administrator(_REFUSAL)
    acts = audit.list_acts(
        database=current_state().database,
        before=query.before,
        limit=query.limit + 1,
        act=query.act,
        subject=users.account_key(query.subject) if query.subject else None,
    )
    shown = acts[: query.limit]
    return {"acts": shown, "next": shown[-1]["audit_id"] if len(acts) > len(shown) else None}


@blueprint.get("/admin/jobs")
@answers(Jobs)
@fails("forbidden")
def list_jobs() -> object:
    """All jobs of the server, the failed ones first, and how many imports there are in each state; administrators only.

    Of other people's jobs nothing is told but their kind and progress.
    """
    require_administrator(_REFUSAL)
    database = current_state().database
    names = JobItem.model_fields.keys() - {"running", "error", "waits_for"}

    def item(job: job_rows.Job, running: bool, waits_for: job_rows.WaitsFor | None) -> dict[str, Any]:
        told = {"running": running, "waits_for": waits_for, "error": job.error if job.user_email is None else ""}
        return {**{name: getattr(job, name) for name in names}, **told}

    found = [item(*each) for each in job_rows.all_jobs(database=database)]
    return {"jobs": found, "imports": count_by_state(database=database)}


@blueprint.post("/admin/jobs/<job_id>/retry")
@answers(Done)
@fails("forbidden", "job_not_found")
def retry_job(job_id: str) -> None:
    """Let a failed job begin again where it was; administrators only."""
    require_administrator("Only an administrator tries jobs again.")
    note = partial(audit.record_retry, by=current_actor())
    job_rows.retry_job(database=current_state().database, job_id=job_id, note=note)


@blueprint.get("/admin/health")
@answers(ServerHealth)
@fails("forbidden")
def show_health() -> object:
    """How the server is: its parts, versions, processes and disk; administrators only."""
    require_administrator(_REFUSAL)
    state = current_state()
    disk = shutil.disk_usage(state.settings.data_dir)
    return {
        "ready": readiness(),
        "version": static_version(),
        "python": platform.python_version(),
        "engine": engine_version(database=state.database),
        "process": f"{socket.gethostname()}:{os.getpid()}",
        "processes": [
            {"process": owner, "duties": count} for owner, count in duties.owners(database=state.database).items()
        ],
        "turns_running": state.turns.running(),
        "disk": {"free": disk.free, "total": disk.total},
    }
