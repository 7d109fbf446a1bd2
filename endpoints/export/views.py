"""Conversations, threads and what happened in recipes, as files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

from flask import Blueprint, has_request_context
from pydantic import BeforeValidator, Field

from activity.export import INCLUDED, MEDIA_TYPES, Export, export
from activity.export_document import PageWords, file_name
from attachments.storage import Attachments
from database.accounts.users import get_user
from database.conversations.overview import count_conversations
from database.history.attachments import attachments_by_id, files_of_conversation
from endpoints.http.languages import ENGLISH, requested_language, template_strings
from endpoints.http.models import LARGEST_NUMBER, Id, Query
from endpoints.http.responses import saved_as
from endpoints.http.scope import access_conversation, current_state, current_user_email, current_user_scope
from endpoints.http.streams import FileStream, StreamResponse
from endpoints.http.validation import answers, asks, fails
from endpoints.serving.work_queues import Work, works
from portability.account_archive import AccountSource, account_archive, archive_name
from portability.archived_files import ATTACHMENTS, ArchivedFile, files_of_messages, packed
from portability.bundles import zipped_bundle

blueprint = Blueprint("exports", __name__)

_ZIP = "application/zip"
Included = Literal["chat", "tools", "events", "knowledge", "documents", "agents", "other"]
assert get_args(Included) == INCLUDED


def _split(names: object) -> object:
    return [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else names


IncludedKinds = Annotated[list[Included], BeforeValidator(_split), Field(min_length=1)]


class ConversationExport(Query):
    """What a conversation is to be written down as."""

    format: Annotated[
        Literal["markdown", "html", "json", "bundle"],
        Field(description="`bundle` is a ZIP of the folder that `Conversation.load_local` opens."),
    ] = "markdown"
    files: Annotated[
        bool,
        Field(
            description="Where messages have files: a ZIP of the document and of the files, at "
            "`attachments/<attachment_id>/<name>`. A bundle always has them."
        ),
    ] = False
    include: Annotated[
        IncludedKinds | None,
        Field(description="Separated by commas; `chat` where nothing is named. A bundle has that alone."),
    ] = None


class ActivityExport(Query):
    """Which activities, and how they are written down. Room, thread and recipe narrow each other; one is needed."""

    room: Annotated[Id | None, Field(description="A conversation: its id, friendly id or exact title.")] = None
    thread: Annotated[Id | None, Field(description="A thread id.")] = None
    recipe: Annotated[Id | None, Field(description="The domain of a recipe.")] = None
    after: Annotated[
        Id | None, Field(description="A uuid or short id; the activity is printed too, before what followed it.")
    ] = None
    limit: Annotated[
        int | None, Field(ge=1, le=LARGEST_NUMBER, description="The newest so many; with `after`, the next so many.")
    ] = None
    format: Annotated[Literal["markdown", "html", "json"], Field(description="As what they are written down.")] = (
        "markdown"
    )
    include: Annotated[
        IncludedKinds | None,
        Field(description="Separated by commas; everything with a thread or a recipe, `chat` with only a room."),
    ] = None


@blueprint.get("/export_conversation/<conversation_id>")
@asks(ConversationExport)
@answers(None, media=(*MEDIA_TYPES, _ZIP))
@works(Work.LONG)
def export_conversation(conversation_id: str, query: ConversationExport) -> StreamResponse:
    """A conversation as a file, called after its title: Markdown, a web page, JSON, or a ZIP with its bundle.

    With `files`, the files of its messages come along.
    """
    conversation = access_conversation(conversation_id)
    if query.format == "bundle":
        chunks = zipped_bundle(conversation_id, conversation.save_local)
        name = file_name(conversation.get_metadata()["title"], "zip")
        return _sent(Export(name=name, media=_ZIP, chunks=chunks))
    own, recipes = current_user_scope(), current_state().recipes
    of_room: dict[str, Any] = {
        "room": conversation_id,
        "fmt": query.format,
        "include": query.include,
        "words": _words(),
    }
    if not (query.files and files_of_conversation(**own, conversation_id=conversation_id)):
        return _sent(export(**own, recipes=recipes, **of_room))
    document = export(**own, recipes=recipes, **of_room, files_in=ATTACHMENTS)
    files = _with_files(document, current_state().attachments, user_email=current_user_email())
    return _sent(Export(name=f"{document.name.rpartition('.')[0]}.zip", media=_ZIP, chunks=packed(files)))


def _with_files(document: Export, attachments: Attachments, *, user_email: str) -> Iterator[ArchivedFile]:
    """The document and, once it is written, the files that it names."""
    yield ArchivedFile(path=document.name, chunks=document.chunks)
    ids = sorted(document.file_ids)
    found = attachments_by_id(database=attachments.database, user_email=user_email, attachment_ids=ids)
    yield from files_of_messages(found.values(), attachments)


@blueprint.get("/api/export")
@asks(ActivityExport)
@answers(None, media=MEDIA_TYPES)
@fails("conversation_not_found", "thread_not_found", "recipe_not_found", "activity_not_found", "ambiguous")
@works(Work.LONG)
def export_activities(query: ActivityExport) -> StreamResponse:
    """What happened in a conversation, in a thread, or in a recipe's domain, as a file."""
    return _sent(
        export(
            **current_user_scope(),
            recipes=current_state().recipes,
            room=query.room,
            thread=query.thread,
            after=query.after,
            recipe=query.recipe,
            limit=query.limit,
            fmt=query.format,
            include=query.include,
            words=_words(),
        )
    )


@blueprint.get("/export_account")
@answers(None, media=_ZIP)
@fails("knowledge_unavailable", "vault_unavailable")
@works(Work.LONG)
def export_account() -> StreamResponse:
    """Everything of the caller's as one ZIP: conversations, memories, documents, settings. Keys are not in it.

    The header `X-Anaphora-Conversations` says how many conversations there are.
    """
    user_email = current_user_email()
    chunks = account_archive(account_source(user_email))
    response = _sent(Export(name=archive_name(user_email), media=_ZIP, chunks=chunks))
    response.headers["X-Anaphora-Conversations"] = str(count_conversations(**current_user_scope()))
    return response


def account_source(user_email: str) -> AccountSource:
    """Where the things of an account are read from; works outside of a request too.

    The pages are in the language of the account, else in that of the browser.
    """
    state = current_state()
    servers = state.tool_servers.servers_of(user_email)
    return AccountSource(
        user_email=user_email,
        database=state.database,
        recipes=state.recipes,
        memories=state.knowledge.for_user(user_email),
        vault=state.vaults.of(user_email),
        tool_servers=[
            {"name": each.name, "url": each.server.url, "headers": sorted(each.server.headers), "is_on": each.is_on}
            for each in servers
        ],
        attachments=files_of_messages(state.attachments.list_of(user_email), state.attachments),
        words=words_for(user_email),
    )


def _words() -> PageWords:
    return words_for(current_user_email())


def words_for(user_email: str) -> PageWords:
    """The words of a page for a person: in the language of the account, else in that of the browser."""
    chosen = get_user(database=current_state().database, user_email=user_email).language
    language = chosen or (requested_language() if has_request_context() else ENGLISH)
    return PageWords(language, template_strings(language))


def _sent(made: Export) -> StreamResponse:
    response = StreamResponse(FileStream(made.chunks), media=made.media)
    response.headers["Content-Disposition"] = saved_as(made.name)
    return response
