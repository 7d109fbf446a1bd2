"""What a person typed to find messages: words, "quoted phrases", -without, and filters. Any text is a query.

sourdough starter          both words, in any order; the last may be the beginning of a word
"rye flour"                these words side by side
-yeast  -"white flour"     without them
sender:user  sender:model  who said it
in:bread_starter_k3f9      in this conversation
after:2026-02-08           on that day or later (a month or a year will do: after:2026-02, after:2026)
before:2026-03             before it
bread_starter_k3f9         alone: what this name or reference leads to, too
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from database.search.index import UNSPACED_CHARACTER, words

SENDERS = ("user", "model")
_LENGTH = 2_000
_PHRASES = 32
_WORDS_IN_PHRASE = 16
_REFERENCE = re.compile(r"@?(?:(?:conversation|conv)_)?", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?", re.ASCII)
_TOKEN = re.compile(
    r"""(?P<without>-(?!-))?(?:
        (?P<filter>sender|in|before|after):(?:"(?P<quoted_value>[^"]*)"?|(?P<value>[^\s"]+))
        | "(?P<quoted>[^"]*)"?
        | (?P<bare>[^\s"]+)
    )""",
    re.VERBOSE | re.IGNORECASE,
)

_BETWEEN_UNSPACED = re.compile(f"(?<={UNSPACED_CHARACTER.pattern}) (?={UNSPACED_CHARACTER.pattern})")

Phrases = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What is sought.

    phrases: each is said, its words side by side. beginning: whether the last word may be the beginning of one.
    excluded: none of these is said. conversation: a friendly id or a conversation_id. after, before: from that day on,
    and until the day before, as "YYYY-MM-DD". unread: filters that made no sense, and were taken for words. exact:
    whether anything was quoted. name: a single word as it was typed, which may name a thing; "" for several words.
    """

    phrases: Phrases = ()
    beginning: bool = False
    excluded: Phrases = ()
    sender: str | None = None
    conversation: str | None = None
    before: str | None = None
    after: str | None = None
    unread: tuple[str, ...] = ()
    exact: bool = False
    name: str = ""

    @property
    def filters(self) -> bool:
        """Whether anything is said about messages beside their words."""
        return bool(self.excluded or self.sender or self.conversation or self.before or self.after)

    @property
    def text(self) -> str:
        """The words alone."""
        return " ".join(word for phrase in self.phrases for word in phrase)

    @property
    def written(self) -> str:
        """The words alone, as people write them: those of a phrase in a script without spaces stand together."""
        return " ".join(_BETWEEN_UNSPACED.sub("", " ".join(phrase)) for phrase in self.phrases)

    def narrowed(
        self,
        *,
        conversation: str | None = None,
        sender: str | None = None,
        before: str | None = None,
        after: str | None = None,
    ) -> SearchQuery:
        """This query with filters from elsewhere, which go before its own. Dates as `first_day` gives them."""
        return replace(
            self,
            conversation=conversation or self.conversation,
            sender=sender or self.sender,
            before=before or self.before,
            after=after or self.after,
        )


def parse_query(text: str) -> SearchQuery:
    """What `text` asks for; the last of several filters of one kind counts. Never fails."""
    found: dict[str, str] = {}
    said, excluded, unread = list[tuple[str, ...]](), list[tuple[str, ...]](), list[str]()
    beginning, exact = False, False
    for token in _TOKEN.finditer(text[:_LENGTH]):
        name = (token["filter"] or "").lower()
        if name and not token["without"]:
            value = _filter_value(name, token["quoted_value"] or token["value"] or "")
            if value:
                found[name] = value
                continue
            unread.append(token[0])
        if token["without"]:
            excluded.extend(_phrases(token[0]))
            continue
        exact = exact or token["quoted"] is not None
        for phrase in _phrases(token[0]):
            said.append(phrase)
            beginning = token["quoted"] is None and token["quoted_value"] is None and len(phrase[-1]) > 1
    return SearchQuery(
        phrases=tuple(said[:_PHRASES]),
        beginning=beginning and len(said) <= _PHRASES,
        excluded=tuple(excluded[:_PHRASES]),
        sender=found.get("sender"),
        conversation=found.get("in"),
        before=found.get("before"),
        after=found.get("after"),
        unread=tuple(unread),
        exact=exact,
        name=_name(text),
    )


def first_day(text: str) -> str | None:
    """The first day of a year, a month or a day ("2026", "2026-02", "2026-02-08"), as "YYYY-MM-DD"; None for others."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = match.groups(default="01")
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


def require_day(text: str) -> str:
    """As `first_day`. Raises ValueError for what is no date."""
    day = first_day(text)
    if day is None:
        raise ValueError("not a date: use 2026, 2026-02 or 2026-02-08")
    return day


def conversation_name(text: str) -> str:
    """A friendly id or a conversation_id, of what may be a whole reference."""
    return _REFERENCE.sub("", text.strip(), count=1) if "@" not in text[1:] else text.strip()


def _filter_value(name: str, value: str) -> str | None:
    if name == "sender":
        return value.lower() if value.lower() in SENDERS else None
    if name == "in":
        return conversation_name(value)
    return first_day(value)


def _name(text: str) -> str:
    token = _TOKEN.fullmatch(text.strip()[:_LENGTH])
    return (token["bare"] or "") if token is not None and not token["without"] else ""


def _phrases(text: str) -> Iterator[tuple[str, ...]]:
    phrase = tuple(words(text)[:_WORDS_IN_PHRASE])
    if phrase:
        yield phrase
