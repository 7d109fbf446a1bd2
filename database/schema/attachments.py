"""Files that people have attached to messages."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text, UniqueConstraint

from .base import metadata

# What lies in the folder of a person's files under `sha256`. Messages use it by a part with its `attachment_id`.
attachments = Table(
    "attachments",
    metadata,
    Column("attachment_id", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    # text, pdf, docx, image
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
    UniqueConstraint("user_email", "sha256", "name", name="uq_attachments_content"),
    Index("idx_attachments_created_at", "created_at"),
)
