"""The models that a provider offers, requested in the background."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from language_models import blocking
from language_models.errors import ModelError
from language_models.openai.chat import ProviderChatModel
from language_models.openai.client import Timeouts

log = logging.getLogger(__name__)
_FRESH_SECONDS = 300.0
_FAILURE_SECONDS = 20.0
_TIMEOUT = 8.0
_TIMEOUTS = Timeouts(connect=4.0, answer=6.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedModels:
    """The names of a provider's models, as far as they are known.

    phase: "loading" during the first request, "ready", or "failed" with the reason as a sentence in `detail`; a failure
    keeps the names that were known before.
    """

    phase: Literal["loading", "ready", "failed"]
    names: tuple[str, ...] = ()
    detail: str = ""


class ProviderList:
    """The models of one provider; requested again after five minutes, or 20 seconds after a failure."""

    def __init__(self, request: Callable[[], Coroutine[Any, Any, tuple[str, ...]]]) -> None:
        """`request` runs on the loop of `language_models.blocking`; raises errors of `language_models.errors`."""
        self._request = request
        self._known = OfferedModels(phase="loading")
        self._requested_at: float | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def known(self) -> OfferedModels:
        """What is known now; never blocks."""
        with self._lock:
            is_running = self._thread is not None and self._thread.is_alive()
            if not is_running and self._is_stale():
                self._requested_at = time.monotonic()
                self._thread = threading.Thread(target=self._refresh, name="provider-models", daemon=True)
                self._thread.start()
            return self._known

    def _is_stale(self) -> bool:
        if self._requested_at is None:
            return True
        lifetime = _FAILURE_SECONDS if self._known.phase == "failed" else _FRESH_SECONDS
        return time.monotonic() - self._requested_at > lifetime

    def _refresh(self) -> None:
        try:
            names = blocking.run(self._request(), timeout=_TIMEOUT)
            known = OfferedModels(phase="ready", names=tuple(dict.fromkeys(names)))
        except ModelError as error:
            known = OfferedModels(phase="failed", names=self._known.names, detail=error.message)
        except Exception:  # without a result, the page would show "loading" for ever
            log.exception("a provider's model list could not be requested")
            detail = "The list of models could not be had; the server's log says why."
            known = OfferedModels(phase="failed", names=self._known.names, detail=detail)
        with self._lock:
            self._known = known


async def offered_models(
    *, base_url: str, api_key: str | None, kind: type[ProviderChatModel] = ProviderChatModel
) -> tuple[str, ...]:
    """Names of the models that a provider offers to models of `kind`. Raises the errors of `language_models.errors`."""
    provider = kind(base_url=base_url, api_key=api_key, model="its list of models", timeouts=_TIMEOUTS)
    try:
        return await provider.models()
    finally:
        await provider.aclose()
