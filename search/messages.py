"""Searching all messages of a user, the not yet indexed ones too.

Of very many hits the newest 5,000 take part; the newest and the shortest of those are read and ranked, 400 in all,
since a search has to answer within a blink, whatever is asked for. Each page says where more was found than that.
`search.query` reads what was typed, `search.ranking` compares texts.
"""

from __future__ import annotations

import logging
import operator
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from database.conversations.conversation import access_head
from database.engine.database import Database
from database.engine.errors import InvalidChangeError
from database.messages.message import MessageRow, live_in_any_branch, places_of, rows_numbered
from database.schema import messages
from database.search import index as fulltext_index
from database.search.index import completions, expression_for, folded, words
from database.search.mending import again_in_new_index
from language_models.circuit_breaker import begin, finish
from language_models.errors import ModelError
from language_models.ports import EmbeddingModel
from sentences import say

from . import engine_of
from .embedding import query_vector
from .language import is_spoken, terms
from .meaning import MessageVectors
from .names import messages_named_by, named_conversation
from .query import SearchQuery
from .questions import Found, Scope, answering, fitting_keywords, is_surely_related, relevant
from .ranking import Phrases, Snippet, best, holds, snippet
from .relevance import unrelated_for
from .times import spoken_period

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)
_FEW = 5
_NEWEST = 2**62
_SHORTEST = 4
_TAIL = 5_000
_PHRASES = 32
_WORDS_IN_PHRASE = 16
_QUERY_LENGTH = 2_000
_RANKED_IN_CONVERSATION = 1_000
_PATIENCE = 10.0
"""Seconds that a search waits for the embedding model, which may have to be loaded first."""

_CURSOR = re.compile(r"(\d{1,6})-(\d{1,18})", re.ASCII)

_ACTORS = {"user": "user", "model": "assistant"}


Mode = Literal["auto", "words", "meaning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What a search by meaning takes beside the words: the text as it was typed, today's date, the vectors.

    Where no model can embed now, the words, their other forms and times still count.
    """

    text: str
    today: date
    vectors: MessageVectors
    _known: list[Meaning | None] = field(default_factory=list)

    def meaning(self, warnings: list[str]) -> Meaning | None:
        """What the text means; None where no model can tell; `warnings` then tells of one that should.

        The model is asked once, however many kinds of things are looked for.
        """
        if not self._known:
            self._known.append(self._asked(warnings))
        return self._known[0]

    def _asked(self, warnings: list[str]) -> Meaning | None:
        model = self.vectors.model()
        if model is None:
            return None
        try:
            return finish(model, begin(model, _meaning, model, self.text), within=_PATIENCE)
        except (ModelError, TimeoutError) as error:
            why = error.message if isinstance(error, ModelError) else "the embedding model does not answer"
            log.warning("a search goes on by words: %s", why)
            warnings.append(say("messages_by_words"))
            return None


class Meaning(NamedTuple):
    """A vector, and the model that made it."""

    model: EmbeddingModel
    vector: NDArray[np.float32]


def _meaning(model: EmbeddingModel, text: str) -> Meaning:
    unrelated_for(model)  # measured here: embedding may take a second or fail, and no transaction is open
    return Meaning(model, query_vector(model, text))


class ShownMessage(NamedTuple):
    """What is shown of a message that was found. `MessageRow` says what the fields are; model: that gave the answer."""

    seq: int
    message_id: str
    conversation_id: str
    sender: str
    text: str
    message_short_hash: str | None
    created_at: str
    model: str | None
    index: int  # type: ignore[assignment]  # nobody looks for a place in this tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMessage:
    """A message, the conversation it is in, and the piece of it that says what was sought."""

    message: ShownMessage
    conversation_title: str
    conversation_friendly_id: str | None
    snippet: Snippet


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMessages:
    """One page, best first. `next`: the cursor of the following one, None after the last. `warnings`: sentences."""

    messages: list[FoundMessage]
    next: str | None
    warnings: list[str]


@again_in_new_index
def search_messages(
    *,
    database: Database,
    user_email: str,
    query: SearchQuery,
    limit: int = 20,
    cursor: str | None = None,
    mode: Mode = "words",
    asking: Asking | None = None,
    shows_hidden: bool = True,
) -> FoundMessages:
    """The user's live messages that fit `query`, in archived conversations too, best first, then newest.

    shows_hidden: those too that the person hid from models.

    mode: "words" finds messages that say every word, "meaning" those that say or mean what is asked, and "auto" decides
    by the query: a question, a sentence, or keywords that find little are asked by meaning too. asking: what that
    takes; without it words alone count. Messages that the query is a reference to come first.

    Those of temporary conversations are not found, as no list shows them either. A query without words takes the
    newest; one without anything finds nothing. At most nine queries, whatever is found, seven more for a reference, and
    on PostgreSQL one for each step into the past. What is said after the first page was asked for is on no later one.
    Raises InvalidChangeError for a cursor that we did not make.
    """
    skipped, up_to = _place(cursor)
    if not (query.phrases or query.filters):
        return FoundMessages(messages=[], next=None, warnings=[])
    found = _ranked(
        database=database,
        user_email=user_email,
        query=query,
        up_to=up_to,
        mode=mode,
        asking=asking,
        shows_hidden=shows_hidden,
    )
    with database.reading() as connection:
        named = [] if query.filters else messages_named_by(connection, user_email, query.name)
        named = named if shows_hidden else _shown_to_models(connection, named)
        seqs = list(dict.fromkeys([*named, *found.seqs]))
        described = _described(connection, seqs[skipped : skipped + limit], found.query, said=found.said)
    newest = up_to if cursor else max(seqs, default=0)
    return FoundMessages(
        messages=described,
        next=f"{skipped + limit}-{newest}" if len(seqs) > skipped + limit else None,
        warnings=found.warnings,
    )


@again_in_new_index
def related_messages(
    *, database: Database, user_email: str, asking: Asking, most: int, without: Collection[str]
) -> list[FoundMessage]:
    """At most `most` messages that surely have to do with a text, best first; none where no model can embed.

    without: ids of messages that are not wanted. Messages that are hidden from models are not found. What the text says
    of operators are words like others; of a long text its beginning counts.
    """
    asking = replace(asking, text=asking.text[:_QUERY_LENGTH])
    query = SearchQuery(phrases=tuple((word,) for word in words(asking.text)))
    meaning = asking.meaning([]) if query.phrases else None
    if meaning is None:
        return []
    with database.reading() as connection:
        search = _Search(connection=connection, user_email=user_email, query=query, conversation_id=None)
        seqs = [
            each.seq
            for each in search.answers(asking, meaning, _NEWEST)
            if is_surely_related(each.similarity or 0.0, each.coverage)
        ]
        found = _described(connection, _shown_to_models(connection, seqs)[: most + len(without)], query)
    return [hit for hit in found if hit.message.message_id not in without][:most]


@again_in_new_index
def search_conversation(
    *, database: Database, user_email: str, conversation_id: str, q: str, limit: int = 20
) -> list[MessageRow]:
    """The live messages of a conversation that hold every word of `q`, best first, then newest.

    The last word may be the beginning of one.

    Any text is a query; what is neither letter nor digit parts words, and words not parted by spaces are sought side
    by side. Among more than 1,000 hits the newest are ranked. Raises ConversationNotFoundError.
    """
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        phrases = _phrases_of(q)
        if not phrases:
            return []
        candidates = _in_conversation(connection, user_email, conversation_id, phrases)
        chosen = best(candidates, phrases)[:limit]
        found = {row.seq: row for row in rows_numbered(connection, chosen)}
        return [found[seq] for seq in chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """One search over one state of the store. shows_hidden: it finds messages that are hidden from models, too."""

    connection: Connection
    user_email: str
    query: SearchQuery
    conversation_id: str | None
    shows_hidden: bool = True

    def by_words(self, up_to: int) -> tuple[list[int], bool]:
        """The messages that say every word, best first; and whether more fits than was ranked."""
        candidates, is_part = self._candidates(up_to)
        return self._shown(best(candidates, self.query.phrases)), is_part

    def by_meaning(self, asking: Asking, meaning: Meaning | None, up_to: int, *, keywords: bool) -> list[int]:
        """The messages that say or mean what is asked, best first; of keywords, those alone that say enough of them."""
        found = self.answers(asking, meaning, up_to)
        fitting = fitting_keywords(found, self.query.phrases) if keywords else relevant(found)
        return self._shown(self._without_excluded([each.seq for each in fitting]))

    def answers(self, asking: Asking, meaning: Meaning | None, up_to: int) -> list[Found]:
        """What the messages have to do with what is asked, best first."""
        nearness, scope = None, self._scope(up_to)
        if meaning is not None:
            nearness = asking.vectors.nearness(
                self.connection,
                user_email=self.user_email,
                model=meaning.model,
                query=meaning.vector,
                narrow=scope.is_narrow,
            )
        return answering(
            self.connection,
            scope=scope,
            terms=terms(self.query.text.split()),
            nearness=nearness,
            period=spoken_period(asking.text, today=asking.today),
            tail=[seq for seq, _ in self._tail(up_to)],
        )

    def _candidates(self, up_to: int) -> tuple[list[tuple[int, str]], bool]:
        """(seq, folded text) of what is to be ranked, newest first; and whether more fits than that."""
        tail = self._tail(up_to)
        indexed, is_part = self._indexed(up_to)
        return [*self._saying(tail), *indexed], is_part or len(tail) == _TAIL

    def _indexed(self, up_to: int) -> tuple[list[tuple[int, str]], bool]:
        left_out, are_all = self._left_out()
        beginning = self.query.phrases[-1][-1] if self.query.beginning else None
        expression = expression_for(
            self.connection,
            user_email=self.user_email,
            conversation_id=self.conversation_id,
            phrases=self.query.phrases,
            beginning=self.query.beginning,
            completions=completions(self.connection, self.user_email, beginning) if beginning else None,
            excluded=self.query.excluded,
            not_in=left_out,
        )
        rows, is_part = engine_of(self.connection).candidates(
            self.connection,
            expression,
            user_email=self.user_email,
            up_to=up_to,
            conditions=self._conditions(),
            # Without words there is nothing to rank by: the newest are the best.
            by_length=bool(self.query.phrases),
            only_live=are_all,
        )
        return [(seq, folded(text)) for seq, text in rows], is_part

    def _saying(self, tail: list[tuple[int, str]]) -> list[tuple[int, str]]:
        return [
            (seq, folded(text))
            for seq, text in tail
            if holds(text, self.query.phrases, beginning=self.query.beginning) and not self._says_excluded(text)
        ]

    def _tail(self, up_to: int) -> list[tuple[int, str]]:
        """(seq, text) of the messages that the index does not know yet, newest first."""
        m = messages.c
        mark = fulltext_index.waiting_behind(self.connection)
        if mark is None:
            return []
        query = select(m.seq, m.text).where(m.seq > mark, *self._scope(up_to).visible())
        rows = self.connection.execute(query.order_by(m.seq.desc()).limit(_TAIL))
        return [(row.seq, row.text) for row in rows]

    def _scope(self, up_to: int) -> Scope:
        query = self.query
        return Scope(
            user_email=self.user_email,
            conversation_id=self.conversation_id,
            conditions=conditions_of(query),
            excluded=query.excluded,
            not_in=self._left_out()[0],
            up_to=up_to,
        )

    def _says_excluded(self, text: str) -> bool:
        return any(holds(text, [phrase], beginning=False) for phrase in self.query.excluded)

    def _shown(self, seqs: list[int]) -> list[int]:
        return seqs if self.shows_hidden else _shown_to_models(self.connection, seqs)

    def _without_excluded(self, seqs: list[int]) -> list[int]:
        if not self.query.excluded:
            return seqs
        texts = dict(
            self.connection.execute(select(messages.c.seq, messages.c.text).where(messages.c.seq.in_(seqs))).all()
        )
        return [seq for seq in seqs if not self._says_excluded(texts[seq])]

    def _conditions(self) -> dict[str, str]:
        query = self.query
        given = {
            "actor": _ACTORS[query.sender] if query.sender is not None else None,
            "after": query.after,
            "before": query.before,
        }
        return {name: value for name, value in given.items() if value is not None}

    def _left_out(self) -> tuple[Sequence[str], bool]:
        """Temporary conversations, and those thrown away last: their messages are not to crowd out others.

        And whether these are all of them.
        """
        return engine_of(self.connection).left_out(self.connection, user_email=self.user_email)


def _shown_to_models(connection: Connection, seqs: Sequence[int]) -> list[int]:
    """Those of these messages that the person has not hidden from models, in the same order."""
    query = select(messages.c.seq).where(messages.c.seq.in_(seqs), messages.c.show_hide == "hide")
    hidden = set(connection.execute(query).scalars())
    return [seq for seq in seqs if seq not in hidden]


class _Ranked(NamedTuple):
    """Messages, best first; the query whose words are marked in them; those that say all of its words."""

    seqs: list[int]
    query: SearchQuery
    warnings: list[str]
    said: Collection[int] = ()


def _ranked(
    *,
    database: Database,
    user_email: str,
    query: SearchQuery,
    up_to: int,
    mode: Mode,
    asking: Asking | None,
    shows_hidden: bool,
) -> _Ranked:
    warnings, by_words = list[str](), list[int]()
    is_by_meaning_alone = not query.exact and is_spoken(query.text.split())
    with database.reading() as connection:
        conversation_id = named_conversation(connection, user_email, query.conversation)
        if query.conversation and conversation_id is None:
            return _Ranked([], query, [say("no_such_conversation", name=query.conversation)])
        search = _Search(
            connection=connection,
            user_email=user_email,
            query=query,
            conversation_id=conversation_id,
            shows_hidden=shows_hidden,
        )
        if mode == "words" or asking is None or (mode == "auto" and not is_by_meaning_alone):
            by_words, is_part = search.by_words(up_to)
            warnings += [say("not_all_messages")] if is_part else []
    will_do = mode == "words" or (mode == "auto" and is_enough(query, by_words))
    if asking is None or will_do or not query.phrases:
        return _Ranked(by_words, query, warnings, said=frozenset(by_words))
    # The model is asked outside of a transaction: a provider may take a second.
    meaning = asking.meaning(warnings)
    with database.reading() as connection:
        search = replace(search, connection=connection)
        keywords = mode == "auto" and not is_by_meaning_alone
        by_meaning = search.by_meaning(asking, meaning, up_to, keywords=keywords)
    said = frozenset[int]() if is_by_meaning_alone else frozenset(by_words)
    first = [] if is_by_meaning_alone else by_words
    return _Ranked([*first, *(seq for seq in by_meaning if seq not in said)], query, warnings, said)


def conditions_of(query: SearchQuery) -> list[ColumnElement[bool]]:
    """The filters of a query, conversations left out, as conditions of `messages`."""
    m = messages.c
    return [
        compared(column, value)
        for column, compared, value in (
            (m.sender, operator.eq, query.sender),
            (m.created_at, operator.ge, query.after),
            (m.created_at, operator.lt, query.before),
        )
        if value is not None
    ]


def is_enough(query: SearchQuery, by_words: Sequence[object]) -> bool:
    """Whether what the words found will do: quoted words are meant as they are, a single one may not be typed whole."""
    said = query.text.split()
    if query.exact or is_spoken(said):
        return query.exact
    return len(by_words) >= (_FEW if len(said) > 1 else 1) or len(query.text) < _SHORTEST


def _described(
    connection: Connection, seqs: Sequence[int], query: SearchQuery, *, said: Collection[int] = ()
) -> list[FoundMessage]:
    """What a client is shown of these, in this order. said: those that are known to say all words of `query`."""
    rows = {row[0]: row for row in engine_of(connection).shown(connection, seqs)}
    # Where all messages of a conversation are live and on the active path, they are numbered by their places.
    places = places_of(connection, [seq for seq, row in rows.items() if not row[-1]])
    found = list[FoundMessage]()
    for row in (rows[seq] for seq in seqs if seq in rows):
        *shown, ordinal, title, friendly_id, is_whole = row
        message = ShownMessage._make([*shown, ordinal if is_whole else places.get(row[0], 0)])
        found.append(
            FoundMessage(
                message=message,
                conversation_title=title,
                conversation_friendly_id=friendly_id,
                snippet=_snippet(message.text, query, says_all=message.seq in said),
            )
        )
    return found


def _snippet(text: str, query: SearchQuery, *, says_all: bool) -> Snippet:
    """A piece of `text` with the words that were sought; with their other forms, where it does not say them all."""
    if says_all or holds(text, query.phrases, beginning=query.beginning):
        return snippet(text, query.phrases, beginning=query.beginning)
    forms = _forms(query.text)
    marked = [(word,) for word in dict.fromkeys(words(text)) if word in forms]
    return snippet(text, marked, beginning=False)


@lru_cache(maxsize=16)
def _forms(sought: str) -> frozenset[str]:
    """All forms of the words that count. Stemming takes milliseconds: only for texts found in another way than said."""
    return frozenset[str]().union(*terms(sought.split()))


def _place(cursor: str | None) -> tuple[int, int]:
    """How many hits come before a page, and the newest message that takes part."""
    if cursor is None:
        return 0, _NEWEST
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidChangeError("The cursor is not one of a search.")
    return int(match[1]), int(match[2])


def _phrases_of(q: str) -> list[list[str]]:
    chunks = (words(chunk)[:_WORDS_IN_PHRASE] for chunk in q[:_QUERY_LENGTH].split())
    return [chunk for chunk in chunks if chunk][:_PHRASES]


def _in_conversation(
    connection: Connection, user_email: str, conversation_id: str, phrases: Phrases
) -> list[tuple[int, str]]:
    """(seq, folded text) of the messages that match, newest first: the tail not indexed yet, then the index's."""
    mark = fulltext_index.indexed_seq(connection)
    hits = fulltext_index.newest_hits(
        connection,
        user_email=user_email,
        conversation_id=conversation_id,
        phrases=phrases,
        limit=_RANKED_IN_CONVERSATION,
    )
    columns = (
        select(messages.c.seq, messages.c.text)
        .where(live_in_any_branch(conversation_id))
        .order_by(messages.c.seq.desc())
    )
    tail = connection.execute(columns.where(messages.c.seq > mark))
    beginning = len(phrases[-1][-1]) > 1
    unindexed = [(seq, folded(text)) for seq, text in tail if holds(text, phrases, beginning=beginning)]
    indexed = connection.execute(columns.where(messages.c.seq.in_(hits)))
    return unindexed + [(seq, folded(text)) for seq, text in indexed]
