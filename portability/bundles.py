"""The portable form of a conversation: `<id>.index`, `<id>-messages.json`, `<id>-memory.json` in one folder.

The files of its messages lie beside them, at `attachments/<attachment_id>/<name>`.
"""

from __future__ import annotations

import io
import json
import logging
import os
import pickle
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from database.engine.errors import ConversationNotFoundError
from database.history.references import NamedConversation

from .archived_files import ATTACHMENTS, ArchivedFile, file_chunks, packed
from .errors import BrokenBundleError, BundleError, BundleNotFoundError, UnsafeBundleError
from .scratch import remove_abandoned, scratch_folder

_SCRATCH = "anaphora-zipped-"
_Types = Mapping[str, type | tuple[type, ...]]

_PERHAPS_TEXT = (str, type(None))

_INDEX: _Types = {"conversation_id": str, "user_id": str, "domain": str}
_INDEX_MAYBE: _Types = {"created_at": _PERHAPS_TEXT, "conversation_friendly_id": _PERHAPS_TEXT}
_MEMORY_MAYBE: _Types = {
    "title": str,
    "title_force_set": (bool, int),
    "conversation_friendly_id": _PERHAPS_TEXT,
    "running_summary": str,
    "summarised_messages": int,
    "created_at": str,
    "last_updated": str,
    "settings": dict,
    "tags": list,
}
_MESSAGE: _Types = {"message_id": str, "sender": str, "text": str}
_MESSAGE_MAYBE: _Types = {
    "message_short_hash": _PERHAPS_TEXT,
    "short_id": str,
    "status": str,
    "show_hide": str,
    "config": (dict, type(None)),
    "references": list,
    "parts": list,
    "document_references": list,
    "branch_id": _PERHAPS_TEXT,
    "branch_of": _PERHAPS_TEXT,
    "chosen_branch": (int, type(None)),
    "deleted_at": _PERHAPS_TEXT,
    "source_agent_title": _PERHAPS_TEXT,
}
_PART: _Types = {"id": int, "kind": str, "at": int}
_DOCUMENT: _Types = {"wikilink": str, "reference_type": str}
_DOCUMENT_MAYBE: _Types = dict.fromkeys(
    ("relative_path", "summary", "context_snippet", "anchor", "via_tool"), _PERHAPS_TEXT
)
log = logging.getLogger(__name__)
C = TypeVar("C")


def check_index(state: Mapping[str, Any], *, name: str) -> None:
    """Raise BrokenBundleError unless `state`, the index of the file `name`, names a conversation and its owner."""
    _check(state, _INDEX, name=name)
    _check(state, _INDEX_MAYBE, name=name, may_lack=True)


def check_memory(memory: Mapping[str, Any], *, name: str) -> None:
    """Raise BrokenBundleError where something in `memory`, read from the file `name`, has the wrong type."""
    _check(memory, _MEMORY_MAYBE, name=name, may_lack=True)


def check_messages(messages: Sequence[Any], *, name: str) -> None:
    """Raise BrokenBundleError unless each of `messages`, read from the file `name`, has an id, a sender and a text."""
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            raise BrokenBundleError(f"{name} holds something else than a message in place {number}.")
        _check(message, _MESSAGE, name=name)
        _check(message, _MESSAGE_MAYBE, name=name, may_lack=True)
        for part in message.get("parts", ()):
            _check(part if isinstance(part, dict) else {}, _PART, name=name)
        for document in message.get("document_references", ()):
            _check(document if isinstance(document, dict) else {}, _DOCUMENT, name=name)
            _check(document, _DOCUMENT_MAYBE, name=name, may_lack=True)


def _check(given: Mapping[str, Any], types: _Types, *, name: str, may_lack: bool = False) -> None:
    for name_of_field, expected in types.items():
        if name_of_field not in given and may_lack:
            continue
        if not isinstance(given.get(name_of_field), expected):
            raise BrokenBundleError(f"{name} is damaged: its {name_of_field} is missing or of the wrong type.")


FORMAT = "anaphora-conversation"
PLAIN_VERSION = 1
BRANCHED_VERSION = 2
"""Of a bundle whose messages lie in several branches: programs that read version 1 alone would mix them."""

_SAFE_ID = re.compile(r"[^/\\\x00]+")


@dataclass(slots=True, kw_only=True)
class Bundle:
    """A whole conversation in memory. messages: in the shape of the message list."""

    conversation_id: str
    user_id: str
    domain: str
    memory: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    folder: Path | None = None


def save_bundle(
    folder: Path,
    *,
    conversation_id: str,
    user_id: str,
    domain: str,
    memory: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
) -> Path:
    """Write a bundle into `folder`, each file atomically, the index last.

    Raises OSError, BrokenBundleError.
    """
    import dill  # while it is imported it looks for room for temporary files: a server starts on a full disk, too

    if not _SAFE_ID.fullmatch(conversation_id) or conversation_id in {".", ".."}:
        raise BrokenBundleError("This conversation id can't be the name of a file.")
    folder.mkdir(parents=True, exist_ok=True)
    has_branches = any("branch_of" in message for message in messages)
    state = {
        "format": FORMAT,
        "version": BRANCHED_VERSION if has_branches else PLAIN_VERSION,
        "conversation_id": conversation_id,
        "user_id": user_id,
        "domain": domain,
        "created_at": memory.get("created_at", ""),
        "conversation_friendly_id": memory.get("conversation_friendly_id", ""),
    }
    _write(folder / f"{conversation_id}-messages.json", _json(list(messages)))
    _write(folder / f"{conversation_id}-memory.json", _json(dict(memory)))
    _write(folder / f"{conversation_id}.index", dill.dumps(state, protocol=4))
    return folder


def bundle_of(folder: Path, *, user_id: str, conversation_id: str, domain: str) -> Bundle:
    """The bundle in `folder`, or an empty bundle to be saved there.

    Raises ConversationNotFoundError for another user's bundle, BundleError for an unreadable one.
    """
    if not (folder / f"{conversation_id}.index").exists():
        return Bundle(conversation_id=conversation_id, user_id=user_id, domain=domain)
    bundle = load_bundle(folder)
    if bundle.user_id != user_id:
        raise ConversationNotFoundError
    return bundle


def load_bundle(folder: Path) -> Bundle:
    """Read the bundle in `folder`, which is left untouched.

    Raises BundleNotFoundError, UnsafeBundleError, BrokenBundleError.
    """
    state = read_index(folder)
    conversation_id = state["conversation_id"]
    memory = _read_json(folder / f"{conversation_id}-memory.json", dict)
    check_memory(memory, name=f"{conversation_id}-memory.json")
    messages = _read_json(folder / f"{conversation_id}-messages.json", list)
    check_messages(messages, name=f"{conversation_id}-messages.json")
    return Bundle(
        conversation_id=conversation_id,
        user_id=state["user_id"],
        domain=state["domain"],
        memory=memory,
        messages=messages,
        folder=folder,
    )


def read_index(folder: Path) -> dict[str, Any]:
    """The plain state in the index of `folder`'s bundle: format, version, ids, owner, domain, created_at.

    Raises BundleNotFoundError, UnsafeBundleError, BrokenBundleError.
    """
    found = sorted(folder.glob("*.index")) if folder.is_dir() else []
    if len(found) != 1:
        raise BundleNotFoundError(f"{folder.name} holds {len(found)} conversation bundles where one was expected.")
    state = _unpickle(found[0].read_bytes())
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise BrokenBundleError(f"{found[0].name} is no index of a conversation.")
    if state.get("version") not in {PLAIN_VERSION, BRANCHED_VERSION}:
        known = f"{PLAIN_VERSION} and {BRANCHED_VERSION}"
        raise BrokenBundleError(f"{found[0].name} has version {state.get('version')}; this program reads {known}.")
    check_index(state, name=found[0].name)
    if f"{state['conversation_id']}.index" != found[0].name:
        raise BrokenBundleError(f"{found[0].name} belongs to another conversation.")
    return state


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler that builds containers, strings and numbers only.

    Names of classes and functions are refused before they are looked up.
    """

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        raise UnsafeBundleError(f"The index names {module_name}.{global_name}: a bundle holds plain data only.")

    def persistent_load(self, pid: Any) -> Any:
        raise UnsafeBundleError("The index refers to something outside of itself: a bundle holds plain data only.")


def _unpickle(data: bytes) -> Any:
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except UnsafeBundleError:
        raise
    except Exception as error:  # a damaged pickle raises nearly anything
        raise BrokenBundleError(f"The index can't be read: {error}") from error


def _read_json(path: Path, kind: type) -> Any:
    try:
        value = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except FileNotFoundError as error:
        raise BrokenBundleError(f"{path.name} is missing.") from error
    except (ValueError, RecursionError) as error:
        raise BrokenBundleError(f"{path.name} is no JSON: {error}") from error
    if not isinstance(value, kind):
        raise BrokenBundleError(f"{path.name} holds no {kind.__name__}.")
    return value


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", errors="surrogatepass")


def _write(path: Path, data: bytes) -> None:
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def keep_file(original: Path, place: Path) -> None:
    """Copy a file of a message to its place in a bundle, unless it is there. Raises OSError."""
    if place == original or place.is_file():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=place.parent, prefix=".")
    os.close(descriptor)
    try:
        shutil.copyfile(original, draft)
        Path(draft).replace(place)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def files_beside(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """The id, the place in the bundle and the path of each file of messages in `folder`; no symbolic links."""
    for path in sorted((folder / ATTACHMENTS).glob("*/*")):
        if path.is_file() and not path.is_symlink() and not path.parent.is_symlink() and not path.name.startswith("."):
            yield path.parent.name, path.relative_to(folder).as_posix(), path


def zipped_bundle(conversation_id: str, save: Callable[[Path], object]) -> Iterator[bytes]:
    """A ZIP of the bundle that `save` writes into a folder, packed while it is sent."""
    remove_abandoned(Path(tempfile.gettempdir()), prefix=_SCRATCH)
    with scratch_folder(Path(tempfile.gettempdir()), prefix=_SCRATCH) as parent:
        folder = parent / conversation_id
        save(folder)
        found = sorted(path for path in folder.rglob("*") if path.is_file())
        places = ((path.relative_to(parent).as_posix(), path) for path in found)
        yield from packed(ArchivedFile(path=place, chunks=file_chunks(path)) for place, path in places)


def siblings_by_friendly_id(
    folder: Path, friendly_ids: Sequence[str], *, user_email: str
) -> dict[str, NamedConversation]:
    """The bundles of `user_email` in the folders of `folder` that bear one of `friendly_ids`.

    Broken bundles are logged and skipped, those of other users skipped.
    """
    wanted, found = set(friendly_ids), {}
    for place in sorted(folder.iterdir()) if folder.is_dir() else []:
        try:
            state = read_index(place)
        except BundleNotFoundError:
            continue
        except (BundleError, OSError) as error:
            log.warning("the bundle in %s is passed over: %s", place.name, error)
            continue
        friendly_id = state.get("conversation_friendly_id")
        if state.get("user_id") == user_email and friendly_id in wanted:
            found[friendly_id] = NamedConversation(conversation_id=place.name, title="", deleted=False)
    return found


def load_sibling(folder: Path, conversation_id: str, *, user_email: str, open_bundle: Callable[[Path], C]) -> C:
    """Open the bundle of `conversation_id` in `folder`.

    Raises ConversationNotFoundError for a missing or foreign one.
    """
    place = folder / conversation_id
    try:
        if place.parent != folder or read_index(place)["user_id"] != user_email:
            raise ConversationNotFoundError
        return open_bundle(place)
    except (BundleError, OSError) as error:
        raise ConversationNotFoundError from error
