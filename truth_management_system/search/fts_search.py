"""Finding claims by their words."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, bindparam, select

from sentences import say

from ..crud.filters import Conditions, SearchFilters, in_sql
from ..database import PKBDatabase, Prepared
from ..models import CLAIM_COLUMNS, Claim
from ..schema.fulltext import CLAIM_SEARCH_COLUMNS, Search, any_of, beginning, said_in
from ..schema.operators import among, unindexed
from ..schema.tables import claims
from .base import Found, SearchResult, SearchStrategy
from .fulltext import Searched, SearchedTable, best_matches
from .query_words import query_words

CLAIMS = SearchedTable(
    table=claims,
    rowid="claim_rowid",
    number="claim_number",
    body="statement",
    columns=(
        (("statement", "subject_text", "predicate", "object_text"), 1.0),
        (("possible_questions",), 0.7),
        (("context_domain", "friendly_id"), 0.4),
    ),
    in_sql=in_sql,
)
_BY_ROWID = Prepared(
    select(claims.c.claim_rowid, *(claims.c[name] for name in CLAIM_COLUMNS)).where(
        among(claims.c.claim_rowid, "rowids"), unindexed(claims.c.user_email) == bindparam("user")
    )
)


class FTSSearchStrategy(SearchStrategy):
    """Full-text search over the claims of one user."""

    name = "fts"

    def __init__(self, db: PKBDatabase, user_email: str | None = None) -> None:
        self.db = db
        self.user_email = user_email or ""

    def find(self, query: str, k: int = 20, filters: SearchFilters | None = None) -> Found:
        """At most `k` claims that hold words of `query`, those with all of them first. Any text is a query."""
        return self.find_first(query, k, filters, read=None)

    def find_first(self, query: str, k: int, filters: SearchFilters | None, *, read: int | None) -> Found:
        """The first `read` of what `find` finds, without reading the others from the store; None: all."""
        return Found(results=self._found(CLAIMS, query, k, filters, read=read))

    def search_by_column(
        self, column: str, query: str, k: int = 20, filters: SearchFilters | None = None
    ) -> list[SearchResult]:
        """Like `search`, in one column. Raises ValueError for a column that is not searched."""
        if column not in CLAIM_SEARCH_COLUMNS:
            raise ValueError(f"{column!r} can't be searched; use one of {', '.join(CLAIM_SEARCH_COLUMNS)}.")
        said = any_of(map(beginning, query_words(query) or [""]))
        search = Search(query=said, columns=(column,), owner=None)
        return self._found(_one_column(column), query, k, filters, said=search)

    def _found(
        self,
        table: SearchedTable,
        query: str,
        k: int,
        filters: SearchFilters | None,
        *,
        read: int | None = None,
        **given: Any,
    ) -> list[SearchResult]:
        conditions, values = (filters or SearchFilters()).conditions()
        values |= given
        searched = Searched(db=self.db, table=table, user_email=self.user_email, conditions=conditions, values=values)
        best = best_matches(searched, query, k)[:read]
        claims = claims_by_rowid(self.db, self.user_email, [match.rowid for match in best])
        found = [(match, claims[match.rowid]) for match in best if match.rowid in claims]
        return [
            found_claim(claim, score=match.score, source=self.name, coverage=match.coverage) for match, claim in found
        ]


@cache
def _one_column(column: str) -> SearchedTable:
    def conditions_in_sql(conditions: Conditions) -> list[ColumnElement[Any]]:
        return [*in_sql(conditions), said_in(claims.c[column])]

    return replace(CLAIMS, columns=(((column,), 1.0),), in_sql=conditions_in_sql)


def claims_by_rowid(db: PKBDatabase, user_email: str, rowids: list[int]) -> dict[int, Claim]:
    """The user's claims with these rowids."""
    if not rowids:
        return {}
    rows = db.rows(_BY_ROWID, user=user_email, rowids=rowids)
    return {row[0]: Claim(*row[1:]) for row in rows}


def found_claim(claim: Claim, *, score: float, source: str, **metadata: Any) -> SearchResult:
    """A result that says so where its claim is contested."""
    warnings: list[str] = [say("is_contested")] if claim.is_contested else []
    return SearchResult(
        claim=claim,
        score=score,
        source=source,
        is_contested=claim.is_contested,
        warnings=warnings,
        metadata=metadata,
    )
