"""Calls of tools as activities: what a model looked up, read or asked, and in answer to which message.

A call is one activity: of a document that was read or searched, of an agent that was consulted, of any other tool. A
write of a document is stored where the document is written (`database.vault.writes`), and its call nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection

from database.activities.calls import place_below_question
from database.activities.storing import NewActivity, Place, insert_activities
from database.agents.inbox import deliver
from database.conversations.conversation import ConversationHead
from database.engine.clock import now_iso
from database.messages.parts import Parts

_KIND = "tool_call"
_COMPLETE = "complete"
_LONGEST_WORDS = 500


class _Kind(NamedTuple):
    """The recipe and type of a call, and what its payload says: by field, the arguments that hold it."""

    recipe: str
    type: str
    fields: Mapping[str, tuple[str, ...]]


_ANY = _Kind("tools", "tool_invocation", {})
_READ = _Kind("vault", "document_read", {"path": ("relative_path", "path")})
_SEARCHED = _Kind("vault", "document_search", {"query": ("query",)})
_ASKED = _Kind("agents", "agent_consultation", {"agent": ("agentId", "agent_id"), "question": ("question",)})
_KINDS: Mapping[str, _Kind] = {
    **dict.fromkeys(("read_document", "read_zk_document", "read_page"), _READ),
    **dict.fromkeys(
        ("find_excerpts", "find_documents", "find_zk_documents", "find_zk_documents_related_to"), _SEARCHED
    ),
    "ask_agent": _ASKED,
}
"""Of the tools, with their aliases, whose calls are something else than a `tool_invocation`."""
_WRITING = frozenset(("write_document", "append_to_document", "replace_lines", "rename_document", "delete_document"))


def record_tool_calls(
    connection: Connection, head: ConversationHead, answer_id: str, *, model_name: str, parts: Parts
) -> None:
    """Store an activity for each tool call among the `parts` of an answer; answers without any cost nothing.

    It replies to the message that was answered, in its thread. Arguments and result are in the part, which is erased
    with the message; of what was read, searched or asked, the payload names which. A call that failed has done nothing
    of the kind: it is a `tool_invocation`.
    """
    calls = [part for part in parts if part["kind"] == _KIND and not _has_written(part)]
    if not calls:
        return
    place = place_below_question(connection, answer_id)
    born = [_activity(call, answer_id, model_name=model_name, place=place) for call in calls]
    stored = insert_activities(connection, born, user_email=head.user_email, conversation_id=head.conversation_id)
    deliver(connection, [each.activity_id for each in stored], user_email=head.user_email)


def _activity(call: Mapping[str, Any], answer_id: str, *, model_name: str, place: Place) -> NewActivity:
    kind = _KINDS.get(str(call.get("name", "")), _ANY)
    told = _told(kind, call.get("arguments")) if call.get("status") == _COMPLETE else {}
    if len(told) < len(kind.fields):
        kind, told = _ANY, {}
    return NewActivity(
        recipe=kind.recipe,
        type=kind.type,
        actor_type="assistant",
        actor_id=model_name,
        actor_name=model_name,
        created_at=now_iso(),
        place=place,
        payload={
            "message_id": answer_id,
            "part_id": call["id"],
            "name": str(call.get("name", "")),
            "status": str(call.get("status", "")),
            **told,
        },
    )


def _told(kind: _Kind, arguments: Any) -> dict[str, str]:
    """The fields of the payload that the arguments hold."""
    given = arguments if isinstance(arguments, Mapping) else {}
    found = {
        field: next((given[name] for name in names if isinstance(given.get(name), str)), None)
        for field, names in kind.fields.items()
    }
    return {field: text[:_LONGEST_WORDS] for field, text in found.items() if text is not None}


def _has_written(call: Mapping[str, Any]) -> bool:
    """Whether the call wrote a document, and did not only propose that."""
    result = call.get("result")
    if call.get("name") not in _WRITING or call.get("status") != _COMPLETE or not isinstance(result, Mapping):
        return False
    return result.get("success") is True and "proposal" not in result


def ended_calls(parts: Parts, *, status: str) -> Parts:
    """`parts` with each call that was still running marked by `status`."""
    return [
        {**part, "status": status} if part["kind"] == _KIND and part.get("status") == "running" else part
        for part in parts
    ]
