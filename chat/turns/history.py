"""The history of one conversation, read from and written to the rows of a store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from conversation_reference_utils import parse_references
from database.conversations import repository as conversations
from database.conversations.conversation import (
    ConversationRow,
    asked_for_conversation_since,
    conversation_metadata,
    conversation_since,
)
from database.engine.database import Database, Job
from database.engine.errors import ConversationNotFoundError
from database.history import attachments, reading
from database.history import documents as stored_documents
from database.history import references as stored_references
from database.history import summary as running_summary
from database.history.summary import Unsummarised
from database.messages.message import Message, MessageRow, MessageText, message_shape, text_shape
from database.messages.parts import is_file
from database.turns import answers, turns, variants
from database.turns.identity import AcceptedTurn, Admission, AgentIdentity, FinishedTurn, RepeatedTurn, admit_all

_REMEMBERED = 256
_UNREAD = object()
_SHOWING = threading.Lock()
_FIXED = frozenset({"conversation_friendly_id", "created_at", "last_updated", "message_count", "messages", "memory"})


def attached_to(config: Mapping[str, Any]) -> list[str]:
    """The memories that were attached to the question of an answer with this configuration."""
    return [memory["claim_id"] for memory in config.get("memories") or () if memory["source"] == "attached"]


def _place_among_branches(row: MessageRow) -> dict[str, Any]:
    place = {"branch_id": row.branch_id, "branch_of": row.branch_of, "chosen_branch": row.chosen_branch}
    told = {name: value for name, value in place.items() if value is not None}
    return (
        told
        if row.deleted_at is None
        else told | {"text": "", "references": [], "parts": [], "document_references": []}
    )


def refuse_fixed(changes: Mapping[str, Any]) -> None:
    """Raise ValueError for fields that no caller may set: they follow from what is said, or never change."""
    fixed = _FIXED & changes.keys()
    if fixed:
        raise ValueError(f"{', '.join(sorted(fixed))} can't be set")


class History:
    """A conversation in a store: a snapshot of its row, and its messages as they are read.

    Indexes are 1-based over live messages.

    The messages that references named are remembered; `version` tells whether the snapshot still holds.
    row: as the caller has just read it; None: it is read here.
    """

    def __init__(
        self, *, database: Database, user_email: str, conversation_id: str, row: ConversationRow | None = None
    ) -> None:
        self._database: Database = database
        self._who: dict[str, Any] = {"database": database, "user_email": user_email, "conversation_id": conversation_id}
        self._row: ConversationRow = row or conversations.get_conversation(**self._who)
        self._named: dict[int | str, Message | None] = {}

    @property
    def database(self) -> Database | None:
        """The database in which references are looked up."""
        return self._database

    @property
    def own_database(self) -> Database:
        """The database that has the messages: for a bundle, one of its own."""
        return self._database

    @property
    def bundle_folder(self) -> str:
        """Where the conversation's bundle would be."""
        return f"{self._database.folder}/bundles/{self._row.conversation_id}"  # a path would take twelve calls

    @property
    def domain(self) -> str:
        """The domain that the conversation belongs to."""
        return self._row.domain

    @property
    def snapshot_version(self) -> int:
        """The version of the conversation that this history shows."""
        return self._row.version

    def keep_up(self) -> bool:
        """Read the conversation again if its version has changed; whether it is still there."""
        return self._kept_up(partial(conversation_since, self._row.version, **self._who))

    def asked_to_keep_up(self, connection: Any) -> Callable[[], bool]:
        """Asks in a transaction of the store; what is returned reads the answer, and is `keep_up`."""
        row = self._row
        ask = asked_for_conversation_since(
            connection, row.version, user_email=row.user_email, conversation_id=row.conversation_id
        )
        return partial(self._kept_up, ask)

    def _kept_up(self, read: Callable[[], ConversationRow | None]) -> bool:
        try:
            row = read()
        except ConversationNotFoundError:
            return False
        if row is not None:
            self._show(row)
        return True

    @property
    def agent_id(self) -> str | None:
        """The agent that answers here instead of a model alone, unless a message names others."""
        return self._row.agent_id

    def memory(self) -> dict[str, Any]:
        """Title, friendly id, dates, running summary, and the fields that callers have set."""
        row = self._row
        return {
            **row.memory,
            "title": row.title,
            "title_force_set": row.title_force_set,
            "created_at": row.created_at,
            "last_updated": row.updated_at,
            "conversation_friendly_id": row.conversation_friendly_id or "",
            "running_summary": row.running_summary,
            "summarised_ordinal": row.summarised_ordinal,
        }

    def unsummarised(self, *, limit: int, max_chars: int) -> Unsummarised:
        """The running summary as it is stored now, and the first messages that it does not cover yet.

        Raises ConversationNotFoundError when the conversation is gone.
        """
        return running_summary.unsummarised(**self._who, limit=limit, max_chars=max_chars)

    def store_summary(self, summary: str, *, since: Unsummarised, read: int) -> bool:
        """Store a summary that covers the first `read` of these messages too, unless they have changed since.

        Raises ConversationNotFoundError when the conversation is gone.
        """
        is_stored = running_summary.store_summary(**self._who, summary=summary, since=since, read=read)
        self._refresh()
        return is_stored

    def count_summarised(self) -> int:
        """How many messages there are up to the last one that the running summary covers.

        Raises ConversationNotFoundError when the conversation is gone.
        """
        return running_summary.count_summarised(**self._who)

    def metadata(self) -> dict[str, Any]:
        """The conversation as lists show it."""
        return conversation_metadata(self._row)

    def update(self, changes: Mapping[str, Any]) -> None:
        """Set fields of `memory`, or settings. Raises ConversationNotFoundError when the conversation is gone."""
        refuse_fixed(changes)
        columns = dict(changes)
        others = {name: columns.pop(name) for name in list(columns) if name not in conversations.CHANGEABLE}
        if others:
            columns["memory"] = {**self._row.memory, **others}
        conversations.update_conversation(**self._who, changes=columns)
        self._refresh()

    def adopt_friendly_id(self, friendly_id: str) -> None:
        """Read the friendly id again, which the store has just given."""
        if friendly_id != self._row.conversation_friendly_id:
            self._refresh()

    def messages(self) -> list[dict[str, Any]]:
        """All live messages, in the shape of the message list."""
        return [message_shape(row) for row in reading.list_messages(**self._who)]

    def messages_of_all_branches(self) -> tuple[list[dict[str, Any]], int]:
        """The messages of all branches as a bundle holds them, and how many of them the running summary covers.

        The shape is that of the message list with `branch_id`, `branch_of` and `chosen_branch`, where they say
        something. A deleted question is among them where branches begin, without its text.
        """
        rows = reading.list_messages_of_all_branches(**self._who)
        covered = sum(row.ordinal <= self._row.summarised_ordinal for row in rows)
        return [message_shape(row) | _place_among_branches(row) for row in rows], covered

    def message_at(self, index: int) -> Message | None:
        """One live message."""
        return self._remembered(index, lambda: reading.message_at(**self._who, index=index))

    def message_by_hash(self, short_hash: str) -> Message | None:
        """One message, deleted or not."""
        return self._remembered(short_hash, lambda: reading.message_by_hash(**self._who, short_hash=short_hash))

    def messages_between(self, start: int, end: int) -> Sequence[Message]:
        """Some live messages, inclusive."""
        return [message_shape(row) for row in reading.messages_between(**self._who, start=start, end=end)]

    def last_messages(
        self, *, max_chars: int, before: int | None = None, read: Sequence[MessageText] | None = None
    ) -> Sequence[Message]:
        """The newest live messages that are not hidden, in order; before: of those with a smaller index.

        read: their rows, where they were read with something else.
        """
        rows = read
        if rows is None:
            rows = reading.last_messages(**self._who, max_chars=max_chars, before=before, hidden=False)
        asked_with_more = [row.message_id for row in rows if row.has_parts and row.sender == "user"]
        files = attachments.files_of_each(message_ids=asked_with_more, **self._who) if asked_with_more else {}
        return [text_shape(row) | {"files": files.get(row.message_id, ())} for row in rows]

    def accept(
        self,
        *,
        text: str,
        config: Mapping[str, Any],
        reply_to: str | None,
        thread_id: str | None,
        model_name: str,
        client_message_id: str | None = None,
        owner: str | None = None,
        instead_of: str | None = None,
        chars_before: int | None = None,
        **who_answers: Any,
    ) -> AcceptedTurn:
        """Store a user message and an empty answer. instead_of: the question in whose place it is asked, in a branch.

        chars_before: how long the messages may be that are asked for with it, of a short conversation. who_answers:
        `asked_by`, `agent`, `opens_thread`, `notify`, `files` and `admit` of `database.turns.turns.accept_turn`.
        Raises TurnInProgressError, ConversationNotFoundError, MessageNotFoundError, InvalidChangeError.
        """
        is_short = self._row.message_count <= reading.ASKED_WITH_OTHERS
        accepted = turns.accept_turn(
            **self._who,
            text=text,
            config=config,
            reply_to=reply_to,
            thread_id=thread_id,
            model_name=model_name,
            client_message_id=client_message_id,
            owner=owner,
            instead_of=instead_of,
            friendly_id=self._row.conversation_friendly_id,
            chars_before=chars_before if is_short else None,
            **who_answers,
        )
        if instead_of is not None:
            # The summary may have told of the branch that was left.
            self._refresh()
        return accepted

    def config_of(self, message_id: str) -> dict[str, Any]:
        """What a message was sent with, the ids of its files as `files`; {} for one that is not there."""
        row = reading.message_by_id(**self._who, message_id=message_id)
        if row is None:
            return {}
        named = [part["attachment_id"] for part in row.parts if is_file(part) and part.get("attachment_id")]
        own = {name: self._who[name] for name in ("database", "user_email")}
        return row.config | {"files": attachments.those_stored(**own, attachment_ids=named)} if named else row.config

    def asked_beside(self, message_id: str) -> dict[str, list[str]]:
        """The listed references and attached memories of a question, as queries name them; {} where it is not there."""
        row = reading.message_by_id(**self._who, message_id=message_id)
        if row is None:
            return {}
        named = parse_references(" ".join(stored_references.named_beside(row)))
        given = reading.configs_of_answers(**self._who, question=row)
        return {
            "referenced_friendly_ids": list(named.friendly_ids),
            "referenced_claim_ids": list(named.claim_ids),
            "attached_claim_ids": list(dict.fromkeys(claim_id for config in given for claim_id in attached_to(config))),
        }

    def accept_again(
        self,
        message_id: str,
        *,
        model_name: str,
        client_message_id: str | None = None,
        owner: str | None = None,
        needs_text: bool = False,
        agent: AgentIdentity | None = None,
        admit: Admission = admit_all,
    ) -> RepeatedTurn:
        """Begin a further variant of an answer. Raises as `database.turns.variants.accept_again`."""
        return variants.accept_again(
            **self._who,
            message_id=message_id,
            model_name=model_name,
            client_message_id=client_message_id,
            owner=owner,
            needs_text=needs_text,
            agent=agent,
            admit=admit,
        )

    def store_report(
        self, message_id: str, report: Sequence[Mapping[str, Any]], documents: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        """Store what became of a message's references, and the documents among them."""
        who = {name: self._who[name] for name in ("database", "user_email")}
        entries = [dict(entry) for entry in report]
        stored_references.store_report(**who, message_id=message_id, report=entries, documents=documents)

    def report_write(
        self, message_id: str, report: Sequence[Mapping[str, Any]], documents: Sequence[Mapping[str, Any]] = ()
    ) -> Job[object]:
        """What stores the same within a transaction; nothing where the message is gone."""
        return partial(
            stored_references.store_own_report,
            user_email=self._who["user_email"],
            message_id=message_id,
            report=[dict(entry) for entry in report],
            documents=documents,
        )

    def latest_documents(self, *, before: str) -> list[dict[str, Any]]:
        """The documents that the conversation named last, of messages other than `before`; asks for nothing if none."""
        if not self._row.has_documents:
            return []
        return stored_documents.latest_documents(**self._who, without=before)

    def finish(
        self,
        response_message_id: str,
        *,
        text: str,
        status: str,
        config: Mapping[str, Any],
        title: str | None,
        parts: Sequence[Mapping[str, Any]] = (),
        documents: Sequence[Mapping[str, Any]] = (),
        references: Sequence[Mapping[str, Any]] = (),
        owner: str | None = None,
    ) -> FinishedTurn:
        """Store the answer with all that belongs to it, and on the first turn title, friendly id and hashes."""
        return turns.finish_turn(
            **self._who,
            response_message_id=response_message_id,
            text=text,
            status=status,
            config=config,
            title=title,
            parts=parts,
            documents=documents,
            references=references,
            owner=owner,
        )

    def finish_and_add_answer(
        self, response_message_id: str, *, question_id: str, next_model_name: str, **further: Any
    ) -> FinishedTurn:
        """End an answer and begin a further one. See `database.turns.answers.finish_and_add_answer`."""
        return answers.finish_and_add_answer(
            **self._who,
            response_message_id=response_message_id,
            question_id=question_id,
            next_model_name=next_model_name,
            **further,
        )

    def _refresh(self) -> None:
        self._show(conversations.get_conversation(**self._who))

    def _show(self, row: ConversationRow) -> None:
        with _SHOWING:
            # Another thread may have asked later, and shown a newer one.
            if row.version >= self._row.version:
                # In this order: what was read before never stands beside the new row.
                self._named = {}
                self._row = row

    def _remembered(self, name: int | str, read: Callable[[], MessageRow | None]) -> Message | None:
        # Other threads read and refresh meanwhile. A refresh replaces the dictionary, so a message that was read before
        # it is never remembered after it.
        named = self._named
        found = named.get(name, _UNREAD)
        if found is _UNREAD:
            row = read()
            found = message_shape(row) if row is not None else None
            if len(named) < _REMEMBERED:
                named[name] = found
        return cast("Message | None", found)
