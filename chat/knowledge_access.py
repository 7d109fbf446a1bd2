"""The door to people's memories for everything that answers: one store a data folder, opened when first needed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from language_models.ports import EmbeddingModel
from truth_management_system import PKBConfig, PKBDatabase, StructuredAPI, get_database
from truth_management_system.interface.structured_api import KnowledgeModels, KnowledgeUnavailableError

log = logging.getLogger(__name__)
_FILE = "pkb.sqlite"
_TRY_AGAIN_AFTER = 2.0

_opened: dict[str, KnowledgeAccess] = {}
_lock = threading.Lock()


class KnowledgeAccess:
    """The knowledge base of one data folder, for any of its users.

    models: called when a user's view is made, since models come and go. synchronous: as for the other store.
    """

    def __init__(
        self,
        users_dir: str | Path,
        *,
        models: Callable[[], KnowledgeModels] = KnowledgeModels,
        synchronous: str = "normal",
    ) -> None:
        self._config = PKBConfig(db_path=Path(users_dir) / _FILE, synchronous=synchronous)
        self._models = models
        self._lock = threading.Lock()
        self._database: PKBDatabase | None = None
        self._failed: tuple[float, KnowledgeUnavailableError] | None = None

    def for_user(self, user_email: str) -> StructuredAPI:
        """What `user_email` knows. Raises KnowledgeUnavailableError where the store can't be opened."""
        return StructuredAPI(self.database(), {}, self._config, user_email, models=self._models())

    def database(self) -> PKBDatabase:
        """The store, opened when first asked for. Raises KnowledgeUnavailableError; later it is tried again."""
        with self._lock:
            if self._database is None:
                if self._failed and time.monotonic() - self._failed[0] < _TRY_AGAIN_AFTER:
                    raise self._failed[1]
                self._database = self._open()
            return self._database

    def embedding(self) -> EmbeddingModel | None:
        """The model that makes vectors, if there is one."""
        return self._models().embedding

    def close(self) -> None:
        """Let go of the files."""
        with self._lock:
            if self._database is not None:
                self._database.close()
            self._database = None

    def _open(self) -> PKBDatabase:
        try:
            return get_database(self._config)
        except KnowledgeUnavailableError as error:
            log.error("the knowledge base can't be opened: %s", error.message)  # noqa: TRY400 - its root was logged
            self._failed = (time.monotonic(), error)
            raise


def knowledge_in(users_dir: str | Path) -> KnowledgeAccess:
    """The knowledge base of a data folder for programs without a server, and without models; shared by all callers."""
    with _lock:
        return _opened.setdefault(str(users_dir), KnowledgeAccess(users_dir))


def close_knowledge(users_dir: str | Path) -> None:
    """Let go of what `knowledge_in` opened; a no-op where it opened nothing."""
    with _lock:
        opened = _opened.pop(str(users_dir), None)
    if opened is not None:
        opened.close()
