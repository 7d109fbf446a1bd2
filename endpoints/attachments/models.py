"""Request and response models of files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from endpoints.http.models import LARGEST_NUMBER, Query, Shape, Text


class UploadQuery(Query):
    """What the file is called; a form says it as well."""

    name: Annotated[
        Annotated[Text, Field(min_length=1, max_length=1_000)] | None,
        Field(description="What the file is called; a form says it as well."),
    ] = None


class AttachmentItem(Shape):
    """A file. `kind`: how it is read; `size`: in bytes; `width`, `height`: of a picture.

    `file_id` and `type` are other names of `attachment_id` and `media_type`, as `/files` is one of `/attachments`.
    `problem`: why there is no text, or not all of it, or why it may be wrong (`encoding`); "" for none.
    """

    attachment_id: str
    file_id: str
    name: str
    media_type: str
    type: str
    kind: Literal["text", "pdf", "docx", "xlsx", "odt", "pptx", "image"]
    size: int
    pages: int | None
    characters: int | None
    lines: int | None
    width: int | None
    height: int | None
    problem: Literal["", "no_text", "encrypted", "damaged", "too_costly", "cut", "encoding"]
    created_at: str


class FileOfConversation(Shape):
    """A file of a message, `number` counting those of the message from 1.

    `attachment_id`: null for a file that another program had and did not give along. `message_index`: 0 for a message
    on another branch. `size`: in bytes; `problem`: see `AttachmentItem`.
    """

    attachment_id: str | None = None
    number: int
    kind: Literal["file", "image"]
    name: str = ""
    media_type: str | None = None
    size: int | None = None
    pages: int | None = None
    lines: int | None = None
    width: int | None = None
    height: int | None = None
    problem: str = ""
    message_id: str
    message_index: int
    message_short_hash: str | None
    sender: str
    created_at: str


class ContentQuery(Query):
    """Which form of the file: as it was uploaded, or a picture as it is shown."""

    form: Annotated[
        Literal["original", "picture"], Field(description="The file as it was uploaded, or a picture as it is shown.")
    ] = "original"


class PageQuery(Query):
    """The page, from 1; of a file without pages there is one."""

    page: Annotated[
        int, Field(ge=1, le=LARGEST_NUMBER, description="The page, from 1; a file without pages has one.")
    ] = 1


class AttachmentText(Shape):
    """The text of one page. `pages`: how many the file has."""

    page: int
    pages: int
    text: str
