"""Request and response models of imports."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from endpoints.http.models import Body, Id, Query, Saying, Shape, Text

State = Literal["counting", "ready", "running", "paused", "done", "failed", "cancelled", "undoing", "undone"]


class UploadName(Query):
    """A file that is imported."""

    name: Annotated[
        Annotated[str, Field(min_length=1, max_length=255)] | None,
        Field(description="What the file is called on the person's machine; a form says it as well."),
    ] = None
    start: Annotated[bool, Field(description="Import all of the file at once.")] = False


class ImportSource(Shape):
    """A source whose files can be imported. `expects`: which files."""

    source: str
    title: str
    expects: str


class ImportItem(Shape):
    """An import. `state`: `counting` and `ready` before it is started; `conversations` and `messages` are those of the
    file, of its whole once `counted`. `done`: messages that were read since it was started, also those of conversations
    that were not chosen. `imported`, `updated`, `skipped`, `failed`: conversations, and what came beside them, as
    documents; each memory of the first implementation. `messages_per_second` and `seconds_left` are null where they
    are unknown. `error_said`: why it failed, for other languages. `next_try_at`: when it is tried again, where it is
    under way and could not be stored; `error` says why then, too. `job_id` is another name of `import_id`, as `/jobs`
    is one of `/imports`.
    """  # noqa: D205

    import_id: str
    job_id: str
    source: str
    source_title: str
    file_name: str
    file_size: int
    state: State
    counted: bool
    conversations: int
    messages: int
    done: int
    imported: int
    updated: int
    skipped: int
    failed: int
    error: str
    error_said: list[Saying]
    messages_per_second: float | None
    seconds_left: float | None
    next_try_at: str | None
    created_at: str
    updated_at: str


class ConversationOfFile(Shape):
    """A conversation in the file, by the source's id. `created_at`: null where it is not known before the import."""

    id: str
    title: str
    messages: int
    created_at: str | None


class Failure(Shape):
    """What was not imported, and why; or what an undo kept, and why. `said`: the reason, for other languages.

    `item_said`: the place of the item in its file, likewise; empty where `item` is its name.
    """

    item: str
    reason: str
    said: list[Saying]
    item_said: list[Saying]


class ImportDetails(ImportItem):
    """An import with the first 1,000 conversations of its file, failures, and what an undo kept.

    `vectors_left`: how many of your messages, whether imported or not, can't be found by meaning yet; null where no
    model for that is there. `to_learn_from`: the paths of documents that came with it and say what another program
    remembered of you, as Claude's `memories.json`: memories can be taken from their texts (`POST /pkb/ingest_text`).
    """

    vectors_left: int | None
    to_learn_from: list[str]
    titles: list[ConversationOfFile]
    failures: list[Failure]
    kept: list[Failure]


class ImportOutcome(Shape):
    """What became of the conversations of a file. `failed` holds the first 1,000; `failed_count` counts all."""

    file_name: str
    source: str
    state: State
    imported: int
    updated: int
    skipped: int
    failed_count: int
    failed: list[Failure]
    kept: list[Failure]
    error: str
    created_at: str
    updated_at: str


class Choice(Body):
    """What is imported, and where to. `conversations`: the source's ids; null for all of them. `workspace_id`: null for
    the default one; folders and projects of the source become workspaces of their names either way.
    """  # noqa: D205

    conversations: Annotated[list[Annotated[Text, Field(max_length=400)]], Field(max_length=100_000)] | None = None
    workspace_id: Id | None = None
    domain: Annotated[Text, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")] = "assistant"
