"""What administrators see and change, and what everybody may know of their own use."""

from __future__ import annotations

import os
import platform
import shutil
import socket
from dataclasses import asdict
from functools import partial
from typing import Any

from flask import Blueprint, Response

from chat.exchange.services import default_quota
from database import duties
from database import jobs as job_rows
from database.accounts import audit, listing, quotas, users
from database.imports.repository import count_by_state
from database.maintenance.statistics import engine_version
from endpoints.accounts import models as account_models
from endpoints.accounts.views import require_administrator
from endpoints.http.assets import static_version
from endpoints.http.models import Done
from endpoints.http.responses import json_page
from endpoints.http.scope import current_actor, current_settings, current_state, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.operations.health import readiness
from version import product_version

from . import models as administration_models

blueprint = Blueprint("administration", __name__)
_REFUSAL = "Only an administrator sees this."


@blueprint.get("/usage")
@answers(administration_models.OwnUsage)
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
@answers(list[administration_models.PersonItem])
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
@takes(administration_models.NewQuota)
@answers(Done)
@fails("forbidden")
def change_quota(user_email: str, body: administration_models.NewQuota) -> None:
    """Set what one account may use; what is null is as the settings say. Administrators only."""
    require_administrator("Only an administrator sets quotas.")
    quota = quotas.Quota(**body.model_dump())
    quotas.set_quota(database=current_state().database, user_email=user_email, quota=quota, by=current_actor())


@blueprint.get("/admin/audit")
@asks(administration_models.AuditQuery)
@answers(administration_models.AuditPage)
@fails("forbidden")
def show_audit_log(query: administration_models.AuditQuery) -> object:
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
@answers(administration_models.Jobs)
@fails("forbidden")
def list_jobs() -> object:
    """All jobs of the server, the failed ones first, and how many imports there are in each state; administrators only.

    Of other people's jobs nothing is told but their kind and progress.
    """
    require_administrator(_REFUSAL)
    database = current_state().database
    names = administration_models.JobItem.model_fields.keys() - {"running", "error", "waits_for"}

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
@answers(administration_models.ServerHealth)
@fails("forbidden")
def show_health() -> object:
    """How the server is: its parts, versions, processes and disk; administrators only."""
    require_administrator(_REFUSAL)
    state = current_state()
    disk = shutil.disk_usage(state.settings.data_dir)
    return {
        "ready": readiness(),
        "version": product_version(),
        "page": static_version(),
        "python": platform.python_version(),
        "engine": engine_version(database=state.database),
        "process": f"{socket.gethostname()}:{os.getpid()}",
        "processes": [
            {"process": owner, "duties": count} for owner, count in duties.owners(database=state.database).items()
        ],
        "turns_running": state.turns.running(),
        "disk": {"free": disk.free, "total": disk.total},
    }
