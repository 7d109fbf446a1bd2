"""What a provider offers, asked for behind the page: whoever wants to know is told at once what is known so far."""

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
_FRESH = 300.0
_FAILURE_STANDS = 20.0
_TIMEOUT = 8.0
_TIMEOUTS = Timeouts(connect=4.0, answer=6.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedModels:
    """The names that a provider offers, as far as they are known.

    phase: "loading" while it is asked, "ready", or "failed" with the reason as a sentence in `detail`; the names that
    were known before stay.
    """

    phase: Literal["loading", "ready", "failed"]
    names: tuple[str, ...] = ()
    detail: str = ""


class ProviderList:
    """The models of one provider, asked again when what is known is older than five minutes, or failed a while ago."""

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, tuple[str, ...]]]) -> None:
        """`ask` raises the errors of `language_models.errors`; it runs on the loop of `language_models.blocking`."""
        self._ask = ask
        self._known = OfferedModels(phase="loading")
        self._asked_at: float | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def known(self) -> OfferedModels:
        """What is known now; never blocks."""
        with self._lock:
            is_asking = self._thread is not None and self._thread.is_alive()
            if not is_asking and self._is_stale():
                self._asked_at = time.monotonic()
                self._thread = threading.Thread(target=self._refresh, name="provider-models", daemon=True)
                self._thread.start()
            return self._known

    def _is_stale(self) -> bool:
        if self._asked_at is None:
            return True
        lasting = _FAILURE_STANDS if self._known.phase == "failed" else _FRESH
        return time.monotonic() - self._asked_at > lasting

    def _refresh(self) -> None:
        try:
            names = blocking.run(self._ask(), timeout=_TIMEOUT)
            known = OfferedModels(phase="ready", names=tuple(dict.fromkeys(names)))
        except ModelError as error:
            known = OfferedModels(phase="failed", names=self._known.names, detail=error.message)
        except Exception:  # who waits for the list is not to wait for ever
            log.exception("a provider's list of models could not be had")
            detail = "The list of models could not be had; the server's log says why."
            known = OfferedModels(phase="failed", names=self._known.names, detail=detail)
        with self._lock:
            self._known = known


async def offered_models(*, base_url: str, api_key: str | None) -> tuple[str, ...]:
    """Names of the models that a provider offers. Raises the errors of `language_models.errors`."""
    provider = ProviderChatModel(base_url=base_url, api_key=api_key, model="its list of models", timeouts=_TIMEOUTS)
    try:
        return await provider.models()
    finally:
        await provider.aclose()
