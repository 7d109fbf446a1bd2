"""What an agent answers to an activity of its inbox: one request to its model, told of the activity and its thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from activity.recipes import Recipe
from activity.recipes.errors import InvalidPayloadError
from chat.context.activities import activity_block
from chat.context.gather import GatheredContext, fitted, gather, stored_scope
from chat.context.kinds import ReferenceScope
from chat.context.memories import KnowledgeRequest
from chat.exchange.documents import wikilinks_of
from chat.exchange.files import AttachedFiles, PictureRoom, files_attached_to, with_files
from chat.exchange.ports import ConversationLoader, TurnServices
from chat.exchange.report import GIVEN, ReportEntry
from chat.exchange.turn import named_references, tracks_documents
from chat.processes.threads import in_thread
from chat.prompting.citing import Marks, cited_names, shows_marks, without_mark
from chat.prompting.items import neutralised
from chat.prompting.options import AnswerOptions, Preferences, answer_options, preferences_of
from chat.prompting.prompt import ContextBlock, build_prompt, context_chars, template
from chat.turns.accept import chosen_model, model_or_main
from chat.turns.steps import asked_for_hidden, cited_entries
from conversation_reference_utils import parse_references
from database.activities.reading import MESSAGE, Activity
from database.agents.repository import Agent
from database.conversations.repository import get_conversation
from database.engine.database import Database
from database.history.reading import message_by_id
from database.messages.message import WRITTEN_BY_MODEL, Message, MessageRow
from language_models.errors import ContextTooLongError, ModelFailedError
from language_models.ports import ChatMessage, ChatModel, Usage, json_format, json_object
from sentences import NOTHING, Sentence, because, say, says, together

from .answering import instructions

_UNSEEN = ("picture_not_seen", "too_many_pictures")
_SHARES = (1.0, 0.6, 0.35, 0.15)
"""Of the window, one after the other where the model finds a prompt too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What an agent answers: an activity of this recipe and type. config: of a message, who gives the answer.

    said: by the model. tokens: what that took, `prompt_tokens` and `completion_tokens`; empty where nobody says.
    references: what a message cites, in the shape of a report's entries. notice: what the person ought to know of the
    answer; "" for nothing.
    """

    recipe: str
    type: str
    payload: Mapping[str, Any]
    config: Mapping[str, Any] | None
    said: str
    tokens: Mapping[str, int]
    references: Sequence[Mapping[str, Any]] = ()
    notice: Sentence = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """What the answer is. schema: of its payload, for a model that writes JSON; None for one that writes the text."""

    recipe: str
    type: str
    schema: Mapping[str, Any] | None

    @property
    def is_message(self) -> bool:
        return (self.recipe, self.type) == MESSAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Replier:
    """Has agents answer activities. loader_for: what opens the conversations of a person."""

    database: Database
    services: TurnServices
    loader_for: Callable[[str], ConversationLoader]

    async def reply(self, agent: Agent, activity: Activity) -> Reply:
        """The answer of an agent.

        Raises the errors of `language_models.errors`, InvalidPayloadError for JSON that does not fit, NotFoundError
        where the conversation is gone.
        """
        asked = await in_thread(self._prepared, agent, activity)
        said, usage = await asked.answer()
        names = asked.marks.names_in(asked.history, asked.model.name, agent.title)
        text = without_mark(said, names).strip()
        if not text:
            raise ModelFailedError(say("said_nothing"))
        took: dict[str, Any] = {"said": said, "tokens": {} if usage is None else _tokens(usage), "notice": asked.notice}
        form = asked.form
        if not form.is_message:
            payload = {"text": text} if form.schema is None else _json_in(text)
            return Reply(recipe=form.recipe, type=form.type, payload=payload, config=None, **took)
        config = {"model": asked.model.name, "agent": agent.identity}
        if usage is not None:
            config |= {"usage": took["tokens"]}
        cited = await in_thread(self._cited, activity, text)
        payload = {"text": text}
        return Reply(recipe=form.recipe, type=form.type, payload=payload, config=config, references=cited, **took)

    def _prepared(self, agent: Agent, activity: Activity) -> _Asked:
        services, owner = self.services, activity.user_email
        where: dict[str, Any] = {"database": self.database, "user_email": owner}
        settings = get_conversation(**where, conversation_id=activity.conversation_id).settings
        chosen = (
            model_or_main(agent.model, services=services, agent=agent.title)
            if agent.model
            else chosen_model({}, settings, services=services)
        )
        model, files = chosen.model, self._files_of(activity)
        named = self._named_in(activity, files.room_for_pictures(lambda: [model]))
        context = fitted(named, context_chars(model) // 2)
        report = [*named.report, *files.report([model], cap=services.file_cap)]
        preferences = preferences_of(owner, database=self.database)
        form = _form_of(services.recipes.get_recipe_for_activity(activity), services)
        told: dict[str, Any] = {
            "model": model,
            "name": preferences.name,
            "recipes": services.recipes,
            "database": self.database,
        }
        is_alone = activity.is_message and activity.thread_id is None
        return _Asked(
            model=model,
            options=answer_options(settings, {"system_prompt": instructions(agent)} if instructions(agent) else {}),
            preferences=preferences,
            form=form,
            question=self._question_of(activity, form),
            thread="" if is_alone else activity_block(activity, **told),
            history=self._history(activity, model),
            context=context,
            files=files,
            file_cap=services.file_cap,
            notice=together(chosen.notice, asked_for_hidden(named.report), self._not_given(agent, activity, report)),
        )

    def _history(self, activity: Activity, model: ChatModel) -> list[Message]:
        """The newest messages of the conversation beside those of the thread; none for what is no message."""
        if not activity.is_message:
            return []
        known = {activity.activity_id}
        if activity.thread_id is not None:
            recipes, thread_id = self.services.recipes, activity.thread_id
            lines = recipes.build_thread_context(activity.user_email, thread_id, database=self.database)
            known |= {line.activity.activity_id for line in lines}
        conversation = self.loader_for(activity.user_email)(activity.conversation_id)
        recent = conversation.last_messages(max_chars=model.context_window * 4)
        others = [message for message in recent if message["message_id"] not in known]
        if not any(message.get("files") for message in others):
            return others
        own: dict[str, Any] = {"user_email": activity.user_email, "services": self.services}
        return with_files(others, model=model, friendly_id=None, can_read=False, **own)

    def _files_of(self, activity: Activity) -> AttachedFiles:
        """The files that are attached to a message."""
        if not activity.is_message:
            return AttachedFiles()
        own = {"conversation_id": activity.conversation_id, "user_email": activity.user_email}
        return files_attached_to(activity.activity_id, **own, database=self.database, services=self.services)

    def _not_given(self, agent: Agent, activity: Activity, report: Sequence[ReportEntry]) -> Sentence:
        """What of these the agent is not given, and why; "" for nothing but what the question's own report tells."""
        kept_back = [(entry, notes) for entry in report if (notes := _why_kept_back(entry))]
        if not kept_back:
            return NOTHING
        question = self._message(activity)
        told = {
            (_named(entry), note)
            for entry in (question.report if question else [])
            for note in entry.get("notes") or ()
        }
        why = [
            because("of_file", note, name=name)
            for entry, notes in kept_back
            for note in notes
            if ((name := _named(entry.as_dict())), note) not in told
        ]
        return because("inbox_not_given", *why, agent=agent.title, short_id=activity.short_id) if why else NOTHING

    def _named_in(self, activity: Activity, room: PictureRoom) -> GatheredContext:
        """What the text of a message refers to, word for word: documents, too, since no tool opens them here."""
        text = activity.text or ""
        follows_links = "[[" in text and tracks_documents(self._asked_with(activity), self.services)
        links = wikilinks_of(text) if follows_links else []
        names, claim_ids = named_references({}, parse_references(text), links=links)
        if not (names or claim_ids):
            return GatheredContext()
        return gather(names, scope=self._scope(activity, room), request=KnowledgeRequest(claim_ids=claim_ids))

    def _asked_with(self, activity: Activity) -> Mapping[str, Any]:
        """The switches of a question, as they are stored with it; empty for what is no message."""
        message = self._message(activity) if activity.is_message else None
        return {} if message is None else message.config

    def _message(self, activity: Activity) -> MessageRow | None:
        which = {"conversation_id": activity.conversation_id, "message_id": activity.activity_id}
        return message_by_id(database=self.database, user_email=activity.user_email, **which)

    def _cited(self, activity: Activity, text: str) -> list[dict[str, Any]]:
        names = cited_names(text) if "#" in text else []
        return cited_entries(names, partial(self._scope, activity)) if names else []

    def _scope(self, activity: Activity, room: PictureRoom | None = None) -> ReferenceScope:
        owner = activity.user_email
        return stored_scope(
            owner,
            database=self.database,
            loader=self.loader_for(owner),
            services=self.services,
            here=activity.conversation_id,
            shows_hidden=self._is_of_person(activity),
            room=room,
            gives_documents=True,
        )

    def _question_of(self, activity: Activity, form: _Form) -> str:
        """What is asked: the words of the message, those of a person as they are, those of others as data."""
        if activity.text is not None and form.is_message:
            return activity.text if self._is_of_person(activity) else neutralised(activity.text)
        schema = None if form.schema is None else orjson.dumps(dict(form.schema)).decode()
        return template("inbox").render(schema=schema)

    def _is_of_person(self, activity: Activity) -> bool:
        """Whether the person surely did it: no agent, no model, also none of a program, and nobody else."""
        if activity.actor_type != "user" or activity.actor_id != activity.user_email:
            return False
        if not activity.is_message:
            return True
        message = self._message(activity)
        return message is None or not message.config.get(WRITTEN_BY_MODEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A request to a model, with all that it is made of."""

    model: ChatModel
    options: AnswerOptions
    preferences: Preferences
    form: _Form
    question: str
    thread: str
    history: Sequence[Message]
    context: GatheredContext
    files: AttachedFiles
    file_cap: int | None
    notice: Sentence

    @property
    def marks(self) -> Marks:
        return Marks(user=self.preferences.name)

    async def answer(self) -> tuple[str, Usage | None]:
        """What the model says. Where it finds a prompt too long, it gets shorter ones."""
        for share in _SHARES[:-1]:
            try:
                return await self._said(share)
            except ContextTooLongError:
                continue
        return await self._said(_SHARES[-1])

    async def _said(self, share: float) -> tuple[str, Usage | None]:
        options: dict[str, Any] = {"max_tokens": self.options.answer_tokens, "temperature": self.options.temperature}
        if self.form.schema is not None:
            options["response_format"] = json_format(self.form.type, self.form.schema)
        prompt = await asyncio.to_thread(self._prompt, share)
        completion = await self.model.complete(prompt, **options)
        return completion.text, completion.usage

    def _prompt(self, share: float) -> list[ChatMessage]:
        model = self.model
        return build_prompt(
            question=self.question,
            context=ContextBlock(referenced=self.context.rendered()),
            history=self.history,
            summary="",
            instructions=self.options.instructions(model),
            preferences=self.preferences.text(model),
            model=model,
            share=share,
            marks=self.marks if shows_marks(model) else None,
            thread=self.thread,
            files=self.files.rendered(model, cap=self.file_cap, share=share),
            pictures=self.files.pictures(model, self.context.items),
        )


def _named(entry: Mapping[str, Any]) -> str:
    """How people know what an entry of a report is of: a file got its reference after the report of its own message."""
    return str(entry.get("title" if entry.get("kind") == "file" else "ref", ""))


def _why_kept_back(entry: ReportEntry) -> Sequence[Sentence]:
    """Why nothing goes to a model of what an entry tells of, or why pictures of it do not."""
    if entry.status in GIVEN:
        return [note for note in entry.notes if any(says(note, code) for code in _UNSEEN)]
    return () if entry.muted else entry.notes


def _tokens(usage: Usage) -> dict[str, int]:
    return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}


def _form_of(recipe: Recipe, services: TurnServices) -> _Form:
    """The form of answers to activities of this recipe: a chat message, unless the recipe names another type."""
    if recipe.answer_type is None:
        return _Form(recipe=MESSAGE[0], type=MESSAGE[1], schema=None)
    form = _Form(recipe=recipe.domain, type=recipe.answer_type, schema=None)
    try:
        services.recipes.check_payload(recipe, recipe.answer_type, {"text": "Hello"})
    except InvalidPayloadError:
        schema = recipe.activity_types[recipe.answer_type].schema
        return _Form(recipe=form.recipe, type=form.type, schema=schema)
    return form


def _json_in(text: str) -> dict[str, Any]:
    """The JSON object that a model wrote, also within a fence. Raises InvalidPayloadError."""
    try:
        return json_object(text)
    except ValueError as error:
        raise InvalidPayloadError([{"loc": ("payload",), "msg": str(error)}]) from None
