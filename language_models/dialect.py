"""What one endpoint calls the request fields, learned from its own refusals."""

from __future__ import annotations

import re
from typing import Any

from language_models.errors import ContextTooLongError
from language_models.refusals import AttemptFailedError

_DISPENSABLE = ("stream_options", "temperature", "stop")
_UNKNOWN_LIMIT = 4_096
"""For an endpoint that wants a limit, of a model whose own is not known."""
_FEWEST = 256
_AT_MOST = re.compile(r"\d[\d,]*")


class Dialect:
    """Compatible endpoints differ in a few fields; the first refusal that names one is remembered."""

    def __init__(self, *, answer_limit: int | None = None, wants_limit: bool = False) -> None:
        """`answer_limit`: the model's own, in tokens. `wants_limit`: requests without one are refused."""
        self._left_out: set[str] = set()
        self._renames_max_tokens = False
        self._wants_limit = wants_limit
        self._answer_limit = answer_limit

    def spoken(self, body: dict[str, Any]) -> dict[str, Any]:
        """`body` as this endpoint wants it."""
        spoken = {field: value for field, value in body.items() if field not in self._left_out}
        if self._wants_limit:
            spoken.setdefault("max_tokens", self._answer_limit or _UNKNOWN_LIMIT)
        if "max_tokens" in spoken and self._answer_limit:
            spoken["max_tokens"] = min(spoken["max_tokens"], self._answer_limit)
        if self._renames_max_tokens and "max_tokens" in spoken:
            spoken["max_completion_tokens"] = spoken.pop("max_tokens")
        return spoken

    def learns_from(self, failure: AttemptFailedError, spoken: dict[str, Any]) -> bool:
        """Whether the refusal of `spoken` named a field that can be left out or renamed; then speak again.

        What counts is what was said: another request may have taught the same lesson meanwhile.
        """
        said = failure.error.message
        if "max_tokens" in spoken and "max_completion_tokens" in said:
            self._renames_max_tokens = True
            return True
        if isinstance(failure.error, ContextTooLongError):
            return False
        if failure.parameter == "max_tokens" or "max_tokens" in said or "max_completion_tokens" in said:
            return self._learns_limit(said, spoken)
        for field in _DISPENSABLE:
            if field in spoken and (failure.parameter == field or f"'{field}'" in said):
                self._left_out.add(field)
                return True
        return False

    def _learns_limit(self, said: str, spoken: dict[str, Any]) -> bool:
        """A refusal of the limit itself: it is missing, or larger than the model can write."""
        sent = spoken.get("max_tokens", spoken.get("max_completion_tokens"))
        if sent is None:
            self._wants_limit = True
            return True
        allowed = [int(figure.replace(",", "")) for figure in _AT_MOST.findall(said)]
        allowed = [figure for figure in allowed if _FEWEST <= figure < sent]
        if allowed:
            self._answer_limit = max(allowed)
        return bool(allowed)
