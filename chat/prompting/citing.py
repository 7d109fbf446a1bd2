"""Marks before the messages of the history, so that models can cite them: `[#121248] [2025-11-12T16:06:30] Ada: …`.

A model that goes on in the style of what it read begins its answer with such a mark; `MarkRemover` takes that away.
Models with small windows get no marks: each takes 30 to 55 tokens, and small models begin their answers with marks
that they make up (the embedded one of 0.5B in four of six answers, beside worse answers).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from conversation_reference_utils import is_activity_name, parse_references
from database.messages.message import Message
from language_models.ports import ChatModel

SMALLEST_WINDOW = 16_000
"""Tokens. A model with a smaller window is shown no marks."""

_LONGEST_NAME = 60
_MOST_CITED = 50
_SECONDS = len("2025-11-12T16:06:30")
UNNAMED = "User"
"""What a person without a name is called."""

_ASSISTANT = "Assistant"

_ID = re.compile(r"\s{0,8}\[#(?P<digits>[0-9a-fA-F]{3,32})\]")
_SHORTEST_ID = 6
_ID_BEGUN = re.compile(r"\s{0,8}(?:\[(?:#[0-9a-fA-F]{0,32})?)?")
_TIME = re.compile(r"[ \t]{0,8}\[[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{5,8}(?:\.[0-9]{1,6})?Z?\]")
_TIME_BEGUN = re.compile(r"[ \t]{0,8}(?:\[[0-9T:.Z -]{0,28})?")
_SPACE = re.compile(r"\s{0,8}")
_BLANKS = re.compile(r"[ \t]{0,8}")
# Whatever a reader may take for the beginning of a line, and for nothing between that and a mark: white space that ends
# no line, the format characters of Unicode, and characters that look like neither more nor less.
_LINE_ENDS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_UNSEEN = (
    r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    r"\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_BLANK = rf"(?:[^\S{_LINE_ENDS}]|[{_UNSEEN}])"
_LIKE_A_MARK = re.compile(rf"(?:^|(?<=[{_LINE_ENDS}]))(?={_BLANK}*\[#[0-9a-fA-F]{{6}})")
_INDENT = "  "


def shows_marks(model: ChatModel) -> bool:
    """Whether `model` is shown the ids of messages, and told how to cite them."""
    return model.context_window >= SMALLEST_WINDOW


def indented(text: str) -> str:
    """`text` with each line indented that begins like a mark: no message can pretend to be another one.

    All other lines stay as they are, byte for byte: the code in a message keeps its place.
    """
    return _LIKE_A_MARK.sub(_INDENT, text) if "[#" in text else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Marks messages. user: how the person is called; "" where that is not known."""

    user: str = ""

    def name_of(self, message: Message) -> str:
        """How the sender of a message is called in its mark."""
        if message["sender"] == "user":
            name = message.get("source_agent_title") or self.user or UNNAMED
        else:
            name = message.get("agent_title") or message.get("model") or _ASSISTANT
        return _one_line(str(name))

    def marked(self, message: Message, text: str) -> str:
        """`text`, which `message` says, behind the mark of that message. It depends on nothing that changes later."""
        if not message.get("short_id"):
            return indented(text)
        time = str(message.get("created_at") or "")[:_SECONDS]
        return f"[#{message['short_id']}] [{time}] {self.name_of(message)}: {indented(text)}"

    def names_in(self, history: Iterable[Message], *others: str) -> frozenset[str]:
        """The names with which a model may begin a mark of its own: those in the history, and `others`."""
        return frozenset(map(_one_line, {*map(self.name_of, history), *others, self.user or UNNAMED, _ASSISTANT}))


def cited_names(answer: str) -> list[str]:
    """The ids that an answer cites, with their `#`, each once; colours may be among them."""
    return [name for name in parse_references(answer).friendly_ids if is_activity_name(name)][:_MOST_CITED]


def _one_line(name: str) -> str:
    return " ".join(name.split())[:_LONGEST_NAME]


class MarkRemover:
    """Takes the marks away with which a streamed answer begins, however the stream is cut into pieces.

    names: those that may stand in the mark. Text is held back only as long as it may belong to a mark.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        # The shortest first: more text never makes another one fit better.
        self._names = tuple(sorted(filter(None, names), key=len))
        self._held = ""
        self._is_over = False

    def take(self, text: str) -> str:
        """What can be shown of the answer now that `text` has come."""
        if self._is_over or not text:
            return text
        self._held += text
        end = _end_of_marks(self._held, self._names, is_whole=False)
        return "" if end is None else self._shown(end)

    def rest(self) -> str:
        """What was held back, now that nothing more comes. An answer that is nothing but a mark stays as it is."""
        if self._is_over:
            return ""
        end = _end_of_marks(self._held, self._names, is_whole=True) or 0
        return self._shown(0 if end == len(self._held) else end)

    def _shown(self, end: int) -> str:
        self._is_over = True
        shown, self._held = self._held[end:], ""
        return shown


def without_mark(text: str, names: Iterable[str] = ()) -> str:
    """`text` without the marks that it begins with."""
    remover = MarkRemover(names)
    return remover.take(text) + remover.rest()


def _end_of_marks(text: str, names: tuple[str, ...], *, is_whole: bool) -> int | None:
    """Where the marks end with which `text` begins, 0 for none. None: what comes next decides that."""
    end = 0
    while (found := _end_of_mark(text, end, names, is_whole=is_whole)) != end:
        if found is None:
            return None
        end = found
    return end


def _end_of_mark(text: str, start: int, names: tuple[str, ...], *, is_whole: bool) -> int | None:
    """Where the mark at `start` ends, `start` for none. None: what comes next decides that."""
    found = _ID.match(text, start)
    if found is None:
        return None if not is_whole and _ID_BEGUN.fullmatch(text, start) else start
    end = found.end()
    if time := _TIME.match(text, end):
        end = time.end()
    elif not is_whole and _TIME_BEGUN.fullmatch(text, end):
        return None
    elif len(found["digits"]) < _SHORTEST_ID:
        return start  # it may be the number of an issue; an id that lost a digit is known by its time
    named = end + 1 if text.startswith(":", end) else _end_of_name(text, end, names, is_whole=is_whole)
    if named is None:
        return None
    end = _SPACE.match(text, named).end()  # type: ignore[union-attr]  # it matches everywhere
    return None if not is_whole and end == len(text) else end


def _end_of_name(text: str, start: int, names: tuple[str, ...], *, is_whole: bool) -> int | None:
    """Where one of `names` at `start` ends with its colon; `start` for none. None: what comes next decides that."""
    begin = _BLANKS.match(text, start).end()  # type: ignore[union-attr]  # it matches everywhere
    following = text[begin : begin + _LONGEST_NAME + 1]
    for name in names:
        if following.startswith(f"{name}:"):
            return begin + len(name) + 1
    is_open = not is_whole and any(f"{name}:".startswith(following) for name in names)
    return None if is_open else start
