"""The knowledge base of a server: opened on first use, its changes recorded, its vectors computed behind."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from chat.exchange.errors import QuotaReachedError
from chat.processes.threads import in_thread
from database.accounts.quotas import Quota, count_tokens, tokens_used_up
from database.activities.knowledge import store_changes
from database.connection import database_url_of
from database.engine.backend import Outage
from database.engine.database import Database
from database.engine.errors import MessageNotFoundError
from database.history import reading
from database.messages.message import MessageRow
from language_models.errors import ModelUnavailableError
from language_models.ports import ChatMessage, ChatModel, ChatOptions, Delta, EmbeddingModel, ForwardingModel, Usage
from search.embedding import usable
from sentences import say
from truth_management_system import ClaimCRUD, PKBConfig, PKBDatabase, StructuredAPI, get_database
from truth_management_system.interface.structured_api import (
    EmbeddingIndexer,
    KnowledgeModels,
    KnowledgeUnavailableError,
    last_change,
    mark_delivered,
    undelivered,
    unrelated_for,
)

log = logging.getLogger(__name__)
_FILE = "pkb.sqlite"
_TRY_AGAIN_AFTER = 2.0
_ASKED_AGAIN_AFTER = 1.0
"""Whoever asks whether the store can be read is told of an earlier failure no longer than this."""
_PATIENCE = 1.5
_DAMAGED, _BEING_CHECKED = say("memories_damaged"), say("memories_being_checked")

_opened: dict[str, KnowledgeAccess] = {}
_lock = threading.Lock()


class KnowledgeAccess:
    """The knowledge base of one data folder, for any of its users: a file in it, or the folder's PostgreSQL database.

    It opens in a background thread on first use, and again after the store failed or the file was replaced, so that a
    repaired one works without a restart. models: called for each user's view, since models come and go. counting: makes
    of a model one whose tokens count for a user. synchronous: as for the other store. llm_timeout, embedding_timeout:
    see `PKBConfig`.
    """

    def __init__(
        self,
        users_dir: str | Path,
        *,
        models: Callable[[], KnowledgeModels] = KnowledgeModels,
        counting: Counting = lambda model, _user_email: model,
        synchronous: str = "normal",
        llm_timeout: float = PKBConfig().llm_timeout,
        embedding_timeout: float = PKBConfig().embedding_timeout,
    ) -> None:
        self._config = PKBConfig(
            db_path=Path(users_dir) / _FILE,
            synchronous=synchronous,
            database_url=database_url_of(users_dir),
            llm_timeout=llm_timeout,
            embedding_timeout=embedding_timeout,
        )
        self._models = models
        self._counting = counting
        self._lock = threading.Lock()
        self._opening: _Opening | None = None
        self._closure = Outage(log, what="the knowledge base is open")
        self._outage = Outage(log, what="reading the knowledge base")
        self._damage: str | None = None
        self.is_being_checked = False

    def set_damage(self, damage: str | None) -> None:
        """Record the result of a file check; while the file is damaged, nothing is read from it."""
        if damage is not None and self._damage is None:
            log.error("%s; nothing is read from it until a backup is restored", damage)
        self._damage = damage

    def hold(self, seconds: float | None) -> None:
        """Read nothing from the file while it is checked first, for about so many seconds; None: that has ended."""
        self.is_being_checked = seconds is not None

    def for_user(self, user_email: str) -> StructuredAPI:
        """What `user_email` sees of it. Raises KnowledgeUnavailableError where the store can't be opened."""
        models = self._models()
        if models.chat is not None:
            models = replace(models, chat=self._counting(models.chat, user_email))
        return StructuredAPI(self.database(), {}, self._config, user_email, models=models)

    def database(self, *, again_after: float | None = None) -> PKBDatabase:
        """The store, opened on first use. Raises KnowledgeUnavailableError; a later call tries again.

        again_after: so many seconds after an attempt to open it that has failed; None: `_TRY_AGAIN_AFTER`.
        """
        again_after = _TRY_AGAIN_AFTER if again_after is None else again_after
        if self._damage is not None:
            raise KnowledgeUnavailableError(_DAMAGED)
        if self.is_being_checked:
            raise KnowledgeUnavailableError(_BEING_CHECKED)
        spent: _Opening | None = None
        with self._lock:
            if self._opening is not None and self._opening.is_spent(again_after=again_after):
                spent, self._opening = self._opening, None
            if self._opening is None:
                self._opening = _Opening(self._config, closure=self._closure, outage=self._outage)
            opening = self._opening
        if spent is not None:
            spent.close()  # which waits for what still runs there, as the others need not
        return opening.database()

    def is_empty(self, user_email: str) -> bool:
        """Whether `user_email` surely has no memories; False where the store is not open, or can't be read."""
        opening = self._opening
        is_closed = self._damage is not None or self.is_being_checked
        opened = opening.opened() if opening is not None and not is_closed else None
        try:
            return opened is not None and not ClaimCRUD(opened, user_email).has_any()
        except KnowledgeUnavailableError:
            return False

    def is_available(self) -> bool:
        """Whether the store can be read now."""
        try:
            return bool(self.database(again_after=_ASKED_AGAIN_AFTER).get_schema_version())
        except KnowledgeUnavailableError:
            return False

    def embedding(self) -> EmbeddingModel | None:
        """The model that makes vectors, if there is one."""
        return self._models().embedding

    @property
    def file(self) -> Path | None:
        """The file of the store, which may not be there yet; None where PostgreSQL holds the store."""
        return self._config.path if self._config.database_url is None else None

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            if self._opening is not None:
                self._opening.close()
            self._opening = None


class _Opening:
    """One attempt to open a store: running, done, or failed.

    closure: of all attempts. outage: of reading what they open.
    """

    def __init__(self, config: PKBConfig, *, closure: Outage, outage: Outage) -> None:
        self._config = config
        self._closure = closure
        self._outage = outage
        self._began_at = time.monotonic()
        self._file: tuple[int, int] | None = None
        self._opened: Future[PKBDatabase] = Future()
        self._store: PKBDatabase | None = None
        # Opening may wait for a lock or a long migration; requests must not.
        threading.Thread(target=self._open, name="knowledge-opening", daemon=True).start()

    def database(self) -> PKBDatabase:
        """The store. Raises KnowledgeUnavailableError while it is being opened, and where that failed."""
        try:
            return self._opened.result(timeout=_PATIENCE)
        except TimeoutError:
            raise KnowledgeUnavailableError(say("memories_opening")) from None

    def opened(self) -> PKBDatabase | None:
        """The store, if it is open."""
        return self._store

    def is_spent(self, *, again_after: float) -> bool:
        """Whether to try again: opening failed, or the store has failed or was replaced since."""
        if not self._opened.done():
            return False
        failed = self._opened.exception() is not None or self._opened.result().failures > 0
        if failed:
            return time.monotonic() - self._began_at >= again_after
        return _identity(self._config.path) != self._file

    def close(self) -> None:
        """Close the store, at once or as soon as it is open."""
        self._opened.add_done_callback(_close)

    def _open(self) -> None:
        try:
            opened = get_database(self._config, outage=self._outage)
        except KnowledgeUnavailableError as error:
            self._closure.failed(f"the knowledge base can't be opened: {error.message}", level=logging.ERROR)
            self._opened.set_exception(error)
        except Exception:
            log.exception("the knowledge base can't be opened")
            self._opened.set_exception(KnowledgeUnavailableError(say("memories_closed")))
        else:
            self._file = _identity(self._config.path)
            self._store = opened
            self._closure.over()
            self._opened.set_result(opened)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _close(opened: Future[PKBDatabase]) -> None:
    if opened.exception() is None:
        opened.result().close()


def knowledge_in(users_dir: str | Path) -> KnowledgeAccess:
    """The knowledge base of a data folder for programs without a server and without models; shared by all callers."""
    with _lock:
        return _opened.setdefault(str(users_dir), KnowledgeAccess(users_dir))


def close_knowledge(users_dir: str | Path) -> None:
    """Close what `knowledge_in` opened; a no-op where it opened nothing."""
    with _lock:
        opened = _opened.pop(str(users_dir), None)
    if opened is not None:
        opened.close()


_EMBED_SECONDS = 0.5


def tell_changes(*, database: Database, knowledge: KnowledgeAccess) -> int:
    """Record new changes as activities, each once; how many."""
    memories = knowledge.database()
    changes = undelivered(memories)
    by_user: dict[str, list[dict[str, object]]] = defaultdict(list)
    for change in changes:
        by_user[change.user_email].append({**asdict(change), "id": change.audit_id})
    for user_email, theirs in by_user.items():
        store_changes(database=database, user_email=user_email, changes=theirs)
    mark_delivered(memories, [change.audit_id for change in changes])
    return len(changes)


class EmbeddingUpkeep:
    """Computes missing vectors in the background; searches for them only after something changed."""

    def __init__(self, knowledge: KnowledgeAccess) -> None:
        self._knowledge = knowledge
        self._finished_at: tuple[PKBDatabase, str, int] | None = None
        self._indexer: EmbeddingIndexer | None = None

    def embed_pending(self) -> int:
        """Compute what is missing, for about half a second; how many vectors.

        This also loads and measures the model, so that no question waits for it. Raises the errors of
        `language_models.errors`, KnowledgeUnavailableError.
        """
        model = usable(self._knowledge.embedding())
        if model is None:
            return 0
        database = self._knowledge.database()
        # Read before the search: changes made meanwhile are found by the next run.
        state = (database, model.name, last_change(database))
        if state == self._finished_at:
            return 0
        indexer = self._indexer_of(database, model)
        indexed = indexer.index_pending(budget_seconds=_EMBED_SECONDS)
        if indexed or indexer.embedded_count():
            unrelated_for(model)
        if indexed == 0:
            if self._finished_at is None or self._finished_at[:2] != state[:2]:
                indexer.delete_former()
            self._finished_at = state
        return indexed

    def _indexer_of(self, database: PKBDatabase, model: EmbeddingModel) -> EmbeddingIndexer:
        """The same indexer each time: it remembers which texts the model refuses, and which user is next."""
        indexer = self._indexer
        if indexer is None or indexer.db is not database or indexer.model is not model:
            indexer = self._indexer = EmbeddingIndexer(database, model)
        return indexer


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnToRemember:
    """A question and its answer, either of which may be ""."""

    question: str
    answer: str


def turn_to_remember(*, database: Database, user_email: str, conversation_id: str, message_id: str) -> TurnToRemember:
    """The turn that a message belongs to. Raises MessageNotFoundError."""
    where: dict[str, Any] = {"database": database, "user_email": user_email, "conversation_id": conversation_id}
    message = reading.message_by_id(**where, message_id=message_id)
    if message is None or message.deleted_at is not None:
        raise MessageNotFoundError
    if message.sender == "user":
        after = reading.message_at(**where, index=message.index + 1)
        return TurnToRemember(question=message.text, answer=_said_by("model", after))
    before = reading.message_at(**where, index=message.index - 1)
    return TurnToRemember(question=_said_by("user", before), answer=message.text)


def _said_by(sender: str, message: MessageRow | None) -> str:
    return message.text if message is not None and message.sender == sender else ""


Counting = Callable[[ChatModel, str], ChatModel]
"""From a model and a user's e-mail address to the model that counts for them."""


def counting_in(database: Database, quota: Quota) -> Counting:
    """How a server counts. quota: of people for whom no administrator has set anything else."""

    def counted(model: ChatModel, user_email: str) -> ChatModel:
        return CountedModel(model, database=database, user_email=user_email, quota=quota)

    return counted


class CountedModel(ForwardingModel):
    """`model`, for one person. A request raises ModelUnavailableError where their tokens are used up."""

    def __init__(self, model: ChatModel, *, database: Database, user_email: str, quota: Quota) -> None:
        super().__init__(model)
        self._database = database
        self._user_email = user_email
        self._quota = quota

    async def stream(
        self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[Delta, None]:
        """See `ChatModel`."""
        await in_thread(self._admit)
        usage, said = Usage(), list[str]()
        try:
            async with aclosing(super().stream(messages, **options)) as deltas:
                async for delta in deltas:
                    usage = delta.usage or usage
                    said.append(delta.text)
                    yield delta
        finally:
            self._count(usage, "".join(said))

    def _admit(self) -> None:
        used_up = tokens_used_up(database=self._database, user_email=self._user_email, defaults=self._quota)
        if used_up is not None:
            raise ModelUnavailableError(QuotaReachedError(used_up).message, model=self.name)

    def _count(self, usage: Usage, said: str) -> None:
        told = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
        counted = partial(count_tokens, user_email=self._user_email, config={"usage": told}, text=said)
        # Nobody waits for it: a request that is cancelled counts, too.
        self._database.submit(counted)
