"""A cache of the words in each person's conversation titles, for completion.

Titles are read once, and later updated from the person's changes (`database.changes`): every write of a title records a
change of its conversation in the same transaction. Titles of conversations in the bin, temporary ones and those of
other domains are cached too; the caller filters by reading the conversations.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Text, bindparam, select

from database.changes import CONVERSATION, ChangesSeen, changed_since, changes_seen
from database.engine.database import Database
from database.engine.statements import Prepared
from database.schema import conversations
from database.search.index import name_words, names_sought, word_runs

_PEOPLE = 8
_MOST_TITLES = 50_000
"""Of somebody with more conversations, no titles are held: SQL looks through them."""
_MOST_CHANGED = 500
_c = conversations.c
_ALL = Prepared(
    select(_c.conversation_id, _c.title)
    .where(_c.user_email == bindparam("user_email", type_=Text))
    .limit(_MOST_TITLES + 1)
)


def title_words(title: str) -> str:
    """The words of a title, each behind a space, whatever their case and their diacritics."""
    return "".join(f" {word}" for word in name_words(title))


def typed_words(typed: str) -> list[str]:
    """What a title is asked for: each word typed; the characters of a run without spaces stand side by side."""
    return names_sought(word_runs(typed))


class PersonTitles:
    """The titles of one person at the time when `seen` was the newest change."""

    def __init__(self, words: Mapping[str, str], seen: ChangesSeen) -> None:
        """words: of each title, by conversation id, see `title_words`."""
        self.words, self.seen = words, seen
        self._ids = list(words)
        lines = [f"{line}\n" for line in words.values()]
        self._text = "".join(lines)
        self._begins = list(accumulate(map(len, lines), initial=0))

    def with_words(self, begun: Sequence[str]) -> Iterator[str]:
        """The ids of conversations whose titles have, for each of `begun`, a word that begins so; in no order."""
        longest = max(begun, key=len)
        place = self._text.find(longest)
        while place >= 0:
            number = bisect_right(self._begins, place) - 1
            begin, end = self._begins[number], self._begins[number + 1]
            if all(self._text.find(word, begin, end) >= 0 for word in begun):
                yield self._ids[number]
            place = self._text.find(longest, end)


class HeldTitles:
    """The titles of the people who searched most recently."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._people: OrderedDict[str, PersonTitles] = OrderedDict()

    def titled(self, connection: Connection, user_email: str, words: Sequence[str]) -> list[str] | None:
        """The ids of the person's conversations in whose titles each of `words`, see `typed_words`, begins a word.

        None where the person has too many conversations for it.
        """
        titles = self._of(connection, user_email)
        return None if titles is None else list(titles.with_words([f" {word}" for word in words]))

    def forget(self, user_email: str) -> None:
        """Drop the titles of a person."""
        with self._lock:
            self._people.pop(user_email, None)

    def _of(self, connection: Connection, user_email: str) -> PersonTitles | None:
        held, seen = self._people.get(user_email), changes_seen(connection, user_email=user_email)
        if held is not None and held.seen == seen:
            return held
        titles = _renewed(connection, user_email, held, seen) if held is not None else None
        titles = titles or _read(connection, user_email, seen)
        if titles is not None:
            with self._lock:
                self._people[user_email] = titles
                self._people.move_to_end(user_email)
                while len(self._people) > _PEOPLE:
                    self._people.popitem(last=False)
        return titles


def _read(connection: Connection, user_email: str, seen: ChangesSeen) -> PersonTitles | None:
    rows = _ALL.rows(connection, user_email=user_email)
    if len(rows) > _MOST_TITLES:
        return None
    return PersonTitles({conversation_id: title_words(title) for conversation_id, title in rows}, seen)


def _renewed(connection: Connection, user_email: str, held: PersonTitles, seen: ChangesSeen) -> PersonTitles | None:
    """The cached titles, updated with those written since; None if the changes since are not kept any more."""
    changed = changed_since(connection, CONVERSATION, user_email=user_email, before=held.seen, now=seen)
    if changed is None or len(changed) > _MOST_CHANGED:
        return None
    query = select(_c.conversation_id, _c.title).where(_c.user_email == user_email, _c.conversation_id.in_(changed))
    written = {row.conversation_id: title_words(row.title) for row in connection.execute(query)} if changed else {}
    if all(held.words.get(each) == written.get(each) for each in changed):
        held.seen = seen
        return held
    kept = {each: words for each, words in held.words.items() if each not in changed}
    return PersonTitles({**kept, **written}, seen) if len(kept) + len(written) <= _MOST_TITLES else None


_held: WeakKeyDictionary[Database, HeldTitles] = WeakKeyDictionary()
_lock = threading.Lock()


def titles_of(database: Database) -> HeldTitles:
    """The cache of one store."""
    with _lock:
        return _held.setdefault(database, HeldTitles())
