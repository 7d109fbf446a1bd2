"""The vectors that searches compare with: of few users at a time, as new as the store, large sets mapped from files."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2s
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sqlalchemy import bindparam, func, literal_column, select

from ..database import PKBDatabase, Prepared
from ..schema.tables import claim_embeddings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)
WORTH_A_FILE = 2_000
"""Fewer vectors are read from the store in no time."""

_FOLDER = ".vectors"
_CHUNK = 4_000
_SAMPLES = 8
_BYTES_A_NUMBER = 2
_SWEPT_AFTER_SECONDS = 3_600.0
"""A file that is younger may be one that is being written."""
_OF_MODEL = (claim_embeddings.c.user_email == bindparam("user"), claim_embeddings.c.model == bindparam("model"))
_OF_SET = (
    *_OF_MODEL,
    func.length(claim_embeddings.c.vector) == bindparam("length"),
)
_LATER = (*_OF_SET, claim_embeddings.c.embedding_seq > bindparam("seq"))
_COUNT = Prepared(select(func.count()).select_from(claim_embeddings).where(*_LATER))
_LARGE = Prepared(
    select(claim_embeddings.c.user_email, claim_embeddings.c.model)
    .group_by(claim_embeddings.c.user_email, claim_embeddings.c.model)
    .having(func.count() >= bindparam("least"))
)
_NEWEST_LENGTH = Prepared(
    select(func.length(claim_embeddings.c.vector))
    .where(*_OF_MODEL)
    .order_by(claim_embeddings.c.embedding_seq.desc())
    .limit(literal_column("1"))
)
_VECTOR = Prepared(
    select(claim_embeddings.c.vector).where(*_OF_SET, claim_embeddings.c.embedding_seq == bindparam("seq"))
)
_NEXT = Prepared(
    select(claim_embeddings.c.embedding_seq, claim_embeddings.c.vector)
    .where(*_LATER)
    .order_by(claim_embeddings.c.embedding_seq)
    .limit(literal_column(str(_CHUNK)))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSet:
    """One user's vectors of one model and length, in one knowledge base."""

    db: PKBDatabase
    user_email: str
    model: str
    dimensions: int

    def count(self, *, after: int = 0) -> int:
        """How many there are behind this `embedding_seq`."""
        row = self.db.row(_COUNT, **self._given(after))
        return int(row[0]) if row else 0

    def newest_dimensions(self) -> int:
        """The length of the newest vector of this user and model, whatever `dimensions` says; 0 without one."""
        row = self.db.row(_NEWEST_LENGTH, user=self.user_email, model=self.model)
        return int(row[0]) // _BYTES_A_NUMBER if row else 0

    def read(self, *, after: int = 0) -> NDArray[np.void]:
        """Those behind this `embedding_seq`, as records of `seq` and `vector` (float32), oldest first."""
        import numpy as np

        with self.db.snapshot():
            records = np.empty(self.count(after=after), dtype=[("seq", "<i8"), ("vector", "<f4", (self.dimensions,))])
            filled = 0
            for rows in self._chunks(after):
                end = filled + len(rows)
                vectors = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f2")
                records["seq"][filled:end] = [seq for seq, _ in rows]
                records["vector"][filled:end] = vectors.reshape(len(rows), self.dimensions)
                filled = end
        return records

    def holds(self, seq: int, vector: NDArray[np.float32]) -> bool:
        """Whether the vector with this `embedding_seq` is this one, or is gone."""
        row = self.db.row(_VECTOR, **self._given(seq))
        return row is None or row[0] == vector.astype("<f2").tobytes()

    def path(self) -> Path | None:
        """Where they may be kept; None for a knowledge base in memory."""
        if self.db.config.in_memory:
            return None
        kind = blake2s(f"{self.model}\0{self.dimensions}".encode(), digest_size=10).hexdigest()
        return self.db.config.path.with_suffix(_FOLDER) / f"{_user_part(self.user_email)}-{kind}.npy"

    def _chunks(self, after: int) -> Iterator[Sequence[Sequence[Any]]]:
        while rows := self.db.rows(_NEXT, **self._given(after)):
            yield rows
            after = rows[-1][0]

    def _given(self, seq: int) -> dict[str, Any]:
        length = _BYTES_A_NUMBER * self.dimensions
        return {"user": self.user_email, "model": self.model, "length": length, "seq": seq}


def remove_files(db: PKBDatabase, user_email: str) -> None:
    """Delete the files that hold vectors of `user_email`."""
    if not db.config.in_memory:
        for file in db.config.path.with_suffix(_FOLDER).glob(f"{_user_part(user_email)}-*"):
            file.unlink(missing_ok=True)


def sweep_files(db: PKBDatabase) -> int:
    """Delete old files that no large set of vectors names, and what writes left that were broken off; how many."""
    if db.config.in_memory:
        return 0
    with db.snapshot():
        large = [
            VectorSet(db=db, user_email=row[0], model=row[1], dimensions=0)
            for row in db.rows(_LARGE, least=WORTH_A_FILE)
        ]
        named = {replace(each, dimensions=each.newest_dimensions()).path() for each in large}
    swept = 0
    for file in db.config.path.with_suffix(_FOLDER).glob("*"):
        with suppress(FileNotFoundError):
            if file not in named and time.time() - file.stat().st_mtime > _SWEPT_AFTER_SECONDS:
                file.unlink()
                swept += 1
    return swept


def _user_part(user_email: str) -> str:
    return blake2s(user_email.encode(), digest_size=10).hexdigest()


def slack(count: int) -> int:
    """How many of so many vectors may be missing, or gone from the store, before the array is made anew."""
    return max(1_000, count // 10)


def load(vectors: VectorSet) -> NDArray[np.void]:
    """All of them but, at most, the newest few (see `slack`); some may be gone from the store.

    Many come from a file beside the store, which is written where it is missing or too old; where it can't be written
    they stay in memory.
    """
    path = vectors.path()
    with vectors.db.snapshot():
        count = vectors.count()
        if path is None or count < WORTH_A_FILE:
            return vectors.read()
        kept = _mapped(path, vectors.dimensions)
        if kept is not None and _is_current(vectors, kept, count):
            return kept
        records = vectors.read()
    written = _written(path, records, vectors.dimensions)
    if not vectors.count():
        # The user was erased meanwhile: the rows first, and then the files that were there.
        path.unlink(missing_ok=True)
    return written


def _mapped(path: Path, dimensions: int) -> NDArray[np.void] | None:
    import numpy as np

    with suppress(OSError, ValueError, EOFError):
        kept: NDArray[np.void] = np.load(path, mmap_mode="r", allow_pickle=False)
        if kept.dtype == [("seq", "<i8"), ("vector", "<f4", (dimensions,))] and kept.ndim == 1 and len(kept):
            return kept
    return None


def _is_current(vectors: VectorSet, kept: NDArray[np.void], count: int) -> bool:
    import numpy as np

    newer = vectors.count(after=int(kept["seq"][-1]))
    gone = len(kept) - (count - newer)
    if newer > slack(len(kept)) or not 0 <= gone <= slack(len(kept)):
        return False
    # The store may have been put back to an older state and have gone another way since.
    samples = kept[np.linspace(0, len(kept) - 1, _SAMPLES).astype(int)]
    return all(vectors.holds(int(sample["seq"]), sample["vector"]) for sample in samples)


def _written(path: Path, records: NDArray[np.void], dimensions: int) -> NDArray[np.void]:
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        _write(path, records)
    except OSError as error:
        log.warning("the vectors stay in memory, since %s can't be written: %s", path, error)
        return records
    mapped = _mapped(path, dimensions)
    return records if mapped is None else mapped


def _write(path: Path, records: NDArray[np.void]) -> None:
    import numpy as np

    with NamedTemporaryFile(dir=path.parent, prefix=f"{path.stem}-", suffix=".part", delete=False) as part:
        try:
            np.save(part, records, allow_pickle=False)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
    Path(part.name).replace(path)


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
