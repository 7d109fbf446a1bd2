"""How many words each indexed message has, packed in blocks: of SQLite's full-text index alone.

FTS5 keeps each length in a row of its own, and a search that asks for the lengths of 5,000 messages would spend most of
its time looking those up. A block holds the lengths of 2,000 consecutive `seq`, two bytes each, and fills one page of
the file. Blocks are packed behind the index, from the first message on; what is not packed yet is looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection

from database.engine.statements import rows_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = 2_000
LONGEST = 65_535
"""Longer messages count as of this length."""

_BYTES = 2
_BEFORE_BODY = 2
"""A stored length begins with those of the owner's and the conversation's token: one word each, in a byte each."""

_LAST = "SELECT max(block) FROM messages_fts_lengths"
_PUT = "INSERT OR REPLACE INTO messages_fts_lengths (block, lengths) VALUES (?, ?)"
_BLOCKS = (
    "SELECT block, lengths FROM messages_fts_lengths WHERE block IN (SELECT value FROM json_each(?)) ORDER BY block"
)
_LENGTHS = "SELECT id, sz FROM messages_fts_docsize WHERE id IN (SELECT value FROM json_each(?))"
_LENGTHS_BETWEEN = "SELECT id, sz FROM messages_fts_docsize WHERE id >= ? AND id < ?"


def create_table(connection: Connection) -> None:
    """Create the empty table where there is none."""
    connection.exec_driver_sql(
        "CREATE TABLE IF NOT EXISTS messages_fts_lengths (block INTEGER NOT NULL PRIMARY KEY, lengths BLOB NOT NULL)"
    )


def pack_next(connection: Connection, *, up_to: int) -> bool:
    """Pack the next block, if messages up to `up_to` are indexed and fill it; whether they did."""
    block = _packed(connection)
    begin, end = block * BLOCK, (block + 1) * BLOCK
    if end > up_to:
        return False
    packed = bytearray(BLOCK * _BYTES)
    _write(packed, connection.exec_driver_sql(_LENGTHS_BETWEEN, (begin, end)), begin=begin)
    connection.exec_driver_sql(_PUT, (block, bytes(packed)))
    return True


def renew(connection: Connection, seqs: Iterable[int]) -> None:
    """Pack the lengths of these messages again, as the index knows them now."""
    packed_before = _packed(connection) * BLOCK
    changed = [seq for seq in sorted(seqs) if seq < packed_before]
    for block, of_block in groupby(changed, key=lambda seq: seq // BLOCK):
        some = list(of_block)
        packed = bytearray(_blocks(connection, [block])[block])
        for seq in some:
            _set(packed, seq - block * BLOCK, 0)
        _write(packed, connection.exec_driver_sql(_LENGTHS, (_json(some),)), begin=block * BLOCK)
        connection.exec_driver_sql(_PUT, (block, bytes(packed)))


def forget(connection: Connection) -> None:
    """Empty the table: the index is filled anew."""
    connection.exec_driver_sql("DELETE FROM messages_fts_lengths")


def lengths_of(connection: Connection, seqs: Sequence[int]) -> NDArray[np.uint16]:
    """The lengths of these indexed messages, in words."""
    import numpy as np

    numbers = np.array(seqs, dtype=np.int64)
    blocks, offsets = np.divmod(numbers, BLOCK)
    wanted, places = np.unique(blocks, return_inverse=True)
    found = _blocks(connection, wanted.tolist())
    nothing = bytes(BLOCK * _BYTES)
    packed = np.frombuffer(b"".join(found.get(block, nothing) for block in wanted.tolist()), dtype="<u2")
    lengths = packed[places * BLOCK + offsets]
    if len(found) < len(wanted):
        unpacked = np.flatnonzero(~np.isin(blocks, list(found)))
        known = {seq: size for seq, size in rows_of(connection, _LENGTHS, (_json(numbers[unpacked].tolist()),))}  # noqa: C416
        lengths[unpacked] = [_words(known[seq]) for seq in numbers[unpacked].tolist()]
    return lengths


def _packed(connection: Connection) -> int:
    """How many blocks there are; they lie without gaps."""
    last = connection.exec_driver_sql(_LAST).scalar()
    return 0 if last is None else int(last) + 1


def _blocks(connection: Connection, blocks: Sequence[int]) -> dict[int, bytes]:
    return {block: packed for block, packed in rows_of(connection, _BLOCKS, (_json(blocks),))}  # noqa: C416


def _write(packed: bytearray, rows: Iterable[Sequence[Any]], *, begin: int) -> None:
    for seq, size in rows:
        _set(packed, seq - begin, _words(size))


def _set(packed: bytearray, place: int, length: int) -> None:
    packed[place * _BYTES : (place + 1) * _BYTES] = length.to_bytes(_BYTES, "little")


def _words(size: bytes) -> int:
    """The last of three numbers as SQLite writes them: seven bits a byte, the highest first."""
    length = 0
    for byte in size[_BEFORE_BODY:]:
        length = length << 7 | byte & 0x7F
    return min(length, LONGEST)


def _json(numbers: Sequence[int]) -> str:
    return orjson.dumps(numbers).decode()
