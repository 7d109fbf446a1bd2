"""A conversation: its identity, its history, and how it replies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from chat.agents.answering import with_answerers
from chat.context.conversations import ConversationReferences, FriendlyIdLookup, RunningTurn
from chat.context.gather import (
    FoundBeside,
    GatheredContext,
    Gathering,
    gather,
    gathered,
    nothing_to_gather,
    running,
    scope_of,
    stored_lookup,
)
from chat.context.memories import KnowledgeRequest, knowledge_request
from chat.context.related import completed, found_beside, max_context_chars
from chat.exchange import events
from chat.exchange.ports import ConversationLoader, ReferenceCaps, TurnServices
from chat.exchange.turn import Turn, TurnStream, wait_for_abandoned_turns
from chat.processes.threads import undisturbed
from chat.prompting.items import extract_referenced
from chat.turns import steps
from chat.turns.accept import OWNER, accept
from chat.turns.history import History
from chat.turns.summaries import refresh_summary
from database.connection import database_of, open_store
from database.conversations.titles import heuristic_title
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError
from database.messages.message import Message
from database.turns.identity import FinishedTurn
from language_models.errors import ModelError
from portability.bundle_history import BundleHistory, register, save_history
from portability.bundles import bundle_of, load_bundle, load_sibling, siblings_by_friendly_id


class Conversation:
    """One conversation of one person.

    storage: the `Database` of a running server, what was read of it already, or the folder that holds (or will hold)
    the conversation's bundle `<folder>/<conversation_id>`; an existing bundle is opened. A bundle needs no server and
    no data folder. Raises ConversationNotFoundError where `user_id` has no such conversation, BundleError for a broken
    bundle.
    """

    def __init__(
        self, user_id: str, storage: Database | History | str | Path, conversation_id: str, domain: str = "assistant"
    ) -> None:
        self.user_id = user_id
        self.conversation_id = conversation_id
        self._history: History
        if isinstance(storage, Database):
            storage = History(database=storage, user_email=user_id, conversation_id=conversation_id)
        if isinstance(storage, History):
            self._history = storage
            self._storage: Path | str = storage.bundle_folder
        else:
            self._storage = Path(storage) / conversation_id
            bundle = bundle_of(Path(self._storage), user_id=user_id, conversation_id=conversation_id, domain=domain)
            self._history = BundleHistory(bundle)
        self.domain = self._history.domain

    # ------------------------------------------------------------------ the journey of a message

    def reply(self, query: Mapping[str, Any]) -> TurnStream:
        """Answer `query["messageText"]`; the stream that is returned yields the events of the answer, `done` last.

        `query["_answer_again"]` (a message_id) regenerates that answer as a further variant instead.
        The message is stored before this returns: from then on the turn survives crashes, and errors are events. If the
        caller leaves the stream early, the turn is finished as interrupted.
        Raises EmptyMessageError, MessageTooLongError, TurnInProgressError, ConversationNotFoundError,
        MessageNotFoundError (reply_to), InvalidChangeError (an answer that can't be made again).
        """
        wait_for_abandoned_turns()
        turn = self._accept(query)
        is_plain = self._is_plain(turn)

        async def journey() -> AsyncGenerator[events.Event, None]:
            try:
                keep, gather = partial(steps.keep_report, turn, self._history), partial(self._gather, turn)
                gathering = Gathering() if is_plain else await gathered(turn, gather, keep)
                yield events.references(gathering.context.report_dicts())
                yield events.message_ids(turn.accepted.message_ids())
                context = await completed(turn, gathering.go_on(), keep)
                if context.report != gathering.context.report:
                    yield events.references(context.report_dicts())
                rest_on = steps.AnswerContext(context=context, keep=keep, gather=gather)
                async for event in steps.answers(turn, rest_on, go_on=self._finish_and_go_on):
                    yield event
            except ModelError as error:
                yield turn.of_answer(steps.failed(turn, error.code, error.message))
            except asyncio.CancelledError as stop:
                yield turn.of_answer(steps.stopped(turn, stop))
            except Exception as error:  # noqa: BLE001 - an accepted turn is finished whatever happens to it
                yield turn.of_answer(steps.broken(turn, error))
            named = await steps.chosen_title(turn)
            await steps.flushed(turn)
            finished = await undisturbed(steps.stored(self._finish, turn, named))
            turn.finished = True
            if steps.renamed(turn, finished):
                yield events.conversation(
                    title=finished.title, conversation_friendly_id=finished.conversation_friendly_id or ""
                )
            yield events.message_ids(finished.message_ids())
            yield events.done(turn.status)
            await refresh_summary(turn, self._history)

        return TurnStream(turn, journey(), finish=self._finish)

    def persist_current_turn(
        self,
        query: str,
        response: str,
        config: Mapping[str, Any] | None = None,
        *,
        title: str | None = None,
        users_dir: str | None = None,
    ) -> dict[str, Any]:
        """Store a question and an answer that exist already (an import, a script); returns their `message_ids`.

        `users_dir` names the store in which a bundle's conversation is registered as well: its friendly id is unique
        there, and its turns are stored there too.
        """
        self._name_in(users_dir)
        accepted = self._history.accept(text=query, config={}, reply_to=None, thread_id=None, model_name="")
        finished = self._history.finish(
            accepted.response_message_id,
            text=response,
            status="complete",
            config=dict(config or {}),
            title=title or heuristic_title(query),
        )
        return finished.message_ids()

    def _name_in(self, users_dir: str | None) -> None:
        if users_dir is not None and isinstance(self._history, BundleHistory):
            self._history.registered_in = open_store(users_dir)

    # ------------------------------------------------------------------ references

    def _get_pkb_context(
        self,
        user_email: str,
        query: str,
        conversation_summary: str = "",
        k: int = 10,
        attached_claim_ids: Sequence[str] | None = None,
        conversation_id: str | None = None,
        conversation_pinned_claim_ids: Sequence[str] | None = None,
        referenced_claim_ids: Sequence[str] | None = None,
        referenced_friendly_ids: Sequence[str] | None = None,
        users_dir: str | None = None,
        conversation_loader: ConversationLoader | None = None,
    ) -> str:
        """The rendered `<pkb_item>`s for a message; `_gathered_context` has the items themselves and the report.

        k: how many memories a search for `query` may add. conversation_id is that of this conversation.
        """
        del conversation_id
        request = KnowledgeRequest(
            claim_ids=referenced_claim_ids or (),
            attached=attached_claim_ids or (),
            conversation_pinned=conversation_pinned_claim_ids or (),
            query=query,
            conversation_summary=conversation_summary,
            automatic=True,
            found_at_most=k,
        )
        return self._gathered_context(
            referenced_friendly_ids or (),
            request,
            user_email=user_email,
            users_dir=users_dir,
            conversation_loader=conversation_loader,
        ).rendered()

    def _gathered_context(
        self,
        references: Sequence[str],
        request: KnowledgeRequest,
        *,
        user_email: str,
        users_dir: str | None = None,
        conversation_loader: ConversationLoader | None = None,
        services: TurnServices | None = None,
        current: RunningTurn | None = None,
        found_beside: FoundBeside | None = None,
        max_chars: int | None = None,
    ) -> GatheredContext:
        """Items and report for `references` (friendly ids without "@", wikilinks) and for what else `request` wants.

        Other users' conversations and memories are never read. current: the running turn, no part of the context.
        """
        database = self._history.database or database_of(users_dir)
        conversations = self._reference_resolver(user_email, database, conversation_loader, services)
        conversations.running = current or RunningTurn()
        scope = scope_of(user_email, database=database, conversations=conversations, services=services)
        return gather(references, scope=scope, request=request, found_beside=found_beside, max_chars=max_chars)

    def _resolve_conversation_message_refs(
        self,
        conv_refs: Sequence[tuple[str, str, str]],
        user_email: str,
        users_dir: str | None = None,
        conversation_loader: ConversationLoader | None = None,
    ) -> list[tuple[str, str]]:
        """(source_label, text) for each item that `conv_refs` (triples of `partition`) resolve to."""
        database = self._history.database or database_of(users_dir)
        resolver = self._reference_resolver(user_email, database, conversation_loader, None)
        resolutions = resolver.resolve([full_ref for full_ref, _, _ in conv_refs])
        return [(found.entry.ref.removeprefix("@"), item.text) for found in resolutions for item in found.items]

    def _reference_resolver(
        self,
        user_email: str,
        database: Database | None,
        conversation_loader: ConversationLoader | None,
        services: TurnServices | None,
    ) -> ConversationReferences:
        beside = Path(self._storage).parent
        siblings = partial(siblings_by_friendly_id, beside, user_email=user_email)
        lookup: FriendlyIdLookup = siblings if database is None else stored_lookup(database, user_email)
        load = conversation_loader or partial(_load_beside, beside, user_email=user_email, database=database)
        caps = services.caps if services is not None else ReferenceCaps()
        return ConversationReferences(lookup=lookup, load=load, caps=caps, here=self.conversation_id)

    @staticmethod
    def _extract_referenced_claims(pkb_context: str | None) -> str:
        """The `source="referenced"` elements of rendered context; of older contexts, the `[REFERENCED …]` bullets."""
        return extract_referenced(pkb_context or "")

    def _ensure_conversation_friendly_id(self, memory: dict[str, Any], users_dir: str) -> None:
        """Give the conversation its friendly id in `memory` and in the store of `users_dir`; an existing one stays.

        A conversation that the store doesn't have yet is added to it.
        """
        who = {"user_id": self.user_id, "conversation_id": self.conversation_id, "domain": self.domain}
        register(memory, database=open_store(users_dir), **who)
        self._history.adopt_friendly_id(memory.get("conversation_friendly_id", ""))

    # ------------------------------------------------------------------ what is known of it

    @property
    def running_summary(self) -> str:
        """The running summary of the conversation; "" if there is none yet."""
        return str(self._history.memory()["running_summary"])

    def is_at(self, version: int) -> bool:
        """Whether this object is as new as a version of the store, or newer."""
        return self._history.snapshot_version >= version

    def keep_up(self) -> bool:
        """Bring this object up to date with the store; whether the conversation is still there."""
        return self._history.keep_up()

    def asked_to_keep_up(self, connection: Any) -> Callable[[], bool]:
        """Asks in a transaction of the store; what is returned reads the answer, and is `keep_up`."""
        return self._history.asked_to_keep_up(connection)

    def get_metadata(self) -> dict[str, Any]:
        """The conversation as lists show it: ids, title, dates, counts, settings."""
        return self._history.metadata()

    def get_message_list(self) -> list[dict[str, Any]]:
        """All live messages in order, each with its `message_index` and `message_short_hash`."""
        return self._history.messages()

    def get_message_ids(self, query: str | None = None, response: str | None = None) -> dict[str, Any]:
        """The identifiers of the newest turn, or of the newest one with this question and this answer; {} for none."""
        return steps.message_ids_of(self._history.messages(), query=query, response=response)

    def get_field(self, name: str) -> Any:
        """`"memory"`, `"messages"`, or one field of the memory (None where there is no such field)."""
        if name == "messages":
            return self.get_message_list()
        memory = self._history.memory()
        return memory if name == "memory" else memory.get(name)

    def set_field(self, name: str, value: Any) -> None:
        """Set one field of the memory, or with `"memory"` all that differ. A title set so is never generated again.

        Raises ValueError for derived and constant fields: messages, friendly id, dates.
        """
        before = self._history.memory()
        given = value if name == "memory" else {name: value}
        changes = {field: new for field, new in given.items() if field not in before or before[field] != new}
        self._history.update(changes | {"title_force_set": True} if "title" in changes else changes)

    def message_at(self, index: int) -> Message | None:
        """The live message with this 1-based index, or None."""
        return self._history.message_at(index)

    def message_by_hash(self, short_hash: str) -> Message | None:
        """The message with this short hash, also a deleted one, or None."""
        return self._history.message_by_hash(short_hash)

    def messages_between(self, start: int, end: int) -> Sequence[Message]:
        """Live messages `start` to `end`, 1-based and inclusive, as far as they exist."""
        return self._history.messages_between(start, end)

    def last_messages(self, *, max_chars: int) -> Sequence[Message]:
        """The newest live messages that are not hidden, in order, together about `max_chars` long; at least one."""
        return self._history.last_messages(max_chars=max_chars)

    # ------------------------------------------------------------------ bundles

    def save_local(self, folder: str | Path | None = None) -> Path:
        """Write the conversation as a portable bundle into `folder` (its own by default); returns the folder."""
        return save_history(self._history, Path(folder if folder is not None else self._storage))

    @classmethod
    def load_local(cls, folder: str | Path) -> Conversation:
        """Open the bundle in `folder`.

        Raises UnsafeBundleError, BundleNotFoundError, BrokenBundleError; the folder is left untouched.
        """
        bundle = load_bundle(Path(folder))
        conversation = cls.__new__(cls)
        conversation.user_id, conversation.conversation_id = bundle.user_id, bundle.conversation_id
        conversation.domain = bundle.domain
        conversation._storage = Path(folder)
        conversation._history = BundleHistory(bundle)
        return conversation

    # ------------------------------------------------------------------ steps of the journey that need the history

    def _accept(self, query: Mapping[str, Any]) -> Turn:
        self._name_in(query.get("_users_dir"))
        query = with_answerers(query, self._history, user_email=self.user_id)
        return accept(query, self._history, user_email=self.user_id)

    def _gather(self, turn: Turn) -> GatheredContext:
        self._read_history(turn)
        shown = {message["message_id"] for message in turn.history}
        return self._gathered_context(
            turn.references,
            knowledge_request(turn, summary=turn.summary),
            user_email=self.user_id,
            users_dir=turn.query.get("_users_dir"),
            conversation_loader=turn.loader,
            services=turn.services,
            current=running(turn),
            found_beside=partial(found_beside, turn=turn, user_email=self.user_id, shown=shown),
            max_chars=max_context_chars(turn),
        )

    def _is_plain(self, turn: Turn) -> bool:
        """Whether nothing is to be gathered for `turn`; its history is read then, since a hand-over costs more."""
        try:
            if not nothing_to_gather(turn, user_email=self.user_id):
                return False
            self._read_history(turn)
        except Exception:  # noqa: BLE001 - the turn is accepted: gathering fails again, and then the turn ends with it
            return False
        return True

    def _read_history(self, turn: Turn) -> None:
        turn.summary = steps.summary_before(turn, self._history)
        turn.history = steps.with_files_read(turn, steps.messages_before(turn, self._history))
        turn.earlier_documents = self._history.latest_documents(before=turn.accepted.user_message_id)

    def _finish(self, turn: Turn, title: str | None) -> FinishedTurn:
        return self._history.finish(turn.answer_id, **turn.ended(), title=title, owner=turn.query.get(OWNER))

    def _finish_and_go_on(self, turn: Turn, title: str | None) -> FinishedTurn:
        following = turn.answerers[turn.answering + 1]
        return self._history.finish_and_add_answer(
            turn.answer_id,
            question_id=turn.accepted.user_message_id,
            next_model_name=following.model.name,
            next_agent=following.agent,
            owner=turn.query.get(OWNER),
            **turn.ended(),
            title=title,
        )


def _load_beside(folder: Path, conversation_id: str, *, user_email: str, database: Database | None) -> Conversation:
    """The neighbouring bundle, else the conversation in the database; both only of this user."""
    try:
        return load_sibling(folder, conversation_id, user_email=user_email, open_bundle=Conversation.load_local)
    except ConversationNotFoundError:
        if database is None:
            raise
    return Conversation(user_email, database, conversation_id)
