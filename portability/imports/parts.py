"""What comes with the archive of an account beside conversations and documents: memories and settings.

What the person has here already stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from chat.prompting.options import HIGHEST_TEMPERATURE, LONGEST_SYSTEM_PROMPT
from database.accounts.users import get_user, modify_user_detail, modify_user_preference, rename_user
from database.agents.repository import (
    GLOBAL_SLUG,
    LONGEST_SLUG,
    Agent,
    AgentRules,
    create_agent,
    delete_agent,
    list_agents,
)
from database.engine.database import Database
from database.engine.errors import NameTakenError, PresetNotFoundError, PromptNotFoundError, StorageBusyError
from database.imports.changes import CHANGED_SINCE, Change, note_beside
from database.imports.origins import note_beside_origins
from database.imports.outside import rename_memories
from database.imports.storing import Stored
from database.imports.workspaces import make_workspaces, workspaces_at
from database.library import PRESETS, PROMPTS, Shelf
from portability.account_archive import MEMORIES
from portability.errors import BrokenImportError
from portability.importers.account_archive import ArchivedWorkspaces, folders_of
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import FailedItem, ImportedKnowledgeBase, ImportedPart
from portability.origins import BesideOrigins
from sentences import say
from truth_management_system.interface.structured_api import (
    InvalidKnowledgeError,
    StructuredAPI,
    read_first_knowledge_base,
)

from .taking_back import AGENT, PRESET, PROMPT, TOLD
from .taking_back import MEMORIES as MEMORIES_KIND

_SHELVES: Mapping[str, Shelf] = {PRESET: PRESETS, PROMPT: PROMPTS}
_Name = Annotated[str, Field(min_length=1, max_length=100)]
_LONGEST_TEXT = 50_000
_LARGEST_KNOWLEDGE_BASE = 256 * 2**20
"""In bytes, of memories of the first implementation."""
_LOG = "-wal"
"""What SQLite has written last, where the file was copied while it was in use or its program was killed."""


class _Fields(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class _Told(_Fields):
    text: Annotated[str, Field(max_length=20_000)] = ""


class _Agent(_Fields):
    agent_id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")] | None = None
    title: _Name
    slug: Annotated[str, Field(max_length=LONGEST_SLUG)] = ""
    system_prompt: Annotated[str, Field(max_length=LONGEST_SYSTEM_PROMPT)] = ""
    enabled_tools: list[str] | None = None
    model: Annotated[str, Field(max_length=200)] | None = None


class _PresetContent(_Fields):
    system_prompt: Annotated[str, Field(max_length=LONGEST_SYSTEM_PROMPT)] | None = None
    temperature: Annotated[float, Field(ge=0, le=HIGHEST_TEMPERATURE)] | None = None
    answer_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    model: Annotated[str, Field(max_length=200)] | None = None


class _Preset(_Fields):
    name: _Name
    content: _PresetContent


class _PromptContent(_Fields):
    text: Annotated[str, Field(min_length=1, max_length=_LONGEST_TEXT)]


class _Prompt(_Fields):
    name: Annotated[str, Field(min_length=1, max_length=50, pattern=r"^\S+$")]
    content: _PromptContent


class _Settings(_Fields):
    name: Annotated[str, Field(max_length=200)] = ""
    detail: Annotated[_Told, BeforeValidator(lambda told: told or {})] = _Told()
    preference: Annotated[_Told, BeforeValidator(lambda told: told or {})] = _Told()
    agents: Annotated[list[_Agent], Field(max_length=200)] = []
    presets: Annotated[list[_Preset], Field(max_length=500)] = []
    prompts: Annotated[list[_Prompt], Field(max_length=500)] = []
    workspaces: ArchivedWorkspaces = []
    origins: BesideOrigins = {}


class PartStore:
    """Stores the memories and settings of archives. memories: a person's knowledge base."""

    def __init__(self, *, database: Database, memories: Callable[[str], StructuredAPI]) -> None:
        self._database = database
        self._memories = memories

    def __call__(self, user_email: str, part: ImportedPart, *, import_id: str, failures: list[FailedItem]) -> bool:
        """Store what is not here yet; whether anything was. Raises BrokenImportError, StoreError.

        failures: gets the references that lead nowhere now.
        """
        own = _Own(self._database, user_email, import_id)
        if part.item == MEMORIES:
            return any(self._remember(own, part, failures).values())
        try:
            settings = _Settings.model_validate(part.content)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            damaged = say("import_part_damaged", name=part.item, where=where, why=first["msg"])
            raise BrokenImportError(damaged) from None
        stored = [own.told(settings), own.agents(settings)]
        stored += [
            own.shelved(PRESET, {each.name: each.content.model_dump() for each in settings.presets}),
            own.shelved(PROMPT, {each.name: each.content.model_dump() for each in settings.prompts}),
        ]
        stored.append(own.folders(settings))
        own.origins(settings)
        return any(stored)

    def knowledge_base(
        self,
        user_email: str,
        base: ImportedKnowledgeBase,
        file: ImportFile,
        *,
        import_id: str,
        failures: list[FailedItem],
    ) -> tuple[Stored, int]:
        """Store memories of the first implementation, from a file that is opened for reading alone.

        How many are new and were here; how many rows made no sense.
        """
        try:
            with file.on_disk(base.member, most=_LARGEST_KNOWLEDGE_BASE, log=_LOG) as path:
                payload, left_out = read_first_knowledge_base(path, user_email)
        except InvalidKnowledgeError as error:
            raise BrokenImportError(error.message) from None
        found = len(payload["data"]["claims"])
        if not found:
            raise BrokenImportError(say("import_no_memories"))
        own = _Own(self._database, user_email, import_id)
        counts = self._remember(own, ImportedPart(base.item, payload), failures)
        new = counts["claims"]
        return Stored(imported=new or int(any(counts.values())), skipped=found - new), left_out

    def _remember(self, own: _Own, part: ImportedPart, failures: list[FailedItem]) -> Mapping[str, int]:
        """Store memories that are not here yet; how many rows of each table were new. Raises BrokenImportError."""
        result = self._memories(own.user_email).import_data(part.content)
        if not result.success:
            raise BrokenImportError(" ".join(result.errors))
        failures += [FailedItem(part.item, warning) for warning in result.warnings]
        if audit_id := result.metadata.get("audit_id"):
            own.note(MEMORIES_KIND, audit_id, {"name": part.item})
        who = {"user_email": own.user_email, "import_id": own.import_id}
        rename_memories(result.metadata["new_ids"], database=self._database, **who)
        counts: Mapping[str, int] = result.data
        return counts

    def known(self, user_email: str, ids: Collection[str]) -> Collection[str]:
        """Those of these ids that memories of the person, or what groups them, have here. Raises StorageBusyError."""
        result = self._memories(user_email).own_ids(ids)
        if not result.success:
            raise StorageBusyError(" ".join(result.errors))
        found: Collection[str] = result.data
        return found

    def take_back(self, user_email: str, change: Change) -> str:
        """Take back memories, or a setting that is as the import left it. See `Taker`."""
        own: dict[str, Any] = {"database": self._database, "user_email": user_email}
        if change.kind == MEMORIES_KIND:
            result = self._memories(user_email).undo(change.thing_id)
            return "" if result.success else " ".join(result.errors)
        if change.kind == TOLD:
            return _told_taken_back(change, own)
        if change.kind == AGENT:
            return _agent_taken_back(change, own)
        return _item_taken_back(change, own)


@dataclass(frozen=True, slots=True)
class _Own:
    """Stores the settings of one person's archive, and notes what the import brings."""

    database: Database
    user_email: str
    import_id: str

    @property
    def _account(self) -> dict[str, Any]:
        return {"database": self.database, "user_email": self.user_email}

    def note(self, kind: str, thing_id: str, became: Mapping[str, Any], *, former: Mapping[str, Any] = {}) -> None:
        """See `note_beside`."""
        what: dict[str, Any] = {"kind": kind, "thing_id": thing_id, "former": former, "became": became}
        note_beside(**self._account, import_id=self.import_id, **what)

    def folders(self, settings: _Settings) -> bool:
        """Folders that are not here yet, empty ones too, each in its place."""
        paths = folders_of(settings.workspaces)
        wanted = [(each.domain, paths[each.workspace_id]) for each in settings.workspaces]
        return make_workspaces(wanted, **self._account, import_id=self.import_id) > 0

    def origins(self, settings: _Settings) -> None:
        """What documents and folders came from, so that their sources know them again."""
        paths = folders_of(settings.workspaces)
        domains = {each.workspace_id: each.domain for each in settings.workspaces}
        folders = list(settings.origins.get("workspaces", ()))
        ids = [name for each in folders if paths.get(name := each["workspace_id"])]
        own: dict[str, Any] = {**self._account, "import_id": self.import_id}
        found = workspaces_at([(domains[each], paths[each]) for each in ids], **own)
        here = dict(zip(ids, found, strict=True))
        folders = [{**each, "workspace_id": here.get(each["workspace_id"])} for each in folders]
        note_beside_origins(settings.origins.get("documents", ()), folders, **own)

    def told(self, settings: _Settings) -> bool:
        """The name, and what the person told about themself, where they told nothing here."""
        now, is_new = _told(self._account), False
        given = {"name": settings.name, "detail": settings.detail.text, "preference": settings.preference.text}
        for name, text in given.items():
            if text and not now[name]:
                _tell(name, text, self._account)
                self.note(TOLD, name, {"text": _told(self._account)[name]}, former={"text": now[name]})
                is_new = True
        return is_new

    def agents(self, settings: _Settings) -> bool:
        """Agents with names that are free. They answer only when asked: a file may come from anywhere."""
        taken, is_new = {each.slug for each in list_agents(**self._account)}, False
        for each in settings.agents:
            if each.slug not in taken and each.slug != GLOBAL_SLUG:
                rules = AgentRules(**each.model_dump(exclude={"agent_id"}))
                made = create_agent(**self._account, rules=rules, agent_id=each.agent_id)
                self.note(AGENT, made.agent_id, _rules_of(made))
                is_new = True
        return is_new

    def shelved(self, kind: str, items: Mapping[str, Mapping[str, Any]]) -> bool:
        """Presets or prompts with names that are free."""
        is_new = False
        for name, content in items.items():
            try:
                made = _SHELVES[kind].add(**self._account, name=name, content=content)
            except NameTakenError:
                continue
            self.note(kind, made.item_id, {"name": made.name, "content": dict(made.content)})
            is_new = True
        return is_new


def _told(own: dict[str, Any]) -> dict[str, str]:
    """What the person told about themself."""
    user = get_user(**own)
    return {"name": user.name, "detail": _text(user.detail), "preference": _text(user.preference)}


def _text(told: Mapping[str, Any]) -> str:
    return str(told.get("text") or "")


def _tell(name: str, text: str, own: dict[str, Any]) -> None:
    user = get_user(**own)
    if name == "name":
        rename_user(**own, name=text)
    elif name == "detail":
        modify_user_detail(**own, detail={**user.detail, "text": text})
    else:
        modify_user_preference(**own, preference={**user.preference, "text": text})


def _rules_of(agent: Agent) -> dict[str, Any]:
    """What an agent is, as JSON."""
    rules = {name: getattr(agent, name) for name in AgentRules.__dataclass_fields__}
    return dict(orjson.loads(orjson.dumps(rules)))


def _told_taken_back(change: Change, own: dict[str, Any]) -> str:
    now = _told(own)[change.thing_id]
    if now != change.became["text"]:
        return "" if now == change.former["text"] else CHANGED_SINCE
    _tell(change.thing_id, change.former["text"], own)
    return ""


def _agent_taken_back(change: Change, own: dict[str, Any]) -> str:
    agent = next((each for each in list_agents(**own) if each.agent_id == change.thing_id), None)
    if agent is None:
        return ""
    if _rules_of(agent) != change.became:
        return CHANGED_SINCE
    delete_agent(**own, agent=agent.agent_id)
    return ""


def _item_taken_back(change: Change, own: dict[str, Any]) -> str:
    shelf = _SHELVES[change.kind]
    try:
        item = shelf.item(**own, item_id=change.thing_id)
    except (PresetNotFoundError, PromptNotFoundError):
        return ""
    if {"name": item.name, "content": dict(item.content)} != change.became:
        return CHANGED_SINCE
    shelf.remove(**own, item_id=change.thing_id)
    return ""
