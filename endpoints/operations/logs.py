"""The server's log: one line per event, as text or JSON."""

from __future__ import annotations

import logging
from typing import Any

import orjson

import tracing
from database.engine.clock import now_iso

_FIELDS = ("request_id", "method", "route", "status")
"""Fields that a record may have beside its message, by `extra`. What is logged of a turn has its request's id."""


class TextLines(logging.Formatter):
    """Time, level, logger, message and fields in one line, and the traceback below it where there is one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """The line without the traceback. Line breaks in a message are escaped."""
        line = super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n")
        return " ".join([line, *(f"{name}={field}" for name, field in _fields_of(record).items())])


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, fields, and the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """`record` as a line."""
        line = {"time": now_iso(), "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        line |= _fields_of(record)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(line).decode()


def _fields_of(record: logging.LogRecord) -> dict[str, Any]:
    fields = {name: vars(record)[name] for name in _FIELDS if name in vars(record)}
    began_by = tracing.began_by.get()
    return fields if began_by is None else {"request_id": began_by} | fields


def write_logs_as(log_format: str) -> None:
    """Log to standard error as "text" or "json"."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
