"""What one endpoint calls the request fields, learned from its own refusals."""

from __future__ import annotations

from typing import Any

from language_models.refusals import AttemptFailedError

_DISPENSABLE = ("stream_options", "temperature", "stop")


class Dialect:
    """Compatible endpoints differ in a few fields; the first refusal that names one is remembered."""

    def __init__(self) -> None:
        self._left_out: set[str] = set()
        self._renames_max_tokens = False

    def spoken(self, body: dict[str, Any]) -> dict[str, Any]:
        """`body` as this endpoint wants it."""
        spoken = {field: value for field, value in body.items() if field not in self._left_out}
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
        for field in _DISPENSABLE:
            if field in spoken and (failure.parameter == field or f"'{field}'" in said):
                self._left_out.add(field)
                return True
        return False
