"""The names under which scripts know the store: they take the folder, `users_dir`, and everything by keyword."""

from __future__ import annotations

from database import conversations, workspaces
from database.connection import create_connection, create_tables

ANN = "ann@example.org"


def test_conversations_by_their_older_names(users_dir: str) -> None:
    own = {"users_dir": users_dir, "user_email": ANN}
    conversation_id = f"{ANN}_{'a' * 36}"
    create_tables(users_dir=users_dir)
    conversations.addConversation(**own, conversation_id=conversation_id, domain="assistant")
    named = {**own, "conversation_friendly_id": "react_optimization_b4f2"}
    assert not conversations.conversationFriendlyIdExists(**named)
    conversations.setConversationFriendlyId(**named, conversation_id=conversation_id)
    assert conversations.conversationFriendlyIdExists(**named)
    assert conversations.getConversationIdByFriendlyId(**named) == conversation_id
    assert [row.conversation_id for row in conversations.getCoversationsForUser(**own)] == [conversation_id]
    conversations.deleteConversationForUser(**own, conversation_id=conversation_id)
    assert conversations.getCoversationsForUser(**own) == []
    assert conversations.getConversationIdByFriendlyId(**named) is None


def test_workspaces_by_their_older_names(users_dir: str) -> None:
    own = {"users_dir": users_dir, "user_email": ANN}
    outer, inner = (
        workspaces.createWorkspace(**own, domain="assistant", workspace_name=name)["workspace_id"]
        for name in ("Garden", "Tomatoes")
    )
    workspaces.moveWorkspaceToParent(**own, workspace_id=inner, parent_workspace_id=outer)
    workspaces.renameWorkspace(**own, workspace_id=inner, workspace_name="Cucumbers")
    workspaces.updateWorkspace(**own, workspace_id=inner, workspace_color="success")
    assert workspaces.setWorkspacesExpanded(**own, workspace_ids=[outer], expanded=True) == 1
    path = workspaces.getWorkspacePath(**own, workspace_id=inner)
    assert [step["workspace_name"] for step in path] == ["Garden", "Cucumbers"]
    assert {each["workspace_id"] for each in workspaces.load_workspaces_for_user(**own, domain="assistant")} >= {
        outer,
        inner,
    }
    workspaces.deleteWorkspace(**own, workspace_id=outer)
    left = {each["workspace_id"] for each in workspaces.load_workspaces_for_user(**own, domain="assistant")}
    assert outer not in left


def test_a_plain_connection_to_the_file(users_dir: str) -> None:
    connection = create_connection(f"{users_dir}/users.db")
    assert connection.execute('SELECT COUNT(*) FROM "UserToConversationId"').fetchone() == (0,)
    connection.close()
