"""Finding passages of files, and files by their names, by the words and scores that messages are found by.

A file is found where a live message of the person has it; of several such messages the first is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, Text, and_, bindparam, exists, func, or_, select

from conversation_reference_utils import file_reference
from database.engine.database import Database
from database.engine.statements import Prepared
from database.messages.message import MessageRow, places_of, rows_numbered
from database.schema import attachments, conversations, file_passages, message_parts, messages
from database.search.index import expression_for, folded, is_called, names_sought, word_runs, words
from database.search.mending import again_in_new_index
from database.search.owned import PASSAGES
from database.search.passages import StoredPassage
from search import engine_of
from search.language import Terms, is_spoken, terms
from search.messages import Asking, Meaning, Mode, conditions_of, is_enough
from search.names import file_named_by, messages_named_by, named_conversation
from search.query import SearchQuery
from search.questions import (
    WORDS,
    Found,
    Scope,
    by_coverage,
    counted_in,
    fitting_keywords,
    is_surely_related,
    rarities_of,
    relevant,
    word_score,
)
from search.ranking import Snippet, best, snippet
from search.relevance import unrelated_for

_SAYING = 4_000
_READ = 400
_CANDIDATES = 160
_NAMED = 50
_AT_ONCE = 500
_OF_ONE_FILE = 3
_LONGEST_QUERY = 2_000
_MOST_WORDS = 32

_a, _f, _p, _m, _c = attachments.c, file_passages.c, message_parts.c, messages.c, conversations.c
_HAS_FILES = Prepared(select(exists().where(_a.user_email == bindparam("user_email", type_=Text))))


class FileUse(NamedTuple):
    """A file, and the message that has it as its `number`-th. message_index: see `database.messages.message`."""

    sha256: str
    attachment_id: str
    name: str
    number: int
    seq: int
    message_id: str
    message_short_hash: str | None
    sender: str
    created_at: str
    conversation_id: str
    conversation_title: str
    conversation_friendly_id: str | None
    message_index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file that was found. passage: the part of its text that says it; None where its name does."""

    use: FileUse
    passage: StoredPassage | None
    snippet: Snippet


def reference_to(found: FoundFile) -> str | None:
    """The reference to the page that was found, or to the file; None while its conversation has no name."""
    use = found.use
    if not use.conversation_friendly_id:
        return None
    file = file_reference(use.conversation_friendly_id, use.message_short_hash or str(use.message_index), use.number)
    page = found.passage.page if found.passage is not None else None
    return file if page is None else f"{file}_pages_{page}-{page}"


class FoundFiles(NamedTuple):
    """Files, best first. warnings: sentences."""

    files: list[FoundFile]
    warnings: list[str]


@again_in_new_index
def find_files(
    *,
    database: Database,
    user_email: str,
    query: SearchQuery,
    most: int,
    mode: Mode = "words",
    asking: Asking | None = None,
    shows_hidden: bool = True,
) -> FoundFiles:
    """Files of the person's live messages whose names or texts fit `query`, best first, at most `most`.

    mode, asking, shows_hidden: as for `search_messages`. A query without words finds none. Of one file, three passages
    are found at most. At most eleven statements and one for each word, whatever is found; one for a person without
    files, for whom no model is asked either.
    """
    warnings = list[str]()
    if not query.phrases:
        return FoundFiles([], warnings)
    is_question = asking is not None and mode != "words" and not query.exact and is_spoken(query.text.split())
    with database.reading() as connection:
        search = _search(connection, user_email, query, shows_hidden=shows_hidden)
        if search is None or not search.has_files():
            return FoundFiles([], warnings)
        by_words = [] if is_question or mode == "meaning" else search.by_words()
    asks = mode == "meaning" or is_question or (mode == "auto" and not is_enough(query, by_words))
    # The model is asked outside of a transaction: a provider may take a second.
    meaning = asking.meaning(warnings) if asking is not None and asks else None
    with database.reading() as connection:
        search = replace(search, connection=connection)
        meant = list[int]()
        if asking is not None and asks:
            found = search.answers(asking, meaning)
            is_whole = is_question or mode == "meaning"
            fitting = relevant(found) if is_whole else fitting_keywords(found, query.phrases)
            meant = [each.seq for each in fitting]
        ids = list(dict.fromkeys([*by_words, *meant]))
        return FoundFiles(search.described(ids, named=[] if mode == "meaning" else search.named(), most=most), warnings)


@again_in_new_index
def related_files(
    *, database: Database, user_email: str, asking: Asking, most: int, without: Collection[str]
) -> list[FoundFile]:
    """At most `most` passages that surely have to do with a text, best first; none where no model can embed.

    without: ids of messages whose files are not wanted. Files of messages that are hidden from models are not found.
    """
    text = asking.text[:_LONGEST_QUERY]
    query = SearchQuery(phrases=tuple((word,) for word in words(text)))
    meaning = asking.meaning([]) if query.phrases else None
    if meaning is None:
        return []
    with database.reading() as connection:
        conditions = [_m.show_hide != "hide", _m.message_id.not_in(without)]
        scope = Scope(user_email=user_email, conditions=conditions)
        search = _Search(connection=connection, scope=scope, query=query)
        found = search.answers(asking, meaning)
        ids = [each.seq for each in found if is_surely_related(each.similarity or 0.0, each.coverage)]
        return search.described(ids, named=[], most=most)


@again_in_new_index
def messages_with_files(
    *, database: Database, user_email: str, conversation_id: str, q: str, limit: int
) -> list[MessageRow]:
    """The live messages of a conversation whose files are called so or say every word of `q`, best first.

    The last word may be the beginning of one.
    """
    query = SearchQuery(phrases=tuple(word_runs(q[:_LONGEST_QUERY])[:_MOST_WORDS]), beginning=True)
    if not query.phrases:
        return []
    with database.reading() as connection:
        scope = Scope(user_email=user_email, conversation_id=conversation_id)
        search = _Search(connection=connection, scope=scope, query=query)
        found = search.described(search.by_words(), named=search.named(), most=limit)
        seqs = list(dict.fromkeys(each.use.seq for each in found))
        rows = {row.seq: row for row in rows_numbered(connection, seqs)} if seqs else {}
        return [rows[seq] for seq in seqs if seq in rows]


def _search(connection: Connection, user_email: str, query: SearchQuery, *, shows_hidden: bool) -> _Search | None:
    conversation_id = named_conversation(connection, user_email, query.conversation)
    if query.conversation and conversation_id is None:
        return None  # the search of messages says so
    conditions = conditions_of(query) + ([] if shows_hidden else [_m.show_hide != "hide"])
    scope = Scope(
        user_email=user_email, conversation_id=conversation_id, conditions=conditions, excluded=query.excluded
    )
    return _Search(connection=connection, scope=scope, query=query)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """One search over one state of the store."""

    connection: Connection
    scope: Scope
    query: SearchQuery
    _known: dict[int, StoredPassage] = field(default_factory=dict)
    """The passages that were read, by id."""

    def has_files(self) -> bool:
        """Whether the person has any file at all."""
        row = _HAS_FILES.row(self.connection, user_email=self.scope.user_email)
        return row is not None and bool(row[0])

    def by_words(self) -> list[int]:
        """The passages that say every word, best first."""
        expression = expression_for(
            self.connection,
            user_email=self.scope.user_email,
            phrases=self.query.phrases,
            beginning=self.query.beginning,
            excluded=self.scope.excluded,
        )
        saying = PASSAGES.newest(self.connection, expression, most=_SAYING)
        read = self._read(saying, most=_READ)
        return best([(each.passage_id, folded(each.text)) for each in read], self.query.phrases)

    def named(self) -> list[FileUse]:
        """The file that the query is a reference to, or else those whose names hold all words, pictures too.

        One of several of the same content.
        """
        if self.scope.excluded:
            return []
        if (number := file_named_by(self.query.name)) is not None:
            of_message = messages_named_by(self.connection, self.scope.user_email, self.query.name)
            return self._uses(and_(_m.seq.in_(of_message), _p.part_id == number), most=1)
        # Names are compared here, since SQL folds ASCII letters alone; what it can rule out, it does.
        sought = names_sought(self.query.phrases)
        holds = [func.lower(_a.name).contains(word, autoescape=True) for part in sought for word in part.split()]
        may_hold = or_(and_(*holds), engine_of(self.connection).has_more_than_ascii(_a.name))
        each_use = self._used(may_hold).execution_options(yield_per=_AT_ONCE)
        with closing(self.connection.execute(each_use)) as rows:
            named = (FileUse._make([*row, 0]) for row in rows if is_called(row.name, sought))
            return list(_first_of_each(islice(named, _NAMED)).values())

    def answers(self, asking: Asking, meaning: Meaning | None) -> list[Found]:
        """What the passages have to do with what is asked, best first; `seq` is the id of the passage."""
        sought = terms(words(asking.text[:_LONGEST_QUERY]) if not self.query.text else self.query.text.split())
        said = [self._saying(forms) for forms in sought]
        rarities = rarities_of(said, total=None)
        covering = by_coverage(said, rarities, _CANDIDATES)
        similarities = dict[int, float]()
        if meaning is not None:
            similarities = asking.vectors.files.similarities(
                self.connection,
                user_email=self.scope.user_email,
                model=meaning.model,
                query=meaning.vector,
                passages=covering,
            )
            unrelated = unrelated_for(meaning.model)
            expected, spread = unrelated.expected(meaning.vector), unrelated.spread
            similarities = {number: (cosine - expected) / spread for number, cosine in similarities.items()}
        passages = self._read({*covering, *similarities}, most=2 * _READ)
        return _scored(passages, sought, rarities, similarities)

    def described(self, ids: Sequence[int], *, named: Sequence[FileUse], most: int) -> list[FoundFile]:
        """What a client is shown: the files named so, then these passages, which were found, in this order."""
        chosen = _few_of_each(self._known[number] for number in ids)[:most]
        uses = {use.sha256: use for use in named}
        if missing := {each.sha256 for each in chosen} - uses.keys():
            uses |= _first_of_each(self._uses(_a.sha256.in_(missing), most=_READ * _OF_ONE_FILE))
        indexes = places_of(self.connection, [use.seq for use in uses.values()])
        uses = {sha: use._replace(message_index=indexes.get(use.seq, 0)) for sha, use in uses.items()}
        found = [self._shown(uses[each.sha256], each) for each in chosen if each.sha256 in uses]
        known = {each.sha256 for each in chosen}
        by_name = [self._shown(uses[use.sha256], None) for use in named if use.sha256 not in known]
        return [*by_name, *found][:most]

    def _shown(self, use: FileUse, passage: StoredPassage | None) -> FoundFile:
        text = use.name if passage is None else passage.text
        shown = snippet(text, self.query.phrases, beginning=self.query.beginning or passage is None)
        return FoundFile(use=use, passage=passage, snippet=shown)

    def _saying(self, forms: frozenset[str]) -> Sequence[int]:
        said = sorted(forms)
        expression = expression_for(
            self.connection,
            user_email=self.scope.user_email,
            phrases=[said[:1]],
            beginning=True,
            completions=said,
            excluded=self.scope.excluded,
        )
        return PASSAGES.newest(self.connection, expression, most=_SAYING)

    def _read(self, ids: Collection[int], *, most: int) -> list[StoredPassage]:
        """Those of these passages whose files a message of the scope has, newest first."""
        if not ids:
            return []
        used = exists().where(
            _a.user_email == self.scope.user_email,
            _a.sha256 == _f.sha256,
            _p.attachment_id == _a.attachment_id,
            _m.message_id == _p.message_id,
            *self.scope.visible(),
        )
        columns = select(_f.passage_id, _f.sha256, _f.page, _f.line_start, _f.line_end, _f.text)
        query = columns.where(
            _f.passage_id.in_(engine_of(self.connection).listed(ids)), _f.user_email == self.scope.user_email, used
        )
        rows = self.connection.execute(query.order_by(_f.passage_id.desc()).limit(most))
        found = [StoredPassage._make(row) for row in rows]
        self._known.update((each.passage_id, each) for each in found)
        return found

    def _uses(self, which: Any, *, most: int) -> list[FileUse]:
        """The messages of the scope that have files which fit `which`, the first message first."""
        return [FileUse._make([*row, 0]) for row in self.connection.execute(self._used(which).limit(most))]

    def _used(self, which: Any) -> Select[Any]:
        query = (
            select(
                _a.sha256,
                _a.attachment_id,
                _a.name,
                _p.part_id,
                _m.seq,
                _m.message_id,
                _m.message_short_hash,
                _m.sender,
                _m.created_at,
                _m.conversation_id,
                _c.title,
                _c.conversation_friendly_id,
            )
            .select_from(attachments)
            .join(message_parts, _p.attachment_id == _a.attachment_id)
            .join(messages, _m.message_id == _p.message_id)
            .join(conversations, _c.conversation_id == _m.conversation_id)
            .where(_a.user_email == self.scope.user_email, which, *self.scope.visible())
        )
        return query.order_by(_m.seq, _p.part_id)


def _first_of_each(uses: Iterable[FileUse]) -> dict[str, FileUse]:
    found = dict[str, FileUse]()
    for use in uses:
        found.setdefault(use.sha256, use)
    return found


def _few_of_each(passages: Iterable[StoredPassage]) -> list[StoredPassage]:
    """The passages without those of a file that has enough of them already."""
    kept, counts = list[StoredPassage](), dict[str, int]()
    for each in passages:
        counts[each.sha256] = counts.get(each.sha256, 0) + 1
        if counts[each.sha256] <= _OF_ONE_FILE:
            kept.append(each)
    return kept


def _scored(
    passages: Sequence[StoredPassage], sought: Terms, rarities: Sequence[float], similarities: Mapping[int, float]
) -> list[Found]:
    places = {form: place for place, forms in enumerate(sought) for form in forms}
    counted = {each.passage_id: counted_in(each.text, places) for each in passages}
    usual = sum(length for _, length in counted.values()) / max(1, len(counted)) or 1.0
    scored = []
    for number, (said, length) in counted.items():
        share, coverage = word_score(said, length=length / usual, rarities=rarities)
        similarity = similarities.get(number)
        scored.append(Found(number, WORDS * share + (similarity or 0.0), similarity, coverage, coverage))
    return sorted(scored, key=lambda each: (-each.score, each.seq))
