"""The server's log: one line an event, as text or as JSON."""

from __future__ import annotations

import logging

import orjson

from database.clock import now_iso


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """`record` as a line."""
        line = {"time": now_iso(), "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(line).decode()


def write_logs_as(log_format: str) -> None:
    """Log to standard error as "text" or "json"."""
    handler = logging.StreamHandler()
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if log_format == "json" else text)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
