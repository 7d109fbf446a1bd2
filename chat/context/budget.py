"""How much goes with a message: what the model's window has room for, and what the model can read in time."""

from __future__ import annotations

from collections.abc import Sequence

from chat.exchange.turn import Turn
from chat.prompting.items import PkbItem, fit, render
from chat.prompting.prompt import CHARS_A_TOKEN, context_chars

_SMALLEST_CONTEXT = 4_000
_SHARE = 4
"""What was found unasked takes this part of the room at most: the rest is for the conversation."""
_LEAST = 64
"""That part of the window is given to it however slow the model is: of a machine that is busy now, answers are late
anyway, and without what was found they would be wrong as well."""
_SEARCHING = 0.3
"""Seconds of the patience that the search itself may take, with its models loaded."""
_SHORTEST_EXCERPT = 200
"""Characters. What would have to be cut shorter is left out."""


def max_context_chars(turn: Turn) -> int:
    """How many characters of context this turn's model can take beside the question itself."""
    files = turn.files.rendered(turn.model, cap=turn.services.file_cap)
    taken = len(turn.question) + len(files) + turn.preferences.chars(turn.model) + turn.options.chars(turn.model)
    return max(_SMALLEST_CONTEXT, context_chars(turn.model) - taken)


def tokens_for_found(turn: Turn, *, beside: Sequence[PkbItem]) -> int:
    """How many tokens of what nobody named the model of `turn` is given beside these items.

    A share of what they leave of the window, and no more than the model reads within the patience of the server, by
    its measured speed; but for the little that every model is given.
    """
    left = max_context_chars(turn) - len(render(beside))
    tokens = max(0, left) // _SHARE // CHARS_A_TOKEN
    reading = turn.model.speed().reading
    if reading is None:
        return tokens
    in_time = int(max(0.0, turn.services.distill_patience - _SEARCHING) * reading)
    return min(tokens, max(in_time, turn.model.context_window // _LEAST))


def first_that_fit(items: Sequence[PkbItem], turn: Turn, *, tokens: int) -> list[PkbItem]:
    """As many of `items`, best first, as `tokens` have room for; the longest of them are cut to one common length.

    Rather than to cut an item to a few words, the last ones are left out.
    """
    kept = list(items)
    while kept:
        rendered = render(kept)
        counted = turn.model.count_tokens(rendered)
        if counted <= tokens:
            return kept
        chars = int(len(rendered) * tokens / counted)
        fitted, shortened = fit(kept, chars)
        if len(render(fitted)) <= chars and all(len(item.body) >= _SHORTEST_EXCERPT for item in shortened):
            return fitted
        kept.pop()
    return []
