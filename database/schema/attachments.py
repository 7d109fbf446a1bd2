"""Files that people have attached to messages, and what is found of them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from .base import Sequence, metadata

# What lies in the folder of a person's files under `sha256`. Messages use it by a part with its `attachment_id`.
attachments = Table(
    "attachments",
    metadata,
    Column("attachment_id", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    # text, pdf, docx, xlsx, odt, pptx, image
    Column("kind", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("pages", Integer),
    Column("characters", Integer),
    Column("lines", Integer),
    Column("width", Integer),
    Column("height", Integer),
    # Why there is no text, or not all of it; "" for none.
    Column("problem", Text, nullable=False, server_default=""),
    Column("created_at", Text, nullable=False),
    # Whether all of its text is in `file_passages`.
    Column("indexed", Integer, nullable=False, server_default="0"),
    UniqueConstraint("user_email", "sha256", "name", name="uq_attachments_content"),
    Index("idx_attachments_created_at", "created_at"),
    Index(
        "idx_attachments_waiting",
        "created_at",
        sqlite_where=text("indexed = 0"),
        postgresql_where=text("indexed = 0"),
    ),
)

# The text of a content, cut into parts of a page or of some lines; `number` counts them.
file_passages = Table(
    "file_passages",
    metadata,
    Column("passage_id", Sequence, primary_key=True, autoincrement=True),
    Column("user_email", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("number", Integer, nullable=False),
    # NULL for a format without pages.
    Column("page", Integer),
    # Of the page, or of the file where it has none.
    Column("line_start", Integer, nullable=False),
    Column("line_end", Integer, nullable=False),
    Column("text", Text, nullable=False),
    # Whether its vectors were made.
    Column("embedded", Integer, nullable=False, server_default="0"),
    UniqueConstraint("user_email", "sha256", "number", name="uq_file_passages_number"),
    Index(
        "idx_file_passages_waiting",
        "passage_id",
        sqlite_where=text("embedded = 0"),
        postgresql_where=text("embedded = 0"),
    ),
    sqlite_autoincrement=True,
)

passage_vectors = Table(
    "passage_vectors",
    metadata,
    Column("vector_id", Sequence, primary_key=True, autoincrement=True),
    Column("passage_id", BigInteger, ForeignKey("file_passages.passage_id", ondelete="CASCADE"), nullable=False),
    Column("user_email", Text, nullable=False),
    Column("codes", LargeBinary, nullable=False),
    Index("idx_passage_vectors_passage", "passage_id"),
    Index("idx_passage_vectors_user_email", "user_email", "vector_id"),
    sqlite_autoincrement=True,
)
