"""Workspaces: the folders of the sidebar."""

from __future__ import annotations

from http import HTTPStatus
from typing import cast

from flask import Blueprint

from database.conversations import repository as conversations
from database.conversations.bulk import restore_workspace as restore_deleted
from database.workspaces import repository as workspaces
from endpoints.conversations.views import check_domain
from endpoints.http.errors import InvalidRequestError
from endpoints.http.models import Done
from endpoints.http.scope import current_user_scope
from endpoints.http.validation import answers, fails, takes
from endpoints.serving.work_queues import Work, works
from sentences import say

from . import models as workspace_models

blueprint = Blueprint("workspaces", __name__)
_LONGEST_NAME = 200


@blueprint.get("/list_workspaces/<domain>")
@answers(list[workspaces.Workspace])
def list_workspaces(domain: str) -> object:
    """The workspaces of a domain, the default one among them, with the number of their conversations."""
    return workspaces.load_workspaces(**current_user_scope(), domain=check_domain(domain))


@blueprint.post("/create_workspace/<domain>/<path:name>")
@takes(workspace_models.WorkspaceDraft, optional=True)
@answers(workspaces.Workspace, status=HTTPStatus.CREATED)
@fails("workspace_not_found")
def create_workspace(domain: str, name: str, body: workspace_models.WorkspaceDraft) -> object:
    """A new, empty workspace."""
    if len(name) > _LONGEST_NAME or not name.strip():
        raise InvalidRequestError(say("workspace_name_length", most=_LONGEST_NAME))
    return workspaces.create_workspace(
        **current_user_scope(),
        domain=check_domain(domain),
        workspace_name=name,
        workspace_color=body.workspace_color,
        parent_workspace_id=body.parent_workspace_id,
    )


@blueprint.put("/update_workspace/<workspace_id>")
@takes(workspace_models.WorkspaceChange)
@answers(Done)
def update_workspace(workspace_id: str, body: workspace_models.WorkspaceChange) -> None:
    """Change a workspace's name, colour, or whether it is open in the sidebar."""
    workspaces.update_workspace(**current_user_scope(), workspace_id=workspace_id, **body.model_dump())


@blueprint.post("/collapse_workspaces")
@takes(workspace_models.WorkspacesCollapse)
@answers(Done)
def collapse_workspaces(body: workspace_models.WorkspacesCollapse) -> None:
    """Close workspaces in the sidebar; unknown ids are ignored."""
    workspaces.set_workspaces_expanded(**current_user_scope(), workspace_ids=body.workspace_ids, expanded=False)


@blueprint.delete("/delete_workspace/<domain>/<workspace_id>")
@answers(workspace_models.WorkspaceRemoved)
@works(Work.LONG)
def delete_workspace(domain: str, workspace_id: str) -> object:
    """Remove a workspace; its contents go to its parent, else to the default workspace."""
    removed = workspaces.delete_workspace(
        **current_user_scope(), workspace_id=workspace_id, domain=check_domain(domain)
    )
    return {"status": "ok", "removed": removed}


@blueprint.post("/restore_workspace/<domain>")
@takes(workspace_models.LostWorkspace)
@answers(Done)
@fails("conflict", "workspace_not_found")
@works(Work.LONG)
def restore_workspace(domain: str, body: workspace_models.LostWorkspace) -> None:
    """Restore a deleted workspace, with the contents that were not moved elsewhere since."""
    removed = cast("workspaces.RemovedWorkspace", body.model_dump())
    restore_deleted(**current_user_scope(), domain=check_domain(domain), removed=removed)


@blueprint.put("/move_workspace/<workspace_id>")
@takes(workspace_models.WorkspaceMove)
@answers(Done)
@fails("workspace_not_found")
def move_workspace(workspace_id: str, body: workspace_models.WorkspaceMove) -> None:
    """Move a workspace below another one, or to the top; below itself is a 400."""
    workspaces.move_workspace(
        **current_user_scope(), workspace_id=workspace_id, parent_workspace_id=body.parent_workspace_id
    )


@blueprint.put("/move_conversation_to_workspace/<conversation_id>")
@takes(workspace_models.ConversationMove)
@answers(Done)
@fails("workspace_not_found")
def move_conversation(conversation_id: str, body: workspace_models.ConversationMove) -> None:
    """Move a conversation to another workspace."""
    conversations.move_conversation(
        **current_user_scope(), conversation_id=conversation_id, workspace_id=body.workspace_id
    )


@blueprint.get("/get_workspace_path/<workspace_id>")
@answers(list[workspace_models.PathStep])
def get_workspace_path(workspace_id: str) -> object:
    """The workspaces from the top down to this one."""
    return workspaces.get_workspace_path(**current_user_scope(), workspace_id=workspace_id)
