"""What is stored, and how it becomes a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self


@dataclass(slots=True)
class Stored:
    """What all models can: become a row, and come from one. Their fields are the stored columns, in order."""

    _columns: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """The stored columns."""
        return {column: getattr(self, column) for column in self._columns}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Out of a row that has at least the stored columns."""
        return cls(**{column: row[column] for column in cls._columns if column in row})


def columns_of(model: type[Stored], *, computed: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The stored columns of `model`: its fields but those that are `computed`."""
    model._columns = tuple(one.name for one in fields(model) if one.name not in computed)
    return model._columns
