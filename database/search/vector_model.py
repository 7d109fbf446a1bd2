"""Which embedding model the stored vectors of a kind come from: vectors of two models can't be compared."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from database.schema import search_state


@dataclass(frozen=True, slots=True)
class VectorModel:
    """The model of the vectors of messages, of files or of documents.

    prefix: of the row of `search_state` that names the model.
    """

    prefix: str

    def is_current(self, connection: Connection, model: str) -> bool:
        """Whether the stored vectors come from `model`."""
        named = select(search_state.c.name).where(search_state.c.name == self.prefix + model)
        return connection.execute(named).first() is not None

    def set(self, connection: Connection, model: str) -> None:
        """Store that the vectors come from `model`; the caller deletes those of the former one."""
        former = search_state.c.name.startswith(self.prefix, autoescape=True)
        connection.execute(delete(search_state).where(former))
        connection.execute(insert(search_state).values(name=self.prefix + model, indexed_seq=0))


MESSAGES = VectorModel("vectors:")
FILES = VectorModel("passage_vectors:")
DOCUMENTS = VectorModel("document_vectors:")
