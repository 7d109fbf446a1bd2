"""Search: what a person wrote, found by words, by patterns of operators, and by meaning.

`questions` answers a query in a person's own words, `query` reads operators, `meaning` keeps the vectors of messages,
`vectors` compares them; SQL of one engine lies in its module (`sqlite`, `postgresql`), chosen by `engine_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, Row, Select

from . import postgresql, sqlite


class Engine(Protocol):
    """The functions that both modules have."""

    def listed(self, numbers: Iterable[int]) -> Select[tuple[int]]:
        """`numbers` as a subquery."""

    def newest_of_each(self, connection: Connection, expressions: Sequence[str], *, most: int) -> list[Sequence[int]]:
        """`seq` of the newest messages that fit each expression, newest first, at most `most` each."""

    def candidates(
        self,
        connection: Connection,
        expression: str,
        *,
        user_email: str,
        up_to: int,
        conditions: Mapping[str, str],
        by_length: bool,
        only_live: bool,
    ) -> tuple[Sequence[Any], bool]:
        """(seq, text) of messages that fit `expression`, newest first, and whether more fit than those.

        Of the newest 5,000 hits the newest and, by_length, the shortest are read: 400 together. conditions: values of
        "actor", "after" and "before". only_live: whether `expression` leaves out every conversation that is temporary
        or in the bin, so that none has to be looked up.
        """

    def shown(self, connection: Connection, seqs: Sequence[int]) -> Sequence[Sequence[Any]]:
        """What a search shows of the live messages with these `seq`, in any order.

        (seq, message_id, conversation_id, sender, text, message_short_hash, created_at, model, ordinal, title, friendly
        id, whether all messages of the conversation are live and on the active path).
        """

    def older(self, connection: Connection, expression: str, *, before: int, most: int) -> Sequence[int]:
        """`seq` of the newest messages that fit `expression` and come before `before`, newest first; `most` of them."""

    def says(self, said: ColumnElement[str], words: str) -> ColumnElement[bool]:
        """Whether `said` holds `words` as they are, case included."""

    def has_more_than_ascii(self, text: ColumnElement[str]) -> ColumnElement[bool]:
        """Whether `text` has characters that SQL doesn't fold: its case and its diacritics are to be compared here."""

    def left_out(self, connection: Connection, *, user_email: str) -> tuple[Sequence[str], bool]:
        """A person's temporary conversations, and those in the bin, the last 200 of each; and whether these are all."""

    def titled(
        self,
        connection: Connection,
        *,
        user_email: str,
        domain: str | None,
        fragments: Sequence[str],
        among: Sequence[str] | None,
    ) -> Iterable[Row[Any]]:
        """Friendly id, title, id and time of the conversations whose titles may hold all `fragments`, newest first.

        Titles with other than ASCII characters, which SQL doesn't fold as we do, are left to the caller. Temporary
        conversations are left out. among: of those with these ids.
        """


def engine_of(connection: Connection) -> Engine:
    """The module for the database that `connection` leads to."""
    return postgresql if connection.dialect.name == "postgresql" else sqlite
