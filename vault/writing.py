"""Writing documents: atomic, of the version that the writer has read, indexed and committed at once."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from conversation_reference_utils import canonical_reference, whole_reference
from database.engine.durability import flush_to_disk
from database.engine.errors import InvalidChangeError
from database.history.documents import follow_renamed
from database.vault.writes import Action, Source, Written, find_source, record_writes
from language_models.file_lock import locked_within
from sentences import say
from vault.content.markdown import Document, version_of
from vault.content.resolution import is_relative
from vault.content.wikilinks import Wikilink, find_wikilinks, parse_wikilink, without_extension

from . import history, index, paths
from .errors import (
    DocumentExistsError,
    VaultBusyError,
    VaultReadOnlyError,
    VaultUnavailableError,
    VersionConflictError,
    VersionMissingError,
)

if TYPE_CHECKING:
    from .documents import Vault

_LOCKS = "locks/vaults"
_PATIENCE = 15.0
"""Less than a tool may take: what is given up is not written later."""
_locks: dict[Path, threading.Lock] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """A renamed document, and the paths of the documents whose links were changed to follow it."""

    document: Document
    followed: list[str]


def write(
    vault: Vault,
    path: str,
    text: str,
    *,
    version: str | None = None,
    reason: str = "",
    message_id: str | None = None,
    by_model: bool = False,
    action: Action = "write",
) -> Document:
    """Write the whole document. version: the one that is replaced; None: there is none yet. reason: of the commit.

    message_id: the answer that proposed it. by_model: what answers there writes it by itself, with no proposal that
    the person accepted. action: how the text came to be.

    Raises VersionMissingError for a document that exists, where no version is named, and VersionConflictError where
    another version is there now; DocumentExistsError where the path is that of a folder, or leads through a document;
    PathRefusedError, DocumentTooLargeError, NoRoomError, VaultReadOnlyError; InvalidChangeError where the text of the
    document does not say all that its file does.
    """
    with _writing(vault):
        current = vault.read_if_there(path)
        if version is None and current is not None:
            raise VersionMissingError
        _require_version(current, version)
        return _replace(
            vault,
            path,
            text,
            current,
            reason=reason or f"Write {path}",
            message_id=message_id,
            by_model=by_model,
            action=action,
        )


def _replace(
    vault: Vault,
    path: str,
    text: str,
    current: Document | None,
    *,
    reason: str,
    message_id: str | None = None,
    by_model: bool = False,
    action: Action,
) -> Document:
    """Write the whole document in the place of `current`. Call it while the vault is locked."""
    require_whole(current)
    source = _source(vault, message_id)
    _require_room(vault, text, current)
    written = _written(vault, path, text, is_new=current is None, reason=_because(reason, source))
    _record(vault, [Written(action, path, written.version)], source=source, by_model=by_model)
    return written


def append(vault: Vault, path: str, text: str, *, version: str | None = None, reason: str = "") -> Document:
    """Write `text` behind the last line; raises as `write` does, and DocumentNotFoundError."""
    with _writing(vault):
        current = vault.read(path)
        _require_version(current, version)
        because = reason or f"Append to {path}"
        return _replace(vault, path, appended(current, text), current, reason=because, action="append")


def replace_lines(
    vault: Vault, path: str, text: str, *, line_start: int, line_end: int, expected: str, reason: str = ""
) -> Document:
    """Write `text` instead of the lines `line_start` to `line_end`, 1-based and inclusive.

    expected: what these lines say, without the last line's end. Raises VersionConflictError where they say something
    else, and what `append` raises.
    """
    with _writing(vault):
        current = vault.read(path)
        changed = with_lines(current, text, line_start=line_start, line_end=line_end, expected=expected)
        because = reason or f"Change {path}"
        return _replace(vault, path, changed, current, reason=because, action="replace_lines")


def appended(document: Document, text: str) -> str:
    """The text of the document with `text` behind its last line."""
    before = document.text if not document.text or document.text.endswith("\n") else document.text + "\n"
    return before + text


def with_lines(document: Document, text: str, *, line_start: int, line_end: int, expected: str) -> str:
    """The text of the document with `text` instead of these lines. Raises VersionConflictError as `replace_lines`."""
    lines = document.lines
    said = "\n".join(lines[line_start - 1 : line_end])
    if not 1 <= line_start <= line_end <= len(lines) or said != expected.removesuffix("\n"):
        raise VersionConflictError(document)
    changed = [*lines[: line_start - 1], *([text.removesuffix("\n")] if text else []), *lines[line_end:]]
    end = "\n" if document.text.endswith("\n") and changed else ""
    return "\n".join(changed) + end


def require_whole(document: Document | None) -> None:
    """Raises InvalidChangeError for a document whose text, written back, would lose something of its file."""
    if document is not None and not document.is_whole:
        raise InvalidChangeError(say("document_no_utf8"))


def require_place(vault: Vault, path: str) -> None:
    """Raises DocumentExistsError where no document can be made: it is a folder, or a file stands on the way to it.

    Raises PathRefusedError, too.
    """
    file = paths.file_of(vault.root, path)
    if file.is_dir():
        raise _exists(file)
    on_the_way = next(filter(os.path.lexists, file.parents))
    if not on_the_way.is_dir():
        raise DocumentExistsError(say("document_path_through"))


def version_with(text: str) -> str:
    """The version of a document that is written with this text. Raises InvalidChangeError, DocumentTooLargeError."""
    return version_of(_content(text))


def delete(
    vault: Vault,
    path: str,
    *,
    version: str | None = None,
    reason: str = "",
    message_id: str | None = None,
    by_model: bool = False,
) -> str:
    """Move the document into the vault's bin; where it lies now, relative to the vault. Raises as `append` does.

    message_id, by_model: as of `write`.
    """
    with _writing(vault):
        current = vault.read(path)
        _require_version(current, version)
        kept = paths.place_in_bin(path)
        _make_folder((vault.root / kept).parent)
        _move(paths.file_of(vault.root, path), vault.root / kept)
        vault.follow([path])
        source = _source(vault, message_id)
        _commit(vault, [path], reason=_because(reason or f"Delete {path}", source))
        _record(vault, [Written("delete", path, None)], source=source, by_model=by_model)
        return kept


def restore(vault: Vault, kept_at: str) -> Document:
    """Move a document out of the bin, back to its path.

    Raises PathRefusedError, DocumentNotFoundError, DocumentExistsError where its path is taken, VaultReadOnlyError.
    """
    with _writing(vault):
        path = paths.path_before_deletion(kept_at)
        kept, file = paths.binned_file(vault.root, kept_at), paths.file_of(vault.root, path)
        if os.path.lexists(file):
            raise _exists(file)
        _make_folder(file.parent)
        _move(kept, file)
        with suppress(OSError):
            kept.parent.rmdir()
        vault.follow([path])
        _commit(vault, [path], reason=f"Restore {path}")
        document = vault.read(path)
        _record(vault, [Written("restore", path, document.version)], source=None, by_model=False)
        return document


def rename(
    vault: Vault,
    path: str,
    new_path: str,
    *,
    version: str | None = None,
    reason: str = "",
    message_id: str | None = None,
    by_model: bool = False,
) -> Renamed:
    """Move the document; links that led to it are changed where they would no longer do so.

    message_id, by_model: as of `write`.

    Raises DocumentExistsError where `new_path` is taken, and what `append` raises.
    """
    with _writing(vault):
        current = vault.read(path)
        _require_version(current, version)
        old, new = paths.file_of(vault.root, path), paths.file_of(vault.root, new_path)
        if os.path.lexists(new) and not (old != new and old.samefile(new)):
            raise _exists(new)
        links: dict[tuple[str, str], set[str]] = defaultdict(set)
        for link in vault.backlinks(path):
            links[new_path if link.source == path else link.source, new_path].add(link.wikilink)
        for wikilink, target in _relative_links(vault, current):
            links[new_path, new_path if target == path else target].add(wikilink)
        _make_folder(new.parent)
        _move(old, new)
        vault.follow([path, new_path])
        vault.database.write(partial(follow_renamed, user_email=vault.user_email, path=path, new_path=new_path))
        changed = [source for source, target in sorted(links) if _follow(vault, source, links[source, target], target)]
        followed = list(dict.fromkeys(changed))
        source = _source(vault, message_id)
        because = _because(reason or f"Rename {path} to {new_path}", source)
        _commit(vault, [path, new_path, *followed], reason=because)
        document = vault.read(new_path)
        writes = [Written("rename", new_path, document.version, old_path=path)]
        writes += [Written("write", each, vault.read(each).version) for each in followed if each != new_path]
        _record(vault, writes, source=source, by_model=by_model)
        return Renamed(document=document, followed=followed)


def _relative_links(vault: Vault, document: Document) -> Iterator[tuple[str, str]]:
    """The links of a document that begin in its folder, and the documents to which they lead."""
    for link in vault.links_of(document):
        parsed = parse_wikilink(link.wikilink)
        if link.target is not None and parsed is not None and is_relative(parsed):
            yield link.wikilink, link.target


def _follow(vault: Vault, source: str, wikilinks: set[str], target: str) -> bool:
    """Change the links of one document that no longer lead to `target`; whether any was.

    One whose file is no UTF-8 stays as it is: writing its text would lose what could not be read.
    """
    document = vault.read(source)
    if not document.is_whole:
        return False
    text = document.text
    links = [link for link in find_wikilinks(text) if link.raw in wikilinks]
    lost = [
        link
        for link, found in zip(links, vault.resolve_many([link.raw for link in links], source=source), strict=True)
        if found.path != target
    ]
    if not lost:
        return False
    names = [without_extension(target.rpartition("/")[2]), without_extension(target), target]
    resolutions = vault.resolve_many([f"[[{name}]]" for name in names])
    fitting = zip(names, resolutions, strict=True)
    name = next((name for name, found in fitting if found.path == target and not found.ambiguous), target)
    for link in reversed(lost):
        text = text[: link.start] + _renamed(link, name) + text[link.end :]
    _written(vault, source, text, reason="")
    return True


def _renamed(link: Wikilink, name: str) -> str:
    """The link with another target; its anchor and its alias stay as they are written."""
    inside = link.raw[2:-2]
    ends = [place for sign in ("#", "\\|", "|") if (place := inside.find(sign)) >= 0]
    return f"[[{name}{inside[min(ends) :] if ends else ''}]]"


def _written(vault: Vault, path: str, text: str, *, is_new: bool = False, reason: str) -> Document:
    """Write, index and (with a reason) commit."""
    content = _content(text)
    file = paths.file_of(vault.root, path)
    _make_folder(file.parent)
    _put(file, content, is_new=is_new)
    document = index.read_document(vault.root, path)
    index.index_documents([document], database=vault.database, user_email=vault.user_email)
    if reason:
        _commit(vault, [path], reason=reason)
    return document


def _require_room(vault: Vault, text: str, current: Document | None) -> None:
    """Raises NoRoomError where the document grows and there is no room for it: one that shrinks is always written."""
    before = 0 if current is None else len(current.text.encode())
    if (more := len(_content(text)) - before) > 0:
        vault.require_room(more)


def _content(text: str) -> bytes:
    """What a file with this text holds."""
    try:
        content = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").encode()
    except UnicodeEncodeError:
        raise InvalidChangeError(say("half_a_character")) from None
    paths.require_size(len(content))
    return content


def _source(vault: Vault, message_id: str | None) -> Source | None:
    if message_id is None:
        return None
    return find_source(database=vault.database, user_email=vault.user_email, message_id=message_id)


def _because(reason: str, source: Source | None) -> str:
    """The message of a commit: the reason, and what names the answer out of which the change came.

    An answer that is being written has no short hash yet, and the first one no friendly id: then its conversation is
    named, or its id.
    """
    if source is None:
        return reason
    if source.friendly_id is None:
        named = f"/interface/{source.conversation_id}"
    elif source.short_hash is None:
        named = whole_reference(source.friendly_id)
    else:
        named = canonical_reference(source.friendly_id, source.short_hash)
    return f"{reason}\n\n{named}"


def _record(vault: Vault, writes: Sequence[Written], *, source: Source | None, by_model: bool) -> None:
    record_writes(database=vault.database, user_email=vault.user_email, writes=writes, source=source, by_model=by_model)


def _put(file: Path, content: bytes, *, is_new: bool) -> None:
    """Replace the file by one that is complete on the disk; a new one never replaces another. Raises the vault's."""
    scratch = file.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with scratch.open("xb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        if is_new:
            os.link(scratch, file)
        else:
            with suppress(OSError):
                scratch.chmod(file.stat().st_mode & 0o777)
            scratch.replace(file)
        flush_to_disk(file.parent)
    except FileExistsError:
        if file.is_dir():
            raise _exists(file) from None
        raise VersionMissingError from None  # another program made it meanwhile
    except OSError as error:
        raise VaultUnavailableError(f"The document can't be written: {error.strerror}.") from error
    finally:
        scratch.unlink(missing_ok=True)


def _exists(file: Path) -> DocumentExistsError:
    """The error for a path where something lies already."""
    return DocumentExistsError(say("document_path_folder" if file.is_dir() else "document_path_taken"))


def _move(file: Path, to: Path) -> None:
    try:
        file.rename(to)
        flush_to_disk(to.parent)
    except OSError as error:
        raise VaultUnavailableError(f"The document can't be moved: {error.strerror}.") from error


def _make_folder(folder: Path) -> None:
    """Make a folder with those above it. Raises DocumentExistsError where one of them is a file."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise DocumentExistsError(say("document_path_through")) from None
    except OSError as error:
        raise VaultUnavailableError(f"The folder can't be made: {error.strerror}.") from error


def _require_version(current: Document | None, version: str | None) -> None:
    if version is not None and (current is None or current.version != version):
        raise VersionConflictError(current)


@contextmanager
def _writing(vault: Vault) -> Iterator[None]:
    """One writer at a time, in whatever process. Raises VaultReadOnlyError, VaultBusyError, VaultUnavailableError."""
    if vault.read_only:
        raise VaultReadOnlyError
    lock, until = _locks.setdefault(vault.root, threading.Lock()), time.monotonic() + _PATIENCE
    with ExitStack() as holding:
        if not lock.acquire(timeout=_PATIENCE):
            raise VaultBusyError
        holding.callback(lock.release)
        try:
            holding.enter_context(locked_within(_lock_file(vault), seconds=until - time.monotonic()))
        except TimeoutError:
            raise VaultBusyError from None
        except OSError as error:
            raise VaultUnavailableError(f"The documents can't be locked: {error.strerror}.") from error
        yield


def _lock_file(vault: Vault) -> Path:
    """Beside the vaults: folders of the operator's choice may lie where there are no locks."""
    folder, root = vault.database.folder, vault.root
    # The data folder may have another path on another machine.
    name = root.relative_to(folder) if root.is_relative_to(folder) else root
    return folder / _LOCKS / hashlib.sha256(os.fsencode(name)).hexdigest()


def _commit(vault: Vault, changed: Sequence[str], *, reason: str) -> None:
    history.commit(vault.root, changed, reason=reason, is_own=not vault.is_mapped)
