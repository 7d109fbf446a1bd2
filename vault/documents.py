"""The door to people's documents: `Vaults` of a server, `Vault` of one person."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from database.accounts.users import get_user, is_account_open, user_ids
from database.engine.database import Database
from database.engine.errors import UserNotFoundError
from database.vault import documents as store
from database.vault.documents import Progress
from language_models.ports import ChatModel, EmbeddingModel
from search.things.documents import documents_called
from settings import MappedFolder
from vault.content.markdown import Document, Heading
from vault.content.resolution import Name, NameKind, Resolution, by_key, keys_of, resolve
from vault.content.summaries import Summaries
from vault.content.wikilinks import Wikilink, find_wikilinks, names_other_file, parse_wikilink

from . import index, writing
from .errors import DocumentNotFoundError, VaultUnavailableError
from .paths import DeletedDocument, deleted_documents, read_bytes
from .search.excerpts import Excerpt, find_excerpts
from .search.vectors import DocumentVectors

log = logging.getLogger(__name__)
__all__ = ["Document", "DocumentEntry", "Excerpt", "Heading", "Link", "Page", "Resolution", "Vault", "Vaults"]
_MOST_KEYS = 500
_PAGE = 1_000
_EXCERPTS_A_DOCUMENT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentEntry:
    """A document in a list. modified: ISO 8601 in UTC. size: in bytes."""

    path: str
    title: str
    modified: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Documents, and where the next page begins; None behind the last."""

    documents: list[DocumentEntry]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link between documents. source: the path of the document that holds it. target: None for a broken one.

    is_file: it is to a picture, or to another file that is no document; it has no target, and is not broken.
    """

    source: str
    source_title: str
    line: int
    wikilink: str
    target: str | None
    anchor: str | None = None
    ambiguous: bool = False
    is_file: bool = False

    @property
    def is_broken(self) -> bool:
        """Whether it should lead to a document, and does not."""
        return self.target is None and not self.is_file


class Vaults:
    """The vaults of one server's people.

    mapped: folders of the operator's choice, by address; everybody else's vault lies in `<users_dir>/vaults`.
    embedding, cheap: the models of `vectors` and of `summaries`, called each time. summary_timeout: seconds
    that a model may take for one summary. require_room: raises NoRoomError where a person's documents may not have so
    many bytes more; folders of the operator's choice are not asked for.
    """

    def __init__(
        self,
        *,
        database: Database,
        mapped: Mapping[str, MappedFolder] | None = None,
        embedding: Callable[[], EmbeddingModel | None] = lambda: None,
        cheap: Callable[[], ChatModel] | None = None,
        summary_timeout: float = 60.0,
        require_room: Callable[[str, int], None] = lambda _user_email, _bytes: None,
    ) -> None:
        self.database = database
        self.vectors = DocumentVectors(database=database, model=embedding)
        self.summaries = Summaries(database=database, model=cheap, read=self._read, timeout=summary_timeout)
        self._mapped = dict(mapped or {})
        self._require_room = require_room
        self._folders: dict[str, Path] = {}
        self._strangers: Set[str] = frozenset()
        self._lock = threading.Lock()

    @property
    def folder(self) -> Path:
        """Where the vaults lie that every account has."""
        return self.database.folder / "vaults"

    def of(self, user_email: str) -> Vault:
        """The person's vault; its folder is made on first use. Raises UserNotFoundError, VaultUnavailableError."""
        mapped = self._mapped.get(user_email)
        root = self._mapped_folder(user_email, mapped) if mapped is not None else self._own_folder(user_email)
        return Vault(
            user_email=user_email,
            root=root,
            is_mapped=mapped is not None,
            read_only=mapped is not None and mapped.read_only,
            database=self.database,
            vectors=self.vectors,
            summaries=self.summaries,
            require_room=partial(self._require_room, user_email) if mapped is None else lambda _bytes: None,
        )

    def existing(self) -> list[Vault]:
        """The vaults of all accounts that have a folder and were not closed."""
        own = {entry.name for entry in os.scandir(self.folder)} if self.folder.is_dir() else set()
        if not own and not self._mapped:
            return []
        accounts = user_ids(database=self.database, closed=False)
        self._warn_of_strangers(self._mapped.keys() - accounts.keys())
        found = list[Vault]()
        for email, user_id in accounts.items():
            if self._mapped[email].folder.is_dir() if email in self._mapped else user_id in own:
                with suppress(UserNotFoundError):  # it was closed meanwhile
                    found.append(self.of(email))
        return found

    def erase(self, user_email: str) -> None:
        """Delete the person's own vault and its index; a folder that the operator mapped stays."""
        self.vectors.forget(user_email)
        user_id = user_ids(database=self.database).get(user_email)
        if user_id is not None:
            shutil.rmtree(self.folder / user_id, ignore_errors=True)
        store.erase_documents(database=self.database, user_email=user_email)
        with self._lock:
            self._folders.pop(user_email, None)

    def _read(self, user_email: str, path: str) -> Document:
        return self.of(user_email).read(path)

    def _warn_of_strangers(self, strangers: Set[str]) -> None:
        """Say once which folders are mapped to addresses without an account, which may be misspelled."""
        with self._lock:
            new, self._strangers = strangers - self._strangers, strangers
        for email in sorted(new):
            log.warning("ANAPHORA_VAULT_FOLDERS: %s has no account, so nothing in this folder is read", email)

    def _mapped_folder(self, user_email: str, mapped: MappedFolder) -> Path:
        """Raises UserNotFoundError: of an address without an account, the index would keep nothing."""
        if user_email not in self._folders:
            if not is_account_open(database=self.database, user_email=user_email):
                raise UserNotFoundError
            with self._lock:
                self._folders[user_email] = mapped.folder
        return mapped.folder

    def _own_folder(self, user_email: str) -> Path:
        known = self._folders.get(user_email)
        if known is not None and known.is_dir():
            return known
        folder = self.folder / get_user(database=self.database, user_email=user_email).user_id
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise VaultUnavailableError(f"The folder of the vault can't be made: {error.strerror}.") from error
        # Asked when it is there: the erasure of an account that is closed later finds it.
        if not is_account_open(database=self.database, user_email=user_email):
            with suppress(OSError):
                folder.rmdir()
            raise UserNotFoundError
        with self._lock:
            self._folders[user_email] = folder
        return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """One person's documents. Paths are relative to `root`; texts are read from files, all else from the index.

    is_mapped: `root` is a folder of the operator's choice, which may be on a disk that is not always there.
    """

    user_email: str
    root: Path
    read_only: bool
    database: Database = field(repr=False)
    vectors: DocumentVectors = field(repr=False)
    summaries: Summaries = field(repr=False)
    # Raises NoRoomError where the documents may not have so many bytes more.
    require_room: Callable[[int], None] = field(repr=False, default=lambda _bytes: None)
    is_mapped: bool = False

    def read(self, path: str) -> Document:
        """The document at `path`. Raises DocumentNotFoundError, PathRefusedError, DocumentTooLargeError."""
        return index.read_document(self.root, path)

    def read_if_there(self, path: str) -> Document | None:
        """As `read`; None where there is no such document."""
        try:
            return self.read(path)
        except DocumentNotFoundError:
            return None

    def content_if_there(self, path: str) -> bytes | None:
        """What the file of a document holds, which its text need not say all of; None where there is no such document.

        Raises PathRefusedError, DocumentTooLargeError.
        """
        try:
            return read_bytes(self.root, path)[0]
        except DocumentNotFoundError:
            return None

    def resolve(self, link: str, *, source: str = "") -> Resolution:
        """What a link leads to, with or without its brackets; nothing for a text that is none. See `resolve_many`."""
        (resolution,) = self.resolve_many([link], source=source)
        return resolution

    def resolve_many(self, links: Sequence[str], *, source: str = "") -> list[Resolution]:
        """What each link leads to, with one statement for all. source: the path of the document that holds them.

        Without it, `[[./a]]` and `[[../a]]` lead nowhere.
        """
        parsed = [parse_wikilink(link) for link in links]
        names = self._names(parsed)
        return [Resolution() if link is None else resolve(link, names, source=source) for link in parsed]

    def documents(self, *, query: str = "", folder: str = "", limit: int = 100, cursor: str = "") -> Page:
        """Documents by path, from `cursor` on; those below `folder`, and with `query` in one of their names.

        Names are compared without regard to case and diacritics.
        """
        own: dict[str, Any] = {"database": self.database, "user_email": self.user_email}
        own |= {"folder": folder.strip("/"), "after": cursor, "most": limit + 1}
        name = query.strip()
        found = documents_called(**own, name=name) if name else store.list_documents(**own)
        shown = [_entry(entry) for entry in found[:limit]]
        return Page(documents=shown, next=shown[-1].path if len(found) > limit else None)

    def entries(self, paths: Sequence[str]) -> dict[str, DocumentEntry]:
        """Those of these documents that there are, by path."""
        found = store.entries(database=self.database, user_email=self.user_email, paths=paths)
        return {path: _entry(entry) for path, entry in found.items()}

    def all_documents(self) -> Iterator[DocumentEntry]:
        """All documents by path."""
        cursor: str | None = ""
        while cursor is not None:
            page = self.documents(limit=_PAGE, cursor=cursor)
            yield from page.documents
            cursor = page.next

    def links_of(self, document: Document) -> list[Link]:
        """The links in a document, in order, each with what it leads to now."""
        found = find_wikilinks(document.text)
        rows = [
            store.LinkRow(document.path, document.title, document.text.count("\n", 0, link.start) + 1, link.raw)
            for link in found
        ]
        return self._links(rows)

    def backlinks(self, path: str) -> list[Link]:
        """The links of other documents, and of itself, that lead to the document at `path`."""
        named = store.names_of_path(database=self.database, user_email=self.user_email, path=path)
        rows = store.links_naming(
            database=self.database,
            user_email=self.user_email,
            file_keys=[folded for kind, folded in named if kind == NameKind.FILE],
            whole_keys=[folded for _, folded in named],
        )
        return [link for link in self._links(rows) if link.target == path]

    def links(self) -> list[Link]:
        """All links of the vault: the edges of its graph, with those that are broken."""
        return self._links(store.all_links(database=self.database, user_email=self.user_email))

    def refresh(self, *, is_full: bool = False, skip: int = 0) -> Iterator[index.Scanned]:
        """Bring the index up to date with the files, slice by slice.

        is_full: also where they seem unchanged. skip: so many of those that have to be read were read before.
        Raises VaultUnavailableError as `require_disk`, StoreError.
        """
        self.require_disk()
        return index.scan(self.root, database=self.database, user_email=self.user_email, is_full=is_full, skip=skip)

    def require_disk(self) -> None:
        """Raises VaultUnavailableError for a mapped folder that can't be read, or is empty where the index is not.

        An empty one is taken for the place where its disk is to be mounted; the index stays as it is.
        """
        if not self.is_mapped:
            return
        try:
            is_empty = not any(self.root.iterdir())
        except OSError as error:
            raise VaultUnavailableError(f"{self.root} can't be read: {error.strerror}.") from error
        if is_empty and self.progress().documents:
            advice = "Mount its disk, or put any file there if it is meant to be empty."
            raise VaultUnavailableError(f"{self.root} is empty. {advice}")

    def follow(self, paths: Iterable[str]) -> int:
        """Bring the index up to date with files and folders that may have changed; how many documents did."""
        return index.index_paths(paths, root=self.root, database=self.database, user_email=self.user_email)

    def progress(self) -> Progress:
        """How many documents are found by words, and how many by meaning too."""
        return store.progress_of(database=self.database, user_email=self.user_email)

    def summary(self, path: str, *, max_length: int = 100, ask: bool = False) -> str:
        """About a document, in one line; ask: the cheap model may be asked here, which takes seconds. Never raises."""
        return self.summaries.of(self.user_email, path, max_length=max_length, ask=ask)

    def find_excerpts(
        self, query: str, *, n: int = 8, keywords: Sequence[Sequence[str]] | None = None
    ) -> list[Excerpt]:
        """The parts of documents that say or mean what `query` asks for, words or a question, best first.

        keywords: the phrases of a few words, of which more is asked.
        """
        return find_excerpts(
            query, n=n, user_email=self.user_email, database=self.database, vectors=self.vectors, keywords=keywords
        )

    def related_excerpts(self, query: str, *, n: int) -> list[Excerpt]:
        """Those that have so much to do with `query` that a model should be given them unasked."""
        return find_excerpts(
            query, n=n, user_email=self.user_email, database=self.database, vectors=self.vectors, surely=True
        )

    def find_documents(
        self, query: str, *, n: int = 3, keywords: Sequence[Sequence[str]] | None = None
    ) -> list[Excerpt]:
        """The documents that do, each with its best part."""
        best: dict[str, Excerpt] = {}
        for excerpt in self.find_excerpts(query, n=_EXCERPTS_A_DOCUMENT * n, keywords=keywords):
            best.setdefault(excerpt.path, excerpt)
        return list(best.values())[:n]

    def texts(self) -> Iterator[tuple[str, str, str]]:
        """Path, title and text of each document, by path, as the index has them."""
        return store.texts_of(database=self.database, user_email=self.user_email)

    write = writing.write
    append = writing.append
    replace_lines = writing.replace_lines
    rename = writing.rename
    delete = writing.delete
    restore = writing.restore

    def deleted(self) -> list[DeletedDocument]:
        """`paths.deleted_documents`."""
        return deleted_documents(self.root)

    def _links(self, rows: Sequence[store.LinkRow]) -> list[Link]:
        """These links, each with what it leads to."""
        parsed = [parse_wikilink(row.wikilink) for row in rows]
        names = self._names(parsed)
        found = list[Link]()
        for row, link in zip(rows, parsed, strict=True):
            resolution = Resolution() if link is None else resolve(link, names, source=row.path)
            found.append(
                Link(
                    source=row.path,
                    source_title=row.title,
                    line=row.line,
                    wikilink=row.wikilink,
                    target=resolution.path,
                    anchor=resolution.anchor,
                    ambiguous=resolution.ambiguous,
                    is_file=link is not None and resolution.path is None and names_other_file(link),
                )
            )
        return found

    def _names(self, links: Sequence[Wikilink | None]) -> dict[str, list[Name]]:
        """The names that these links may mean, by their folded form."""
        keys = {key for link in links if link is not None for key in keys_of(link)}
        if not keys:
            return {}
        if len(keys) > _MOST_KEYS:
            rows = store.all_names(database=self.database, user_email=self.user_email)
        else:
            rows = store.names_with_keys(database=self.database, user_email=self.user_email, keys=keys)
        return by_key(Name(NameKind(kind), name, path) for kind, name, path in rows)


def _entry(entry: store.Entry) -> DocumentEntry:
    moment = datetime.fromtimestamp(entry.modified_ns / 1e9, UTC).isoformat(timespec="seconds")
    return DocumentEntry(path=entry.path, title=entry.title, modified=moment, size=entry.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A document."""

    path: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Links of one document to another; how many."""

    source: str
    target: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """orphans: documents that no link joins to another one."""

    nodes: list[Node]
    edges: list[Edge]
    broken: list[Link]
    orphans: list[str]


def graph_of(vault: Vault) -> Graph:
    """The graph of all documents of a vault."""
    nodes = [Node(path=entry.path, title=entry.title) for entry in vault.all_documents()]
    links = vault.links()
    counts = Counter((link.source, link.target) for link in links if link.target not in (None, link.source))
    edges = [Edge(source=source, target=target, count=count) for (source, target), count in counts.items() if target]
    linked = {path for edge in edges for path in (edge.source, edge.target)}
    return Graph(
        nodes=nodes,
        edges=edges,
        broken=[link for link in links if link.is_broken],
        orphans=[node.path for node in nodes if node.path not in linked],
    )
