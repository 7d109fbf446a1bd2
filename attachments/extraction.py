"""Reading an untrusted file: in a child process that has no more memory and time than it is given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from sentences import say

from .errors import FileTooLargeError, FileTypeError
from .reading_child import text_meta

CHILD = Path(__file__).with_name("reading_child.py")
TEXT = "text.json"
PICTURE = "picture"
_META = "meta.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one child process. memory: megabytes. cpu, time: seconds of the processor and of the clock."""

    memory: int = 1024
    cpu: int = 30
    time: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What is known of a file. kind: text, pdf, docx, xlsx, odt, pptx, image. width, height: of an upright picture.

    problem: why there is no text or not all of it: no_text, encrypted, damaged, too_costly, cut; encoding: it may be
    read wrongly; "" for none.
    """

    media_type: str
    kind: str
    pages: int | None = None
    characters: int | None = None
    lines: int | None = None
    width: int | None = None
    height: int | None = None
    problem: str = ""


def extract(file: Path, name: str, *, into: Path, limits: Limits | None = None, child: Path = CHILD) -> Extracted:
    """What `file`, called `name`, is; its text and picture are written into the folder `into`.

    Raises FileTypeError, FileTooLargeError.
    """
    limits = limits or Limits()
    command = [sys.executable, "-I", str(child), str(file), name, str(into), str(limits.memory), str(limits.cpu)]
    _run(command, into, seconds=limits.time)
    return _extracted(_meta(into), has_picture=(into / PICTURE).is_file())


def keep_text(text: str, name: str, *, into: Path) -> Extracted:
    """A file of which only its text is there: nothing has to be read, so no process is started."""
    return _extracted(text_meta(text, name, into), has_picture=False)


def _run(command: list[str], folder: Path, *, seconds: float) -> None:
    """Run until the end, or until the time is over; how it ended is seen by what it wrote."""
    environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "LANG": "C.UTF-8"}
    process = subprocess.Popen(  # noqa: S603 - our own script
        command,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _meta(folder: Path) -> Mapping[str, Any]:
    try:
        meta: Mapping[str, Any] = orjson.loads((folder / _META).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {"refused": "unsupported"}
    return meta


def _extracted(meta: Mapping[str, Any], *, has_picture: bool) -> Extracted:
    refused = meta.get("refused")
    if refused == "too_many_pixels":
        raise FileTooLargeError(say("picture_too_large"))
    if refused == "damaged_picture" or (meta.get("kind") == "image" and not has_picture):
        raise FileTypeError(say("picture_damaged"))
    if refused:
        raise FileTypeError(say("file_type_unknown"))
    return Extracted(**{name: meta[name] for name in Extracted.__dataclass_fields__ if name in meta})
