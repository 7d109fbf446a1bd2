"""Which conversation is meant: what a person has typed of its friendly id or its title."""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict
from weakref import WeakKeyDictionary

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    Text,
    bindparam,
    func,
    or_,
    select,
    union_all,
)

from database.changes import CONVERSATION, ChangesSeen, changed_since, changes_seen
from database.engine.database import Database
from database.engine.statements import Prepared
from database.engine.text import storable
from database.schema import conversation_aliases, conversations, messages
from database.search.index import name_words, names_sought, word_runs
from search import engine_of
from search.names import conversation_named_by
from search.query import SearchQuery, conversation_name
from search.relevance import NEAR

if TYPE_CHECKING:
    from search.messages import Asking


_LONGEST_QUERY = 200
_MOST_LOOKED_UP = 1_000
_DRAWN = 4
_SHORTEST_WORD, _SHORTEST_HALF = 4, 3
_PREFIX = re.compile(r"^@?(?:(?:conversation|conv)_)?", re.IGNORECASE)
_FRIENDLY_ID_PART = re.compile(r"[a-z0-9_]+")

_c, _m, _alias = conversations.c, messages.c, conversation_aliases.c


class _Offered(NamedTuple):
    """What is known of a conversation that may be meant."""

    conversation_friendly_id: str | None
    title: str
    conversation_id: str
    updated_at: str


class ConversationSuggestion(TypedDict):
    """One conversation to choose. `friendly_id`: "" for none. `last_updated` is "YYYY-MM-DD HH:MM:SS" in UTC."""

    friendly_id: str
    title: str
    conversation_id: str
    last_updated: str


def autocomplete_conversations(
    *,
    database: Database,
    user_email: str,
    q: str,
    domain: str | None = None,
    limit: int = 10,
    with_unnamed: bool = False,
) -> list[ConversationSuggestion]:
    """The user's live conversations that `q` may mean, at most `limit`; temporary ones are not offered.

    First those whose friendly id begins with `q`, then those in whose title each word of `q` begins a word, whatever
    its case and diacritics; newest first in both. An empty `q` means the newest. What has no friendly id yet can't be
    referred to, and is offered only `with_unnamed`. At most three queries, and as many again after titles were written.
    """
    typed = _PREFIX.sub("", storable(q).strip()[:_LONGEST_QUERY]).lower()
    with database.reading() as connection:
        if not typed:
            return [
                _suggestion(row) for row in _newest(connection, user_email, domain, limit, with_unnamed=with_unnamed)
            ]
        by_id = list(_by_friendly_id(connection, user_email, domain, typed, limit))
        titled = _by_title(database, connection, user_email, domain, typed_words(typed)) if len(by_id) < limit else ()
        return _suggestions(by_id, titled, limit=limit, with_unnamed=with_unnamed)


def conversations_called(
    *, database: Database, user_email: str, query: SearchQuery, limit: int
) -> list[ConversationSuggestion]:
    """The user's live conversations whose friendly ids or titles `query` may mean, as `autocomplete_conversations`.

    The words of a phrase stand side by side. An alias leads to its conversation, a reference to the one it leads into.
    """
    words = names_sought(query.phrases)
    with database.reading() as connection:
        by_id = _named_first(connection, user_email, query.name, limit)
        titled = _by_title(database, connection, user_email, None, words) if len(by_id) < limit else ()
        return _suggestions(by_id, titled, limit=limit)


def _named_first(connection: Connection, user_email: str, name: str, limit: int) -> list[_Offered]:
    """The conversation that `name` leads to, then those whose friendly ids begin so."""
    begun = list(_by_friendly_id(connection, user_email, None, conversation_name(name).lower(), limit))
    # A plain word is no more than the beginning of an id.
    named = None if name.isalnum() or not name else conversation_named_by(connection, user_email, name)
    if named is None:
        return begun
    exact = connection.execute(_offered(user_email, None).where(_c.conversation_id == named))
    return [*map(_Offered._make, exact), *(row for row in begun if row.conversation_id != named)][:limit]


def conversations_spelled_like(
    *, database: Database, user_email: str, typed: str, limit: int
) -> list[ConversationSuggestion]:
    """The user's live conversations whose friendly ids share the longest beginning, or a part, with a misspelled one.

    typed: of a friendly id. Those that come right before and behind it in the order of ids, those with its last four
    characters, which are drawn at random, those with one of its words, and those with half of one: at most `limit` of
    each. Names that lead to a conversation as aliases are looked up as well, and suggested in the place of its id. Ten
    queries.
    """
    typed = storable(typed)[:_LONGEST_QUERY].lower()
    offered = _offered(user_email, None, with_unnamed=True).order_by(None)
    aliased = offered.join(conversation_aliases, _alias.conversation_id == _c.conversation_id)
    aliased = aliased.where(_alias.user_email == user_email).add_columns(_alias.alias.label("called"))
    named = offered.add_columns(_c.conversation_friendly_id.label("called"))
    asked = [*_alike(named, _c.conversation_friendly_id, typed), *_alike(aliased, _alias.alias, typed)]
    with database.reading() as connection:
        found = {row.called: row for query in asked for row in connection.execute(query.limit(limit))}
    return [{**_suggestion(row), "friendly_id": called} for called, row in found.items()]


def _alike(names: Select[Any], name: ColumnElement[Any], typed: str) -> list[Select[Any]]:
    """`names` that are perhaps `typed`, where that is misspelled in two places."""
    spelled = [word for word in typed.split("_") if len(word) >= _SHORTEST_WORD]
    halves = [half for word in spelled for half in (word[: len(word) // 2], word[len(word) // 2 :])]
    with_parts = [
        names.where(or_(*(name.contains(part, autoescape=True) for part in parts))).order_by(name)
        for parts in (spelled, [half for half in halves if len(half) >= _SHORTEST_HALF])
        if parts
    ]
    return [
        names.where(name < typed).order_by(name.desc()),
        names.where(name >= typed).order_by(name),
        names.where(func.substr(name, func.length(name) - _DRAWN + 1) == typed[-_DRAWN:]).order_by(name),
        *with_parts,
    ]


def conversations_meant(
    *, database: Database, user_email: str, asking: Asking, limit: int
) -> list[ConversationSuggestion]:
    """The conversations whose title and first message mean what is asked, nearest first.

    The vector of a first message is made of it together with the title. None where no model can embed.
    """
    meaning = asking.meaning([])
    if meaning is None:
        return []
    with database.reading() as connection:
        own: dict[str, Any] = {"user_email": user_email, "model": meaning.model, "query": meaning.vector}
        nearness = asking.vectors.nearness(connection, **own, narrow=True)
        if nearness is None:
            return []
        known = nearness.of(())
        near = [seq for seq in nearness.ordered() if known[seq] >= NEAR]
        first = (_m.seq.in_(engine_of(connection).listed(near)), _m.ordinal == 1, _m.deleted_at.is_(None))
        offered = _offered(user_email, None).join(messages, _m.conversation_id == _c.conversation_id)
        found = connection.execute(offered.add_columns(_m.seq).where(*first)).all()
    nearest = sorted(found, key=lambda row: -known[row.seq])
    return [_suggestion(row) for row in nearest[:limit]]


def _newest(
    connection: Connection, user_email: str, domain: str | None, limit: int, *, with_unnamed: bool
) -> list[Row[Any]]:
    """The newest of each domain, from the index of the list: it is in order of time only within one domain."""
    domains = _domains(connection, user_email) if domain is None else [domain]
    pages = [_offered(user_email, each, with_unnamed=with_unnamed).limit(limit).subquery() for each in domains]
    if not pages:
        return []
    either = union_all(*(select(page) for page in pages)).subquery()
    newest = select(either).order_by(either.c.updated_at.desc(), either.c.conversation_id.desc())
    return list(connection.execute(newest.limit(limit)))


def _domains(connection: Connection, user_email: str) -> Sequence[str]:
    """The domains of the user's conversations: a step of the index for each, however many conversations there are."""
    own = _c.user_email == user_email
    domains = select(func.min(_c.domain).label("name")).where(own).cte(recursive=True)
    following = select(func.min(_c.domain)).where(own, _c.domain > domains.c.name).scalar_subquery()
    domains = domains.union_all(select(following).where(domains.c.name.is_not(None)))
    return connection.execute(select(domains.c.name).where(domains.c.name.is_not(None))).scalars().all()


def _offered(
    user_email: str | BindParameter[str], domain: str | BindParameter[str] | None, *, with_unnamed: bool = False
) -> Select[Any]:
    query = select(*(_c[name] for name in _Offered._fields)).where(
        _c.user_email == user_email,
        _c.deleted_at.is_(None),
        _c.expires_at.is_(None),
    )
    if not with_unnamed:
        query = query.where(_c.conversation_friendly_id.is_not(None))
    if domain is not None:
        query = query.where(_c.domain == domain)
    return query.order_by(_c.updated_at.desc(), _c.conversation_id.desc())


def _named(domain: BindParameter[str] | None) -> Prepared:
    """A range, not LIKE: the index answers it, and "_" means itself."""
    query = _offered(bindparam("user_email", type_=Text), domain).where(
        _c.conversation_friendly_id >= bindparam("begin", type_=Text),
        _c.conversation_friendly_id < bindparam("end", type_=Text),
    )
    return Prepared(query.limit(bindparam("limit", type_=Integer)))


_NAMED_ANYWHERE, _NAMED_IN_DOMAIN = _named(None), _named(bindparam("domain", type_=Text))


def _by_friendly_id(
    connection: Connection, user_email: str, domain: str | None, typed: str, limit: int
) -> Iterator[_Offered]:
    if not _FRIENDLY_ID_PART.fullmatch(typed):
        return iter(())
    # "{" is the character after "z".
    given: dict[str, Any] = {"user_email": user_email, "begin": typed, "end": typed + "{", "limit": limit}
    if domain is None:
        return map(_Offered._make, _NAMED_ANYWHERE.rows(connection, **given))
    return map(_Offered._make, _NAMED_IN_DOMAIN.rows(connection, domain=domain, **given))


def _by_title(
    database: Database, connection: Connection, user_email: str, domain: str | None, words: Sequence[str]
) -> Iterator[Row[Any]]:
    """Titles are compared here, since SQL folds ASCII letters alone; what it can rule out, it does."""
    if not words:
        return
    begun = [f" {word}" for word in words]
    fragments = [part for word in words for part in word.split()]
    known = titles_of(database).titled(connection, user_email, words)
    if known is not None and len(known) > _MOST_LOOKED_UP:
        known = None  # SQL looks through all titles faster
    if known == []:
        return
    own: dict[str, Any] = {"user_email": user_email, "domain": domain, "fragments": fragments}
    for row in engine_of(connection).titled(connection, **own, among=known):
        title = title_words(row.title)
        if all(word in title for word in begun):
            yield row


def _suggestions(
    by_id: Sequence[_Offered], titled: Iterable[Row[Any]], *, limit: int, with_unnamed: bool = False
) -> list[ConversationSuggestion]:
    """Those found by their friendly ids, then those found by their titles."""
    seen = {row.conversation_id for row in by_id}
    others = (row for row in titled if row.conversation_id not in seen)
    named = (row for row in others if with_unnamed or row.conversation_friendly_id)
    shown: list[_Offered | Row[Any]] = [*by_id, *islice(named, max(0, limit - len(by_id)))]
    return [_suggestion(row) for row in shown]


def _suggestion(row: _Offered | Row[Any]) -> ConversationSuggestion:
    return ConversationSuggestion(
        friendly_id=row.conversation_friendly_id or "",
        title=row.title,
        conversation_id=row.conversation_id,
        last_updated=f"{row.updated_at[:10]} {row.updated_at[11:19]}",
    )


_PEOPLE = 8
_MOST_TITLES = 50_000
"""Of somebody with more conversations, no titles are held: SQL looks through them."""
_MOST_CHANGED = 500
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
    """The titles of the people who searched most recently.

    They are read once, and later updated from the person's changes (`database.changes`): every write of a title records
    a change of its conversation in the same transaction. Titles of conversations in the bin, temporary ones and those
    of other domains are held too; the caller filters by reading the conversations.
    """

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
