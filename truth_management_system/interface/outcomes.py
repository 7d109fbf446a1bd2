"""How an action's end becomes an `ActionResult`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec

from ..changes import watching
from ..errors import KnowledgeError
from ..results import ActionResult

log = logging.getLogger(__name__)
P = ParamSpec("P")
UNEXPECTED = "internal_error"
"""The `error_code` of what nobody foresaw."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action that succeeded gives."""

    data: Any = None
    object_id: str | None = None
    warnings: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


def outcome(action: str, object_type: str) -> Callable[[Callable[P, Outcome]], Callable[P, ActionResult]]:
    """Make a method that gives an Outcome, or raises, give an ActionResult.

    Its metadata has `audit_id` where something was changed; where it failed, `error_code`, `details` and the `error`
    itself. What is no KnowledgeError is logged, since it is nobody's input but a fault.
    """

    def decorate(method: Callable[P, Outcome]) -> Callable[P, ActionResult]:
        @wraps(method)
        def act(*args: P.args, **kwargs: P.kwargs) -> ActionResult:
            try:
                with watching() as written:
                    done = method(*args, **kwargs)
            except KnowledgeError as error:
                return _failed(action, object_type, error.message, error, error.code, error.details)
            except Exception as error:
                log.exception("%s %s failed", action, object_type)
                sentence = "This could not be done with what was given. Nothing was changed."
                return _failed(action, object_type, sentence, error, UNEXPECTED, {})
            audit = {"audit_id": written[-1]} if written else {}
            return ActionResult(
                True,
                action,
                object_type,
                object_id=done.object_id,
                data=done.data,
                warnings=list(done.warnings),
                metadata={**audit, **done.metadata},
            )

        return act

    return decorate


def _failed(
    action: str, object_type: str, sentence: str, error: Exception, code: str, details: Mapping[str, Any]
) -> ActionResult:
    metadata = {"error_code": code, "details": details, "error": error}
    return ActionResult(False, action, object_type, errors=[sentence], metadata=metadata)
