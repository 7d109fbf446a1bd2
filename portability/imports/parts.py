"""What comes with the archive of an account beside conversations and documents: memories and settings.

What the person has here already stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from chat.prompting.options import HIGHEST_TEMPERATURE, LONGEST_SYSTEM_PROMPT
from database.accounts.users import get_user, modify_user_detail, modify_user_preference, rename_user
from database.agents.repository import GLOBAL_SLUG, AgentRules, create_agent, list_agents
from database.engine.database import Database
from database.errors import NameTakenError
from database.imports.workspaces import make_workspaces
from database.library import PRESETS, PROMPTS, Shelf
from portability.account_archive import MEMORIES
from portability.errors import BrokenImportError
from portability.importers.account_archive import ArchivedWorkspaces, folders_of
from portability.importers.imported import ImportedPart
from sentences import say
from truth_management_system.interface.structured_api import StructuredAPI

_Name = Annotated[str, Field(min_length=1, max_length=100)]
_LONGEST_TEXT = 50_000


class _Fields(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class _Told(_Fields):
    text: Annotated[str, Field(max_length=20_000)] = ""


class _Agent(_Fields):
    title: _Name
    slug: Annotated[str, Field(max_length=60)] = ""
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


class PartStore:
    """Stores the memories and settings of archives. memories: a person's knowledge base."""

    def __init__(self, *, database: Database, memories: Callable[[str], StructuredAPI]) -> None:
        self._database = database
        self._memories = memories

    def __call__(self, user_email: str, part: ImportedPart) -> bool:
        """Store what is not here yet; whether anything was. Raises BrokenImportError, StoreError."""
        if part.item == MEMORIES:
            result = self._memories(user_email).import_data(part.content)
            if not result.success:
                raise BrokenImportError(" ".join(result.errors))
            return any(result.data.values())
        try:
            settings = _Settings.model_validate(part.content)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            damaged = say("import_part_damaged", name=part.item, where=where, why=first["msg"])
            raise BrokenImportError(damaged) from None
        own: dict[str, Any] = {"database": self._database, "user_email": user_email}
        stored = [self._told(settings, own), self._agents(settings, own)]
        stored += [
            self._shelved(PRESETS, {each.name: each.content.model_dump() for each in settings.presets}, own),
            self._shelved(PROMPTS, {each.name: each.content.model_dump() for each in settings.prompts}, own),
        ]
        stored.append(self._folders(settings, own))
        return any(stored)

    def _folders(self, settings: _Settings, own: dict[str, Any]) -> bool:
        """Folders that are not here yet, empty ones too, each in its place."""
        paths = folders_of(settings.workspaces)
        wanted = [(each.domain, paths[each.workspace_id]) for each in settings.workspaces]
        return make_workspaces(wanted, **own) > 0

    @staticmethod
    def _told(settings: _Settings, own: dict[str, Any]) -> bool:
        """The name, and what the person told about themself, where they told nothing here."""
        user, is_new = get_user(**own), False
        if settings.name and not user.name:
            rename_user(**own, name=settings.name)
            is_new = True
        if settings.detail.text and not user.detail.get("text"):
            modify_user_detail(**own, detail={**user.detail, "text": settings.detail.text})
            is_new = True
        if settings.preference.text and not user.preference.get("text"):
            modify_user_preference(**own, preference={**user.preference, "text": settings.preference.text})
            is_new = True
        return is_new

    @staticmethod
    def _agents(settings: _Settings, own: dict[str, Any]) -> bool:
        """Agents with names that are free. They answer only when asked: a file may come from anywhere."""
        taken, is_new = {each.slug for each in list_agents(**own)}, False
        for each in settings.agents:
            if each.slug not in taken and each.slug != GLOBAL_SLUG:
                create_agent(**own, rules=AgentRules(**each.model_dump()))
                is_new = True
        return is_new

    @staticmethod
    def _shelved(shelf: Shelf, items: Mapping[str, Mapping[str, Any]], own: dict[str, Any]) -> bool:
        is_new = False
        for name, content in items.items():
            try:
                shelf.add(**own, name=name, content=content)
            except NameTakenError:
                continue
            is_new = True
        return is_new
