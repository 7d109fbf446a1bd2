"""The full-text index of messages: SQLite's FTS5 (here) or PostgreSQL's (`postgresql`), joined by `seq`.

It is filled asynchronously, in order of `seq`, up to a mark. Each word stands behind a prefix of its owner, so that a
search walks through the caller's words alone, however many other people say the same; two tokens tell a row's owner and
its conversation. The index keeps no texts. Words are split here, the same way for stored texts and for queries.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2s
from typing import NamedTuple

from sqlalchemy import Connection, func, select, update

from database.engine.statements import Prepared, rows_of
from database.messages.message import MessageRow
from database.schema import messages, search_state

from . import lengths, postgresql, vocabulary
from .vectors import queue_vectors, renew_vectors

_NAME = "message_terms"
_SHORT = 3
_NO_END = 2**62
_COMPLETIONS = 64
_ROW = "(rowid, owner, conversation, body) VALUES (?, ?, ?, ?)"
_PUT = f"INSERT INTO messages_fts {_ROW}"
_REMOVE = "INSERT INTO messages_fts (messages_fts, rowid, owner, conversation, body) VALUES ('delete', ?, ?, ?, ?)"
_MARK_ROW = select(search_state.c.indexed_seq).where(search_state.c.name == _NAME)
_MARK = Prepared(_MARK_ROW)
_MARK_AND_NEWEST = Prepared(_MARK_ROW.add_columns(select(func.max(messages.c.seq)).scalar_subquery()))
# From one word to the next, past everything that says it; char(1) comes before any letter that goes on. Of a damaged
# index its list of words says that the file is damaged; naming the index itself has it say that the index is.
_BEGINNING_WITH = """
    WITH RECURSIVE known(word) AS (
        SELECT (SELECT term FROM messages_words WHERE term >= :beginning LIMIT 1)
        UNION ALL
        SELECT (SELECT term FROM messages_words WHERE term >= known.word || char(1) LIMIT 1)
        FROM known WHERE known.word < :end
        LIMIT :most
    )
    SELECT word FROM known WHERE word < :end AND NOT EXISTS (SELECT 1 FROM messages_fts WHERE FALSE)
"""

# Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic: often left out, so they don't count.
OPTIONAL_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")
# Scripts that don't part words by spaces: each character stands alone, and adjacent ones are found as a phrase.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
WORD = re.compile(rf"[{UNSPACED}]|(?:[^\W_{UNSPACED}]|[\u0900-\u0dff])+")

_DIGITS = "0123456789abcdefghijklmnopqrstuv"
PREFIX_LENGTH = 8
"""Characters of `term_prefix`; SQLite's index of beginnings counts them, too."""

_BREAKS = {code: " " for code in range(128) if not chr(code).isalnum()}


class IndexedText(NamedTuple):
    """A row of the index: what it stores of one message. body: its terms, parted by spaces."""

    seq: int
    owner: str
    conversation: str
    body: str


def create_table(connection: Connection) -> None:
    """Create an empty full-text table where there is none; the mark is left as it is."""
    # The words arrive cut and folded; `ascii` parts them at spaces and leaves every other script alone.
    connection.exec_driver_sql(
        "CREATE VIRTUAL TABLE IF NOT EXISTS messages_fts USING fts5("
        f"owner, conversation, body, content='', tokenize='ascii', prefix='{PREFIX_LENGTH + 2} {PREFIX_LENGTH + 3}')"
    )


def folded(text: str) -> str:
    """`text` normalised for search: lower case, without optional diacritics and compatibility forms."""
    if text.isascii():
        return text.lower()
    # Compatibility forms first: what they stand for may have a case of its own.
    return OPTIONAL_MARKS.sub("", unicodedata.normalize("NFKD", text).lower())


def words(text: str) -> list[str]:
    """The words of `text`, folded, in order."""
    if text.isascii():
        return text.lower().translate(_BREAKS).split()  # as below, five times as fast
    return WORD.findall(folded(text))


def word_runs(text: str) -> list[tuple[str, ...]]:
    """The words of `text`, folded, each alone; but those together that are a run of a script without spaces."""
    plain, runs, end = folded(text), list[tuple[str, ...]](), -1
    for match in WORD.finditer(plain):
        word, is_unspaced = match[0], UNSPACED_CHARACTER.match(match[0]) is not None
        if is_unspaced and match.start() == end:
            runs[-1] = (*runs[-1], word)
        else:
            runs.append((word,))
        end = match.end() if is_unspaced else -1
    return runs


def folded_name(text: str) -> str:
    """`text` as names (titles, names of files) are compared: as `folded` has it, and "ß" is "ss"."""
    return folded(text).casefold()


def name_words(text: str) -> list[str]:
    """The words of a name, as `folded_name` has them; of a script without spaces each character is one."""
    return [word.casefold() for word in words(text)]


def names_sought(phrases: Sequence[Sequence[str]]) -> list[str]:
    """What names are asked for: the words of each phrase as `name_words` has them, side by side."""
    return [" ".join(name_words(" ".join(phrase))) for phrase in phrases]


def is_called(name: str, sought: Sequence[str]) -> bool:
    """Whether all of `names_sought` stand in a name, within its words, too."""
    plain = " ".join(name_words(name))
    return all(part in plain for part in sought)


def indexed_text(*, seq: int, user_email: str, conversation_id: str, text: str) -> IndexedText:
    """The row of the index for a message with this text; cutting its words is half of the work of indexing."""
    return IndexedText(seq, owner_token(user_email), _token("c", conversation_id), terms_of(user_email, text))


def terms_of(user_email: str, text: str) -> str:
    """What an index holds of a person's text: its words, each behind the person's prefix, parted by spaces."""
    prefix = term_prefix(user_email)
    return prefix + f" {prefix}".join(said) if (said := words(text)) else ""


@lru_cache(maxsize=1_000)
def term_prefix(user_email: str) -> str:
    """What every word of a person begins with in an index: a digit, so that no token is like a word, and seven more.

    Two people may have the same one, so that what the index finds is compared with its owner where it is read.
    """
    number = int.from_bytes(blake2s(user_email.encode(), digest_size=8).digest())
    first, *others = (number >> 5 * place & 31 for place in range(PREFIX_LENGTH))
    return "".join((str(first % 10), *(_DIGITS[other] for other in others)))


def indexed_seq(connection: Connection) -> int:
    """The mark: messages up to this `seq` are in the index, if they are live."""
    row = _MARK.row(connection)
    assert row is not None
    return int(row[0])


def waiting_behind(connection: Connection) -> int | None:
    """The mark if messages of anybody after it wait to be indexed; None if all are indexed."""
    row = _MARK_AND_NEWEST.row(connection)
    assert row is not None
    mark, newest = row
    return int(mark) if newest is not None and newest > mark else None


def advance(connection: Connection, texts: Sequence[IndexedText], *, up_to: int, queues_vectors: bool = True) -> None:
    """Add `texts` and move the mark to `up_to`. queues_vectors: also queue missing vectors."""
    _put(connection, texts)
    if queues_vectors:
        queue_vectors(connection, [text.seq for text in texts])
    connection.execute(update(search_state).where(search_state.c.name == _NAME).values(indexed_seq=up_to))


def reindex(connection: Connection, message: MessageRow, *, text: str | None) -> None:
    """Replace the row of `message`, as it is stored now, by `text`; None removes it.

    Call it before the message itself is changed.
    """
    if message.seq > indexed_seq(connection):
        return  # its turn is still to come
    known = _as_indexed(message, message.text)
    _remove(connection, [known])
    if text is not None:
        _put(connection, [_as_indexed(message, text)])
    renew_vectors(connection, message, keep=text is not None)


def readmit(connection: Connection, message: MessageRow) -> None:
    """Index a removed `message` again."""
    if message.seq <= indexed_seq(connection):
        _put(connection, [_as_indexed(message, message.text)])
        renew_vectors(connection, message, keep=True)


def forget(connection: Connection, seqs: Sequence[int]) -> None:
    """Remove the messages with these `seq` from the index; before their rows are deleted."""
    _remove(connection, _within_index(connection, seqs))


def admit(connection: Connection, seqs: Sequence[int]) -> None:
    """Add the messages with these `seq` up to the mark; they must not be in the index."""
    _put(connection, _within_index(connection, seqs))


def _within_index(connection: Connection, seqs: Sequence[int]) -> list[IndexedText]:
    """What the index holds, or is to hold, of those of these messages that it reaches."""
    query = select(messages.c.seq, messages.c.user_email, messages.c.conversation_id, messages.c.text).where(
        messages.c.seq.in_(seqs), messages.c.deleted_at.is_(None), messages.c.seq <= indexed_seq(connection)
    )
    return [indexed_text(**row._mapping) for row in connection.execute(query)]


def newest_hits(
    connection: Connection, *, user_email: str, conversation_id: str, phrases: Sequence[Sequence[str]], limit: int
) -> list[int]:
    """`seq` of the newest `limit` messages of a person's conversation with all `phrases`; the last word may go on."""
    beginning = len(phrases[-1][-1]) > 1
    expression = expression_for(
        connection,
        user_email=user_email,
        conversation_id=conversation_id,
        phrases=phrases,
        beginning=beginning,
        completions=completions(connection, user_email, phrases[-1][-1]) if beginning else None,
    )
    if _is_postgresql(connection):
        return postgresql.newest(connection, expression, before=_NO_END, most=limit).seqs
    return list(
        connection.exec_driver_sql(
            "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rowid DESC LIMIT ?", (expression, limit)
        ).scalars()
    )


def completions(connection: Connection, user_email: str, beginning: str) -> list[str] | None:
    """The words that a person's messages say and that begin so; None where those are many, or the beginning is short.

    Both indexes collect all that say a word of an open beginning before they look at anything else, also those that are
    too old. Words they walk through only as far as they are asked for. FTS5 has an index of its own for short
    beginnings.
    """
    term = term_prefix(user_email) + beginning
    if _is_postgresql(connection):
        found = postgresql.beginning_with(connection, term, most=_COMPLETIONS + 1)
    elif len(beginning) > _SHORT:
        parameters = {"beginning": term, "end": term + chr(sys.maxunicode), "most": _COMPLETIONS + 2}
        found = [row[0] for row in rows_of(connection, _BEGINNING_WITH, parameters)]
    else:
        return None
    return [each[PREFIX_LENGTH:] for each in found] if 0 < len(found) <= _COMPLETIONS else None


def expression_for(
    connection: Connection,
    *,
    user_email: str,
    phrases: Sequence[Sequence[str]],
    beginning: bool,
    completions: Sequence[str] | None = None,
    one_of: Sequence[str] = (),
    conversation_id: str | None = None,
    excluded: Sequence[Sequence[str]] = (),
    not_in: Sequence[str] = (),
) -> str:
    """What an index is asked for: texts of one person, or messages of one conversation of theirs, with all `phrases`.

    beginning: the last word may go on; give it for one of two characters or more, since shorter ones are in no prefix
    index and match nearly everything. completions: the words that it may be, where that is known. one_of: words of the
    list (`vocabulary`), of which one is said. excluded: phrases that are not said. not_in: conversations that are left
    out. People with an equal prefix are found, too: compare the owner where rows are read.
    """
    prefix = term_prefix(user_email)
    sought = [_behind(prefix, phrase) for phrase in phrases]
    completed = _behind(prefix, completions or ())
    any_of = _behind(prefix, one_of)
    unwanted_phrases = [_behind(prefix, phrase) for phrase in excluded]
    owners = [] if sought or any_of else [owner_token(user_email)]
    places = [_token("c", conversation_id)] if conversation_id is not None else []
    elsewhere = [_token("c", one) for one in not_in]
    if _is_postgresql(connection):
        return postgresql.expression_of(
            tokens=[*owners, *places],
            phrases=sought,
            beginning=beginning,
            completions=completed,
            one_of=any_of,
            excluded=unwanted_phrases,
            unwanted_tokens=elsewhere,
        )
    conditions = [_quoted(phrase) for phrase in sought]
    if beginning and completed:
        conditions[-1] = f"({' OR '.join(_quoted([*sought[-1][:-1], term]) for term in completed)})"
    elif beginning:
        conditions[-1] += " *"
    conditions += [f"({' OR '.join(map(_listed, any_of))})"] if any_of else []
    wanted = [f'owner : "{token}"' for token in owners] + [f'conversation : "{token}"' for token in places] + conditions
    unwanted = [_quoted(phrase) for phrase in unwanted_phrases] + [f'conversation : "{token}"' for token in elsewhere]
    expression = " AND ".join(wanted)
    return f"({expression}) NOT ({' OR '.join(unwanted)})" if unwanted else expression


def owner_token(user_email: str) -> str:
    """The token that the rows of a person carry."""
    return _token("u", user_email)


def _behind(prefix: str, words: Iterable[str]) -> list[str]:
    return [prefix + word for word in words]


def _quoted(phrase: Sequence[str]) -> str:
    return f'"{" ".join(phrase)}"'


def _listed(term: str) -> str:
    return f'"{term}" *' if len(term) >= vocabulary.LONGEST_TERM else f'"{term}"'


def _as_indexed(message: MessageRow, text: str) -> IndexedText:
    return indexed_text(
        seq=message.seq, user_email=message.user_email, conversation_id=message.conversation_id, text=text
    )


def _put(connection: Connection, texts: Sequence[IndexedText]) -> None:
    if _is_postgresql(connection):
        postgresql.put(connection, texts)
    elif texts:
        connection.exec_driver_sql(_PUT, [tuple(text) for text in texts])
        lengths.renew(connection, [text.seq for text in texts])
    vocabulary.add(connection, (text.body for text in texts))


def _remove(connection: Connection, texts: Sequence[IndexedText]) -> None:
    if _is_postgresql(connection):
        postgresql.remove(connection, [text.seq for text in texts])
    elif texts:
        connection.exec_driver_sql(_REMOVE, [tuple(text) for text in texts])
        lengths.renew(connection, [text.seq for text in texts])
    vocabulary.doubt(connection, (text.body for text in texts))


def _is_postgresql(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"


def _token(kind: str, name: str) -> str:
    return kind + blake2s(name.encode(), digest_size=10).hexdigest()
