"""The index of people's documents, made of the files of their vaults and made anew from them at will."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from .base import Sequence, metadata

documents = Table(
    "documents",
    metadata,
    Column("document_id", Sequence, primary_key=True, autoincrement=True),
    Column("user_email", Text, nullable=False),
    # Relative to the vault.
    Column("path", Text, nullable=False),
    Column("title", Text, nullable=False),
    # A hash of the file's bytes.
    Column("version", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    # The file's time in nanoseconds, by which a scan sees that it has changed.
    Column("modified_ns", BigInteger, nullable=False),
    Column("front_matter", JSON, nullable=False),
    # [level, text, line] each.
    Column("headings", JSON, nullable=False),
    # Whether the rows of `document_chunks` are those of this text.
    Column("chunked", Integer, nullable=False),
    Column("text", Text, nullable=False),
    UniqueConstraint("user_email", "path", name="uq_documents_path"),
    Index("idx_documents_chunked", "chunked", "document_id"),
    # For how much room the documents of a person take.
    Index("idx_documents_size", "user_email", "size"),
    sqlite_autoincrement=True,
)

# What links may call a document. kind: 0 the file's name, 1 an alias, 2 the title, 3 the first heading.
document_names = Table(
    "document_names",
    metadata,
    Column("document_id", BigInteger, ForeignKey("documents.document_id", ondelete="CASCADE"), primary_key=True),
    Column("kind", Integer, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Index("idx_document_names_folded", "user_email", "folded"),
    sqlite_with_rowid=False,
)

# What they lead to is decided when it is asked, so that no document that comes or goes changes another's rows.
document_links = Table(
    "document_links",
    metadata,
    Column("document_id", BigInteger, ForeignKey("documents.document_id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("user_email", Text, nullable=False),
    Column("line", Integer, nullable=False),
    Column("wikilink", Text, nullable=False),
    # The target's last segment without its extension, and the whole target; both folded.
    Column("file_key", Text, nullable=False),
    Column("whole_key", Text, nullable=False),
    Index("idx_document_links_file_key", "user_email", "file_key"),
    Index("idx_document_links_whole_key", "user_email", "whole_key"),
    sqlite_with_rowid=False,
)

document_chunks = Table(
    "document_chunks",
    metadata,
    Column("chunk_id", Sequence, primary_key=True, autoincrement=True),
    Column("document_id", BigInteger, ForeignKey("documents.document_id", ondelete="CASCADE"), nullable=False),
    Column("user_email", Text, nullable=False),
    Column("line_start", Integer, nullable=False),
    Column("line_end", Integer, nullable=False),
    # The vector; none of a text that the model refuses.
    Column("codes", LargeBinary),
    Index("idx_document_chunks_document", "document_id"),
    Index("idx_document_chunks_user_email", "user_email", "chunk_id"),
    sqlite_autoincrement=True,
)

document_summaries = Table(
    "document_summaries",
    metadata,
    Column("user_email", Text, primary_key=True),
    Column("version", Text, primary_key=True),
    Column("max_length", Integer, primary_key=True, autoincrement=False),
    Column("summary", Text, nullable=False),
    sqlite_with_rowid=False,
)
