"""Every answer as a line of JSON, so that a run that was killed goes on with what is missing."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .product import Answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One answer. model: its setting; commit: of the code that answered; answered_at: ISO 8601."""

    question_id: str
    arm: str
    model: str
    commit: str
    answered_at: str
    answered: Answered

    @property
    def key(self) -> tuple[str, str, str]:
        """What is answered once."""
        return self.model, self.arm, self.question_id

    @property
    def is_complete(self) -> bool:
        """Whether the model came to its end; if not, the question is asked again by the next run."""
        return self.answered.status == "complete"


class Records:
    """The records in a file, the last one of each key; each is on the disk before the next question is asked."""

    def __init__(self, file: Path) -> None:
        """`file`: made where it is missing. A last line that a kill cut short is dropped."""
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        written = file.read_bytes() if file.exists() else b""
        whole = written[: written.rfind(b"\n") + 1]
        if whole != written:
            os.truncate(file, len(whole))
        self._by_key = {record.key: record for record in map(_read, whole.splitlines())}

    def all(self) -> list[Record]:
        """The records."""
        return list(self._by_key.values())

    def has(self, key: tuple[str, str, str]) -> bool:
        """Whether there is a complete answer."""
        return key in self._by_key and self._by_key[key].is_complete

    def add(self, record: Record) -> None:
        """Write a record."""
        with self._file.open("ab") as file:
            file.write(json.dumps(asdict(record), ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._by_key[record.key] = record


def _read(line: bytes) -> Record:
    stored: dict[str, Any] = json.loads(line)
    return Record(**{**stored, "answered": Answered(**stored["answered"])})
