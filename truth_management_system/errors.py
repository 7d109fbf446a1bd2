"""What can go wrong in the knowledge base: types with a stable code and a sentence that says what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sentences import say


class KnowledgeError(Exception):
    """What was asked of the knowledge base can't be done as things are; the root of all its errors."""

    code = "knowledge_error"

    def __init__(self, message: str, *, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = dict(details or {})


class InvalidKnowledgeError(KnowledgeError, ValueError):
    """What was given makes no sense: an unknown field, an empty statement, a malformed id."""

    code = "bad_request"


class CycleError(InvalidKnowledgeError):
    """A context or tag would lie below itself."""

    def __init__(self, kind: str) -> None:
        super().__init__(say("below_itself", what=kind))


class FriendlyIdTakenError(KnowledgeError):
    """The friendly id that was asked for names something else already."""

    code = "conflict"

    def __init__(self, friendly_id: str) -> None:
        super().__init__(say("memory_id_taken", reference=friendly_id))


class DuplicateNameError(KnowledgeError):
    """Something of this kind has this name already."""

    code = "conflict"


class ClientIdTakenError(KnowledgeError):
    """Another claim was added under this client_id, or the claim that was is gone."""

    code = "conflict"

    def __init__(self) -> None:
        super().__init__(say("memory_client_id_taken"))


class UndoConflictError(KnowledgeError):
    """What is to be undone was changed again since, or was undone already."""

    code = "conflict"


class StaleStatementError(KnowledgeError):
    """The claim says something else than the caller saw."""

    code = "conflict"

    def __init__(self) -> None:
        super().__init__(say("memory_changed"))


class KnowledgeNotFoundError(KnowledgeError):
    """What was named is not there, or belongs to somebody else: the two look the same."""

    noun = "thing"

    def __init__(self, reference: object = "") -> None:
        self.code = f"{self.noun}_not_found"
        noun = self.noun.replace("_", " ")
        super().__init__(f"There is no {noun} {reference!r}." if reference else f"There is no such {noun}.")


class ClaimNotFoundError(KnowledgeNotFoundError):
    """No such claim."""

    noun = "claim"


class NoteNotFoundError(KnowledgeNotFoundError):
    """No such note."""

    noun = "note"


class EntityNotFoundError(KnowledgeNotFoundError):
    """No such entity."""

    noun = "entity"


class TagNotFoundError(KnowledgeNotFoundError):
    """No such tag."""

    noun = "tag"


class ContextNotFoundError(KnowledgeNotFoundError):
    """No such context."""

    noun = "context"


class ConflictNotFoundError(KnowledgeNotFoundError):
    """No such conflict set."""

    noun = "conflict"


class PlanNotFoundError(KnowledgeNotFoundError):
    """No such plan, or it expired."""

    noun = "plan"


class ChangeNotFoundError(KnowledgeNotFoundError):
    """No such entry in the audit log."""

    noun = "change"


class ReferenceNotFoundError(KnowledgeNotFoundError):
    """A reference that names nothing. missing: of several groups that it joins, those that are not there."""

    noun = "reference"

    def __init__(self, reference: object = "", *, missing: Sequence[str] = ()) -> None:
        super().__init__(reference)
        self.details = {"missing": list(missing)} if missing else {}


class AmbiguousReferenceError(KnowledgeError):
    """A name that several things bear."""

    code = "ambiguous"

    def __init__(self, reference: str, candidates: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(
            say("several_memories", reference=reference, count=len(candidates)),
            details={"candidates": list(candidates)},
        )
        self.candidates = list(candidates)


class KnowledgeUnavailableError(KnowledgeError):
    """The store of the knowledge base can't be opened, read or written now."""

    code = "knowledge_unavailable"


class KnowledgeIndexDamagedError(KnowledgeUnavailableError):
    """A full-text index was damaged, and is being made anew; all else can be read and written."""


class KnowledgeBusyError(KnowledgeUnavailableError):
    """Another change, such as a large import, has the knowledge base's one writer for longer than a caller waits."""

    code = "storage_busy"


class KnowledgeTooNewError(KnowledgeUnavailableError):
    """A newer version of the program wrote this store."""
