"""Finding what goes with a message unasked, once its report was told: an embedding model may have to be asked first.

The first event of a turn never waits for that model. Where the model takes too long, words alone have to do, and the
turns that follow don't wait for it again (`language_models.circuit_breaker`).
"""

from __future__ import annotations

from chat.exchange.turn import Turn
from chat.processes.threads import in_thread
from language_models.circuit_breaker import begin, settled
from language_models.ports import EmbeddingModel
from search.embedding import query_vectors
from search.relevance import unrelated_for

from .budget import max_context_chars
from .gather import GatheredContext, KeepReport, fitted
from .memories import embedding_model, knowledge_request, memories_among
from .related import searched_for, wants_documents, wants_messages


async def completed(turn: Turn, context: GatheredContext, keep: KeepReport) -> GatheredContext:
    """The context with what `context.find` finds; `keep` stores the report if there is more to tell."""
    if context.find is None:
        return context
    model = embedding_model(turn)
    if model is not None:
        # No thread of the turns waits for the model; the vectors are remembered for the searches.
        await settled(model, begin(model, _prepare, turn, model), within=turn.services.embedding_patience)
    return await in_thread(_completed, turn, context, keep)


def _completed(turn: Turn, context: GatheredContext, keep: KeepReport) -> GatheredContext:
    found = fitted(context.with_found(), max_context_chars(turn))
    if found.report != context.report:
        found.keep_with(keep)
    if memories := memories_among(found.items):
        turn.config["memories"] = memories
    return found


def _prepare(turn: Turn, model: EmbeddingModel) -> None:
    """Have the vectors made that the searches for `turn` need. Raises the errors of `language_models.errors`."""
    queries = [searched_for(turn)] if wants_messages(turn) or wants_documents(turn) else []
    if turn.services.knowledge is not None and turn.services.knowledge_limits.found:
        queries.append(knowledge_request(turn, summary=turn.summary).searched_for())
    if wanted := [query for query in dict.fromkeys(queries) if query]:
        query_vectors(model, wanted)
        unrelated_for(model)
