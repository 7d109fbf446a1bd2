"""What all tables share."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, MetaData

metadata = MetaData()

# SQLite numbers rows by itself only in a column of exactly the type INTEGER.
Sequence = BigInteger().with_variant(Integer, "sqlite")
