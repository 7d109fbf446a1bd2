"""A streamed answer, taken whole."""

from __future__ import annotations

from collections.abc import AsyncIterator

from language_models.ports import Completion, Delta, Usage


async def collected(stream: AsyncIterator[Delta]) -> Completion:
    """The text of all steps joined, with the usage and finish reason that came last."""
    texts: list[str] = []
    usage = Usage()
    finish_reason = "stop"
    async for delta in stream:
        texts.append(delta.text)
        usage = delta.usage or usage
        finish_reason = delta.finish_reason or finish_reason
    return Completion(text="".join(texts), usage=usage, finish_reason=finish_reason)
