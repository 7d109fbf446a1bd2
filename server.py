"""The composition root: `create_app(settings)` puts one server together; `python server.py` serves it."""

from __future__ import annotations

import gc

# Most of what imports make stays for good; looking it over again and again takes a fifth of the start.
gc.disable()

import difflib
import logging
import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from flask import Flask

import commands
import endpoints
import tracing
from activity.recipes import RecipeRegistry, installed_recipes
from activity.recipes.errors import RecipePluginError
from attachments.errors import QuotaExceededError
from attachments.passages import index_pending as index_pending_files
from attachments.storage import Attachments
from chat.agents.asking import AgentDesk
from chat.agents.inbox import InboxDesk, InboxWorker
from chat.context.knowledge import KnowledgeAccess, counting_in
from chat.exchange.ports import ConversationLoader, TurnServices
from chat.exchange.services import default_quota, limits_of, models_from
from chat.processes.announcements import Announcements, Broker, LocalAnnouncements
from chat.processes.duties import EVERY_DUTY, Duties, SharedDuties
from chat.processes.metrics import Metrics
from chat.processes.supervisor import Inherited, Supervisor, inherited
from chat.runtime.account_erasure import AccountErasure
from chat.runtime.cache import DefaultDictQueue
from chat.runtime.changes import ChangeFeed
from chat.runtime.startup import ServerProcess, ServerRunningError, held_data_folder, is_held_here, probe
from chat.runtime.upkeep import ServerWork, keep_up
from chat.tools.calling.loop import ToolLoop
from chat.tools.catalogue import all_tools
from chat.tools.foreign.calls import register_foreign_tools
from chat.tools.foreign.personal import PersonalServers
from chat.tools.registry import ToolRegistry
from chat.turns.history import History
from chat.turns.lost_reports import lost_report
from chat.turns.runner import TurnRunner
from chat.turns.titles import ThreadTitles
from Conversation import Conversation
from database.accounts.audit import purge_acts
from database.connection import open_store
from database.conversations.conversation import asked_for_live
from database.engine.database import Database
from database.engine.errors import StoreError
from endpoints.http.errors import code_of
from endpoints.http.scope import EXTENSION, SETTINGS, AppState, RequestsUnderWay
from endpoints.operations.logs import write_logs_as
from language_models.roles import ModelRoles, RoleSettingError
from portability import restoring
from portability.imports import runner as import_runner
from portability.imports.accepting import erase_uploads
from portability.imports.documents import DocumentStore
from portability.imports.files import FileStore
from portability.imports.parts import PartStore
from portability.imports.runner import ImportRunner
from search.meaning import MessageVectors
from search.things.conversations import titles_of
from settings import SETTINGS_TABLE, Settings, SettingsError, load_settings, variables_in
from truth_management_system.interface.structured_api import KnowledgeModels
from vault.documents import Vaults
from vault.errors import NoRoomError

gc.freeze()
gc.enable()

log = logging.getLogger("anaphora.server")
_NO_SETTINGS = ("ANAPHORA_USER", "ANAPHORA_TOKEN", "ANAPHORA_DOMAIN", "ANAPHORA_SERVERS")
"""Variables of single commands and of `deploy/compose.yaml`."""
_QUIET_SECONDS = 0.1
"""An import works without pauses once no request has begun for so long, and no turn runs."""
_newest: deque[AppState] = deque(maxlen=1)


def create_app(settings: Settings | None = None, *, models: ModelRoles | None = None, serves: bool = True) -> Flask:
    """A Flask application over the store of `settings` (by default those of the environment).

    The first request, under any WSGI server, makes this process the server of the data folder, of which there can be
    only one; under `flask run` this function does. `models` replaces the models of the settings. serves: False for an
    application that is only inspected or tested.
    Raises SettingsError, StorageFailedError, DatabaseTooNewError, RecipePluginError.
    """
    try:
        settings = settings or load_settings()
    except SettingsError as error:
        commands.refuse(error)
    root = Path(__file__).parent
    app = endpoints.Application(
        "anaphora", root_path=str(root), template_folder="interface/templates", static_folder=None
    )
    app.extensions[SETTINGS] = settings
    try:
        state = build_state(settings, models=models)
    except StoreError as error:
        return commands.register_what_mends(app, error)
    except RecipePluginError as error:
        commands.refuse(error)
    _newest.append(state)
    app.extensions[EXTENSION] = state
    if serves:
        commands.begin_serving_now(state.server)
        app.before_request(state.server.begin)
        if state.broker is not None:
            app.before_request(state.broker.begin)
    endpoints.register(app, state)
    commands.register(app)
    return app


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stores:
    """What people keep on a server, and the models that read it."""

    database: Database
    models: ModelRoles
    knowledge: KnowledgeAccess
    vectors: MessageVectors
    vaults: Vaults
    attachments: Attachments


def build_state(settings: Settings, *, models: ModelRoles | None = None) -> AppState:
    """Build the parts of one server. Opens and migrates the store. Raises RecipePluginError before that."""
    recipes = installed_recipes()
    stores = _open_stores(settings, models)
    metrics = Metrics(is_one_of_several=settings.redis_url is not None)
    tools, tool_servers = _tools(settings, stores.database)
    broker = _broker(settings)
    announcements: Announcements = broker or LocalAnnouncements()
    agents, tool_loop = AgentDesk(database=stores.database), ToolLoop(tools, own_tools=tool_servers.tools_of)
    services = _services(settings, stores, metrics, tool_loop, agents, recipes)
    turns = _turns(settings, metrics, services, agents, announcements, database=stores.database)
    changes = ChangeFeed(database=stores.database, announcements=announcements)
    cache = _conversation_cache(stores.database, most=settings.conversation_cache)
    requests = RequestsUnderWay()
    forget = partial(_forget, turns=turns, changes=changes, vectors=stores.vectors, cache=cache)
    is_busy = partial(_is_busy, requests=requests, tools=tools)
    duties = _duties(stores.database, is_busy)
    is_busy_anywhere = partial(_is_busy_anywhere, here=is_busy, duties=duties)
    erasure = _account_erasure(settings, stores, tool_servers, forget=forget, is_busy=is_busy_anywhere)
    inboxes = _inboxes(settings, stores.database, services)
    work = _work(settings, stores, turns, changes, erasure, recipes, inboxes, requests, duties)
    return AppState(
        settings=settings,
        database=stores.database,
        conversation_cache=cache,
        asked_for_conversation=partial(_asked_for_conversation, stores.database),
        turns=turns,
        changes=changes,
        models=stores.models,
        metrics=metrics,
        services=services,
        tools=tools,
        recipes=recipes,
        tool_servers=tool_servers,
        knowledge=stores.knowledge,
        vectors=stores.vectors,
        vaults=stores.vaults,
        attachments=stores.attachments,
        account_erasure=erasure,
        requests=requests,
        inboxes=inboxes,
        broker=broker,
        server=_server_process(settings, stores, turns, work, duties),
    )


def _open_stores(settings: Settings, models: ModelRoles | None) -> _Stores:
    """Open and migrate what people keep. models: instead of those of the settings."""
    _complete_restore(settings.data_dir)
    database = open_store(settings.users_dir, synchronous=settings.synchronous, database_url=settings.database_url)
    models = models or _models(settings)
    knowledge = KnowledgeAccess(
        settings.users_dir,
        models=partial(_knowledge_models, models),
        counting=counting_in(database, default_quota(settings)),
        synchronous=settings.synchronous,
        llm_timeout=settings.background_timeout,
        embedding_timeout=settings.embedding_patience,
    )
    embedding = knowledge.embedding
    attachments = Attachments(
        database=database,
        largest=settings.file_megabytes,
        quota=settings.file_quota,
        unmetered=frozenset(settings.vault_folders),
    )
    vaults = Vaults(
        database=database,
        mapped=settings.vault_folders,
        embedding=embedding,
        cheap=models.cheap,
        summary_timeout=settings.background_timeout,
        require_room=partial(_require_room, attachments),
    )
    return _Stores(
        database=database,
        models=models,
        knowledge=knowledge,
        vectors=MessageVectors(database=database, model=embedding),
        vaults=vaults,
        attachments=attachments,
    )


def _tools(settings: Settings, database: Database) -> tuple[ToolRegistry, PersonalServers]:
    """The tools of everybody, and the servers whose tools a person has added."""
    tools = all_tools(code_of=code_of)
    register_foreign_tools(tools, settings.data_dir)
    reach = None if settings.tool_servers == "off" else settings.tool_servers
    return tools, PersonalServers(settings.data_dir, reach=reach, database=database)


def _broker(settings: Settings) -> Broker | None:
    """What this process hears the others by; all that share the data folder know its secret."""
    return None if settings.redis_url is None else Broker(settings.redis_url, installation=settings.secret_key)


def _services(
    settings: Settings,
    stores: _Stores,
    metrics: Metrics,
    tools: ToolLoop,
    agents: AgentDesk,
    recipes: RecipeRegistry,
) -> TurnServices:
    """What turns use."""
    return TurnServices(
        **limits_of(settings),
        models=stores.models,
        metrics=metrics,
        knowledge=stores.knowledge,
        vectors=stores.vectors,
        vaults=stores.vaults,
        attachments=stores.attachments,
        tools=tools,
        agents=agents,
        recipes=recipes,
    )


def _turns(
    settings: Settings,
    metrics: Metrics,
    services: TurnServices,
    agents: AgentDesk,
    announcements: Announcements,
    *,
    database: Database,
) -> TurnRunner:
    """What runs turns; agents have their turns run by it too."""
    turns = TurnRunner(
        database=database,
        metrics=metrics,
        report_of=partial(lost_report, database=database, loader_for=_loaders(database), services=services),
        most_per_person=settings.turns_per_person,
        quota=default_quota(settings),
        announcements=announcements,
    )
    agents.run_turns_by(turns)
    return turns


def _inboxes(settings: Settings, database: Database, services: TurnServices) -> InboxDesk:
    """What has agents answer their inboxes."""
    return InboxDesk(
        database=database,
        services=services,
        loader_for=_loaders(database),
        hourly_limit=settings.agent_answers_per_hour,
        quota=default_quota(settings),
    )


def _account_erasure(
    settings: Settings,
    stores: _Stores,
    tool_servers: PersonalServers,
    *,
    forget: Callable[[str], None],
    is_busy: Callable[[str], bool],
) -> AccountErasure:
    """What erases an account with everything in it. forget: drops what this process keeps in memory of a person."""
    uploads = settings.data_dir / import_runner.FOLDER
    return AccountErasure(
        database=stores.database,
        knowledge=stores.knowledge,
        vaults=stores.vaults,
        attachments=stores.attachments,
        erase_tool_servers=tool_servers.erase,
        erase_uploads=partial(erase_uploads, database=stores.database, uploads=uploads),
        compact_up_to=settings.compact_up_to,
        forget=forget,
        is_busy=is_busy,
    )


def _work(
    settings: Settings,
    stores: _Stores,
    turns: TurnRunner,
    changes: ChangeFeed,
    account_erasure: AccountErasure,
    recipes: RecipeRegistry,
    inboxes: InboxDesk,
    requests: RequestsUnderWay,
    duties: Duties,
) -> ServerWork:
    """What is done beside all requests, again and again."""
    database = stores.database
    imports = _import_runner(
        settings, stores, is_alone=lambda: not turns.running() and requests.is_quiet(_QUIET_SECONDS)
    )
    titles = ThreadTitles(database=database, recipes=recipes, model=stores.models.cheap, seconds=settings.title_timeout)
    return ServerWork(
        erase_closed_accounts=account_erasure.erase_closed,
        look_for_changes=changes.look,
        close_abandoned_turns=partial(turns.close_abandoned, may_take_over=duties.may_take_over),
        stop_answers_of_disabled=turns.stop_disabled,
        work_on_imports=imports.work,
        name_threads=titles.make_waiting,
        sweep_files=stores.attachments.sweep,
        purge_audit_log=partial(purge_acts, database=database, days=settings.audit_days),
        index_files=partial(index_pending_files, stores.attachments),
        inboxes=partial(InboxWorker, desk=inboxes, database=database),
    )


def _duties(database: Database, is_busy: Callable[[str], bool]) -> Duties:
    """What this process does for all; with it, it tells others whether it still writes for closed accounts."""
    return SharedDuties(database=database, is_busy=is_busy) if database.backend.is_shared else EVERY_DUTY


def _is_busy(user_email: str, *, requests: RequestsUnderWay, tools: ToolRegistry) -> bool:
    """Whether a request or a tool call of an account may still write, in this process."""
    return requests.has_any(user_email) or tools.under_way.has_any(user_email)


def _is_busy_anywhere(user_email: str, *, here: Callable[[str], bool], duties: Duties) -> bool:
    """The same, in this process or another one."""
    return here(user_email) or duties.others_may_write(user_email)


def _server_process(
    settings: Settings, stores: _Stores, turns: TurnRunner, work: ServerWork, duties: Duties
) -> ServerProcess:
    """What begins with the first request, with the upkeep that goes on beside all requests."""
    return ServerProcess(
        data_dir=settings.data_dir,
        database=stores.database,
        turns=turns,
        models=stores.models,
        knowledge=stores.knowledge,
        upkeep=partial(
            keep_up,
            database=stores.database,
            knowledge=stores.knowledge,
            vectors=stores.vectors,
            vaults=stores.vaults,
            work=work,
            duties=duties,
        ),
        tidy=partial(restoring.tidy, settings.data_dir),
        duties=duties,
    )


def _import_runner(settings: Settings, stores: _Stores, *, is_alone: Callable[[], bool]) -> ImportRunner:
    """What works on imports behind the answers."""
    return ImportRunner(
        database=stores.database,
        uploads=settings.data_dir / import_runner.FOLDER,
        store_document=DocumentStore(stores.vaults, database=stores.database),
        store_part=PartStore(database=stores.database, memories=stores.knowledge.for_user),
        store_files=FileStore(stores.attachments),
        is_alone=is_alone,
    )


def _loaders(database: Database) -> Callable[[str], ConversationLoader]:
    """Of each person, what opens their conversations."""

    def loader_for(user_email: str) -> ConversationLoader:
        return partial(Conversation, user_email, database)

    return loader_for


def _conversation_cache(database: Database, *, most: int) -> DefaultDictQueue[str, Conversation]:
    """The conversations that were opened last, each brought up to date at each access."""

    def load(conversation_id: str) -> Conversation:
        return Conversation(_owner(conversation_id), database, conversation_id)

    return DefaultDictQueue(maxsize=most, factory=load, is_current=lambda _, conversation: conversation.keep_up())


def _asked_for_conversation(database: Database, connection: Any, conversation_id: str) -> Callable[[], Conversation]:
    owner = _owner(conversation_id)
    read = asked_for_live(connection, user_email=owner, conversation_id=conversation_id)
    opened = partial(History, database=database, user_email=owner, conversation_id=conversation_id)
    return lambda: Conversation(owner, opened(row=read()), conversation_id)


def _owner(conversation_id: str) -> str:
    return conversation_id.rpartition("_")[0]


def _require_room(attachments: Attachments, user_email: str, more: int) -> None:
    """For documents, which share their room with files. Raises NoRoomError."""
    try:
        attachments.require_room(user_email, more)
    except QuotaExceededError as error:
        raise NoRoomError(error.message) from error


def _forget(
    user_email: str,
    *,
    turns: TurnRunner,
    changes: ChangeFeed,
    vectors: MessageVectors,
    cache: DefaultDictQueue[str, Conversation],
) -> None:
    """Drop what this process keeps in memory of a person whose account is erased."""
    turns.cancel_all(user_email=user_email)
    changes.wake([user_email])
    vectors.forget(user_email)
    titles_of(vectors.database).forget(user_email)
    cache.pop_where(lambda conversation_id: _owner(conversation_id) == user_email)


def _complete_restore(data_dir: Path) -> None:
    """Finish a killed restore before an empty store is created in its place."""
    if not restoring.needs_tidying(data_dir):
        return
    if is_held_here(data_dir):
        restoring.tidy(data_dir)
        return
    with suppress(ServerRunningError), held_data_folder(data_dir):
        restoring.tidy(data_dir)


def _models(settings: Settings) -> ModelRoles:
    try:
        return models_from(settings)
    except RoleSettingError as error:
        raise SettingsError(f"ANAPHORA_{error.role.upper()}_MODEL", error.problem) from None


def _knowledge_models(models: ModelRoles) -> KnowledgeModels:
    return KnowledgeModels(chat=models.cheap(), embedding=models.embedding())


def load_conversation(conversation_id: str) -> Conversation:
    """The conversation of this id, from the cache of the application created last.

    Without one, a server is built from the environment. The caller acts for the owner. Raises
    ConversationNotFoundError.
    """
    if not _newest:
        _newest.append(build_state(load_settings()))
    return _newest[-1].conversation_cache[conversation_id]


def main() -> int:
    """Serve until SIGTERM or SIGINT; exit status 2 for invalid settings, 1 for an unusable data folder."""
    try:
        settings = load_settings(arguments=sys.argv[1:])
    except SettingsError as error:
        print(f"anaphora: {error}", file=sys.stderr)  # noqa: T201
        return 1 if isinstance(error.__cause__, OSError) else 2
    write_logs_as(settings.log_format)
    given = inherited()
    if given is None:
        _warn_of_unknown_settings()
    try:
        if settings.processes > 1 and given is None:
            command = [sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]]
            supervisor = Supervisor(
                command,
                count=settings.processes,
                host=settings.host,
                port=settings.port,
                drain_seconds=settings.drain_seconds,
            )
            return supervisor.run()
        if settings.database_url:
            probe(settings.data_dir)
        # On PostgreSQL several servers share the data folder, and each holds the database.
        with nullcontext() if settings.database_url else held_data_folder(settings.data_dir):
            return _serve(settings, given)
    except SettingsError as error:
        print(f"anaphora: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except (ServerRunningError, StoreError, RecipePluginError, OSError) as error:
        print(f"anaphora: {error}", file=sys.stderr)  # noqa: T201
        return 1


def unknown_settings(environ: Mapping[str, str], env_file: str | Path) -> dict[str, str | None]:
    """The variables that are named like settings and are none, each with the setting that is probably meant."""
    known = [row.name for row in SETTINGS_TABLE]
    given = sorted(name for name in {**variables_in(env_file), **environ} if name.startswith("ANAPHORA_"))
    return {
        name: next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.8)), None)
        for name in given
        if name not in (*known, *_NO_SETTINGS)
    }


def _warn_of_unknown_settings() -> None:
    for name, meant in unknown_settings(os.environ, ".env").items():
        log.warning("%s is no setting%s", name, f"; do you mean {meant}?" if meant else "")


def _serve(settings: Settings, given: Inherited | None) -> int:
    from endpoints.serving.asgi_server import serve  # commands and scripts do without a web server

    _begin_traces(settings.otel_exporter_otlp_endpoint)
    app = create_app(settings)
    app.extensions[EXTENSION].server.begin(upkeep=False)  # the web server's own loop does that
    serve(app, settings, given)
    return 0


def _begin_traces(endpoint: str | None) -> None:
    """Raises SettingsError where they are asked for, and can't be made."""
    try:
        tracing.begin(endpoint)
    except ModuleNotFoundError as error:
        problem = "needs packages that are not installed: those of requirements-scaled.txt"
        raise SettingsError("OTEL_EXPORTER_OTLP_ENDPOINT", problem) from error


if __name__ == "__main__":
    sys.exit(main())
