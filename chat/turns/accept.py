"""Accepting a turn: a new message or a stored one to be answered again, and the model that answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat.exchange.documents import AnswerDocuments, wikilinks_of
from chat.exchange.errors import EmptyMessageError, MessageTooLongError
from chat.exchange.parts import AnswerParts
from chat.exchange.ports import TurnServices
from chat.exchange.services import default_services
from chat.exchange.turn import Answerer, Turn, named_references, tracks_documents
from chat.prompting.options import AnswerOptions, Preferences, answer_options, asked_preferences, preferences_of
from chat.prompting.prompt import GivenAnswer
from conversation_reference_utils import parse_references
from database.connection import database_of
from database.engine.database import Database
from database.engine.text import storable
from database.messages.message import MAX_MESSAGE_CHARS, WRITTEN_BY_MODEL
from database.proposals import Decided, decide_in
from database.turns.identity import AcceptedTurn, Admission, admit_all
from language_models.errors import ModelNotAllowedError
from language_models.ports import ChatModel
from language_models.roles.unavailable import UnavailableChatModel
from sentences import NOTHING, Sentence, say

from .history import History, attached_to

_CHARS_OF_A_TOKEN = 4
_OVERRIDES = "model_overrides"
"""The conversation's setting that names models by role, as a turn's `model` does: `{"main": "embedded:small"}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModel:
    """A model; `notice` says why it is not the one that the conversation has chosen, `is_own` that it is that one."""

    model: ChatModel
    is_own: bool = False
    notice: Sentence = NOTHING


def chosen_model(query: Mapping[str, Any], settings: Any, *, services: TurnServices) -> ChosenModel:
    """The model for a turn of a conversation with these `settings`.

    What the conversation has chosen may be gone since, and then the main model answers. Raises ValueError for a name
    in the turn itself that makes no sense, ModelNotAllowedError for one that this person may not use.
    """
    if answerers := query.get(ANSWERERS):
        return ChosenModel(model=answerers[0].model)
    if name := query.get("model"):
        return ChosenModel(model=services.models.for_name(name))
    own = _own_choice(settings)
    return model_or_main(own, services=services) if own else ChosenModel(model=services.models.main())


def model_or_main(name: str, *, services: TurnServices, agent: str = "") -> ChosenModel:
    """The model of this name, or the main model where it is not available any more.

    agent: the title of the agent that has chosen it; "" where the conversation has.
    """
    try:
        model = services.models.for_name(name)
    except (ValueError, ModelNotAllowedError):
        return instead_of(name, services=services, agent=agent)
    # Its key is gone from the server's settings.
    if isinstance(model, UnavailableChatModel):
        return instead_of(name, services=services, agent=agent)
    return ChosenModel(model=model, is_own=True)


def instead_of(gone: str, *, services: TurnServices, agent: str = "") -> ChosenModel:
    """The main model in the place of one that is not to be had any more."""
    main = services.models.main()
    if agent:
        return ChosenModel(model=main, notice=say("model_of_agent_gone", model=gone, agent=agent, instead=main.name))
    return ChosenModel(model=main, notice=say("model_gone", model=gone, instead=main.name))


def _own_choice(settings: Any) -> str | None:
    """The settings are the client's: there may be anything in them."""
    overrides = settings.get(_OVERRIDES) if isinstance(settings, Mapping) else None
    own = overrides.get("main") if isinstance(overrides, Mapping) else None
    return own if isinstance(own, str) and own != "main" else None


OWNER = "_owner"
"""The field of a query that names the process that runs the turn; only the server sets it."""

ADMISSION = "_admission"
"""The field of a query with what says, within the accepting transaction, whether there is room for the turn
(`Admission`); only the server sets it."""

REQUEST_ID = "_request_id"
"""The field of a query that names the request that asks it, for the log; only the server sets it."""

ANSWERERS = "_answerers"
"""The field of a query that names who answers it, one after the other (`Answerer`s), instead of the model that the
conversation has chosen; never a client's."""

NOTIFIED = "_notified"
"""The field of a query that names the agents (ids) that answer it later, from their inboxes; set by the server."""

ASKED_BY = "_asked_by"
"""The field of a query that names the agent (`{id, title}`) that asks; only the server sets it."""

AGENT_CHAIN = "_agent_chain"
"""The field of a query that says through how many questions to agents it came, and which agents wait for its answer;
only the server sets it. Its text names nobody who answers. Agents wait where a model asks, not a program."""

ANSWER_AGAIN = "_answer_again"
"""The field of a query that names the answer (message_id) to be made again; only the server sets it."""

CONTINUED = "_continued"
"""The field of a query that is true where the answer to be made again goes on where it stopped; set by the server."""

DECIDED_CALLS = "_decided_calls"
"""The field of a query with which an answer goes on after the person decided on the calls that it waited for: the last
decision, by proposal id, which is stored with the beginning of the turn; set by the server."""

ASKED_INSTEAD_OF = "_asked_instead_of"
"""The field of a query that names the question (message_id) whose place it takes, in a branch; set by the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Means:
    """What a turn is answered with, whatever it asks.

    settings: of the conversation. options: of those and of the query.
    """

    services: TurnServices
    settings: Any
    options: AnswerOptions
    chosen: ChosenModel
    user_email: str
    conversation_id: str
    database: Database | None
    has_agents: bool


class _AskedPreferences:
    """What the person wants models to know, asked for in the transaction that accepts the turn: an `Admission`.

    A database server is asked for it together with the rest. The conversation of a bundle is in another store than its
    owner: there it is read before. decided: what the person decided on proposals, by id; stored in that transaction.
    """

    def __init__(
        self, admit: Admission, means: _Means, history: History, *, decided: Mapping[str, Decided] | None = None
    ) -> None:
        self._admit, self._user_email, self._decided = admit, means.user_email, decided or {}
        self._is_beside = history.database is not None
        self.told = Preferences() if self._is_beside else preferences_of(means.user_email, database=means.database)

    def __call__(self, connection: Any) -> Callable[[], None]:
        """Asks for both; what is returned reads the answers."""
        admitted = self._admit(connection)
        ask = asked_preferences(connection, self._user_email) if self._is_beside else None

        def read() -> None:
            admitted()
            if ask is not None:
                self.told = ask()
            for proposal_id, state in self._decided.items():
                decide_in(connection, self._user_email, proposal_id, state)

        return read


def check_length(text: str) -> None:
    """Raises MessageTooLongError for a text that is longer than what a person sends may be."""
    if len(text) > MAX_MESSAGE_CHARS:
        raise MessageTooLongError(limit=MAX_MESSAGE_CHARS)


def accept(query: Mapping[str, Any], history: History, *, user_email: str) -> Turn:
    """Store what `query`, which is `user_email`'s, asks, and begin its answer.

    Raises EmptyMessageError where there is neither text nor a file, MessageTooLongError, and what `history` raises.
    """
    if query.get(ANSWER_AGAIN):
        return _accept_again(query, history, user_email=user_email)
    text = storable(query.get("messageText", ""))
    check_length(text)
    former = query.get(ASKED_INSTEAD_OF)
    if former:
        config = history.config_of(former)
        beside = history.asked_beside(former)
        listed = {name: [*(query.get(name) or ()), *values] for name, values in beside.items()}
        query = {**query, **_asked_with(config), **listed, "files": config.get("files") or ()}
    if not text.strip():
        if not query.get("files"):
            raise EmptyMessageError
        text = ""
    means = _means(query, history, user_email=user_email)
    answerers: Sequence[Answerer] = query.get(ANSWERERS) or ()
    preferences = _AskedPreferences(query.get(ADMISSION) or admit_all, means, history)
    accepted = history.accept(
        text=text,
        config={**_asked_with(query), **({WRITTEN_BY_MODEL: True} if query.get(WRITTEN_BY_MODEL) else {})},
        reply_to=query.get("reply_to"),
        thread_id=query.get("thread_id"),
        model_name=means.chosen.model.name,
        client_message_id=query.get("client_message_id"),
        owner=query.get(OWNER),
        instead_of=former,
        asked_by=query.get(ASKED_BY),
        agent=answerers[0].agent if answerers else None,
        opens_thread=len(answerers) > 1,
        notify=query.get(NOTIFIED) or (),
        files=query.get("files") or (),
        chars_before=chars_of_history(means.chosen.model),
        admit=preferences,
    )
    return _turn(query, accepted, means, preferences.told, text=text)


def chars_of_history(model: ChatModel) -> int:
    """How long the messages before a question are together that may go to this model with it."""
    return model.context_window * _CHARS_OF_A_TOKEN


def _accept_again(query: Mapping[str, Any], history: History, *, user_email: str) -> Turn:
    """The stored question with what it was asked with: its references, its switches, the memories attached to it."""
    means = _means(query, history, user_email=user_email)
    decided: Mapping[str, Decided] | None = query.get(DECIDED_CALLS)
    is_continued = bool(query.get(CONTINUED)) or decided is not None
    preferences = _AskedPreferences(query.get(ADMISSION) or admit_all, means, history, decided=decided)
    accepted = history.accept_again(
        str(query[ANSWER_AGAIN]),
        model_name=means.chosen.model.name,
        client_message_id=query.get("client_message_id"),
        owner=query.get(OWNER),
        needs_text=is_continued and decided is None,
        agent=next((answerer.agent for answerer in query.get(ANSWERERS) or ()), None),
        admit=preferences,
    )
    # The documents that the question names are found in its text again.
    named = parse_references(" ".join(str(entry["ref"]) for entry in accepted.report if entry["kind"] != "document"))
    query = {
        **query,
        **_asked_with(accepted.question_config),
        "referenced_friendly_ids": named.friendly_ids,
        "referenced_claim_ids": named.claim_ids,
        "attached_claim_ids": attached_to(accepted.answer_config),
    }
    means = replace(means, options=answer_options(means.settings, query.get("options") or {}))
    turn = _turn(query, accepted, means, preferences.told, text=accepted.text)
    turn.given = [_given(answer) for answer in accepted.answers_before]
    turn.is_decided = decided is not None
    turn.is_of_model = accepted.asked_by_agent or bool(accepted.question_config.get(WRITTEN_BY_MODEL))
    if is_continued:
        turn.continued = accepted.answer_text
        turn.called_before = accepted.answer_config.get("tools") or ""
        turn.parts = AnswerParts.of(part for part in accepted.answer_parts if part["kind"] != "notice")
        turn.documents = AnswerDocuments.of(accepted.answer_documents)
    return turn


def _given(answer: Mapping[str, Any]) -> GivenAnswer:
    """An answer of somebody else, as it is stored."""
    config = answer["config"]
    agent = config.get("agent") or {}
    title = agent.get("title") or config.get("model") or "Another answer"
    return GivenAnswer(title=title, text=answer["text"], short_id=answer["short_id"], message_id=answer["message_id"])


def _asked_with(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The switches, the options and the chosen agents of a question, as they are stored with it."""
    switches = {"checkboxes": dict(asked.get("checkboxes") or {})}
    options = {"options": dict(asked["options"])} if asked.get("options") else {}
    agents = {"agents": list(asked["agents"])} if asked.get("agents") else {}
    return switches | options | agents


def _means(query: Mapping[str, Any], history: History, *, user_email: str) -> _Means:
    # All that can fail comes before a turn is accepted: one that is, has to be finished.
    services: TurnServices = query.get("_services") or default_services()
    metadata = history.metadata()
    settings, database = metadata["conversation_settings"], history.database or database_of(query.get("_users_dir"))
    options = answer_options(settings, query.get("options") or {})
    chosen = chosen_model(query, settings, services=services)
    # The options of a question that is answered again are read only when that is accepted.
    wants_tools = options.wants_tools(chosen.model) or bool(query.get(ANSWER_AGAIN))
    agents = services.agents if services.tools is not None and wants_tools else None
    return _Means(
        services=services,
        settings=settings,
        options=options,
        chosen=chosen,
        user_email=user_email,
        conversation_id=str(metadata["conversation_id"]),
        database=database,
        has_agents=agents is not None and agents.has_agents(user_email),
    )


def _turn(
    query: Mapping[str, Any], accepted: AcceptedTurn, means: _Means, preferences: Preferences, *, text: str
) -> Turn:
    typed = parse_references(text)
    links = wikilinks_of(text) if tracks_documents(query, means.services) else []
    references, claim_ids = named_references(query, typed, links=links)
    _, chain = query.get(AGENT_CHAIN) or (0, ())
    return Turn(
        accepted=accepted,
        text=text,
        clean_text=typed.clean_text,
        references=references,
        claim_ids=claim_ids,
        services=means.services,
        model=means.chosen.model,
        query=query,
        loader=query.get("_conversation_loader"),
        preferences=preferences,
        has_own_model=means.chosen.is_own,
        options=means.options,
        notice=means.chosen.notice,
        answerers=query.get(ANSWERERS) or (),
        user_email=means.user_email,
        conversation_id=means.conversation_id,
        database=means.database,
        has_agents=means.has_agents,
        is_of_model=bool(chain) or bool(query.get(WRITTEN_BY_MODEL)),
    )
