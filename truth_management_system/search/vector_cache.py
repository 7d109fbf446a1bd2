"""The vectors that searches compare with: of few users at a time, always as new as the store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..database import PKBDatabase
from .vector_file import VectorSet, load, slack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_USERS = 4


class UserVectors:
    """One user's vectors of one model: a large unchanging array, and a tail of what came later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: NDArray[np.void] | None = None
        self._tail: NDArray[np.void] | None = None

    def similarities(
        self, vectors: VectorSet, query: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(`embedding_seq`s, cosine similarity of each to the normalised `query`), as new as the store.

        Vectors whose claims were changed or deleted meanwhile may be among them: look each up before it is shown.
        """
        import numpy as np

        arrays = self._current(vectors)
        seqs = np.concatenate([array["seq"] for array in arrays])
        # Not "@": reading the vectors takes the time, and BLAS's threads would go on spinning after each search.
        return seqs, np.concatenate([np.vecdot(array["vector"], query) for array in arrays])

    def _current(self, vectors: VectorSet) -> tuple[NDArray[np.void], NDArray[np.void]]:
        import numpy as np

        with self._lock:
            if self._loaded is None or self._tail is None or len(self._tail) > slack(len(self._loaded)):
                self._loaded = load(vectors)
                self._tail = self._loaded[:0]
            newest = self._tail if len(self._tail) else self._loaded
            came_later = vectors.read(after=int(newest["seq"][-1]) if len(newest) else 0)
            if len(came_later):
                self._tail = np.concatenate([self._tail, came_later])
            return self._loaded, self._tail


class VectorCache:
    """The vectors of the users who searched last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: OrderedDict[tuple[str, str, int], UserVectors] = OrderedDict()

    def similarities(
        self, vectors: VectorSet, query: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `UserVectors.similarities`."""
        return self._of(vectors).similarities(vectors, query)

    def forget(self, user_email: str) -> None:
        """Drop the vectors of one user."""
        with self._lock:
            for key in [key for key in self._users if key[0] == user_email]:
                del self._users[key]

    def _of(self, vectors: VectorSet) -> UserVectors:
        key = (vectors.user_email, vectors.model, vectors.dimensions)
        with self._lock:
            found = self._users.setdefault(key, UserVectors())
            self._users.move_to_end(key)
            while len(self._users) > _USERS:
                self._users.popitem(last=False)
        return found


_caches: WeakKeyDictionary[PKBDatabase, VectorCache] = WeakKeyDictionary()
_lock = threading.Lock()


def vectors_of(db: PKBDatabase) -> VectorCache:
    """The cache that all searches of one knowledge base share."""
    with _lock:
        return _caches.setdefault(db, VectorCache())


def forget_vectors(db: PKBDatabase, user_email: str) -> None:
    """Drop what is kept in memory of one user's vectors."""
    vectors_of(db).forget(user_email)
