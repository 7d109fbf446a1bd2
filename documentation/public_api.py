"""The public names of the knowledge base, as they are written down in its public API page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from types import FunctionType
from typing import Any

import truth_management_system

PACKAGE = truth_management_system.__name__
MODULES: dict[str, tuple[str, ...]] = {
    "": tuple(truth_management_system.__all__),
    "analysis.model_questions": ("KnowledgeModels",),
    "models": ("CLAIM_COLUMNS", "CONTEXT_COLUMNS"),
    "schema": ("SCHEMA_VERSION",),
    "utils": ("generate_friendly_id", "_extract_meaningful_words"),
    "search.base": ("SearchStrategy", "merge_results_rrf", "apply_recency_confidence_rerank"),
    "search.consolidation": ("cluster_near_duplicate_claims", "cluster_entity_variants", "entity_name_similarity"),
    "crud.links": (
        "LINK_SUPERSEDES",
        "link_claims",
        "unlink_claims",
        "get_outgoing_links",
        "get_incoming_links",
        "get_supersession_head",
        "link_claim_tag",
        "link_claim_entity",
        "get_claim_tags",
        "get_claim_entities",
    ),
    "portability": ("export_data", "export_markdown", "import_data"),
}
"""Modules within the package ("" is its root), and the names in each that programs may rely on."""

# What `outcome` decorates gives an ActionResult, whatever the function inside gives.
_SHOWN_AS = {"Outcome": "ActionResult", "builtins.": "", "_Claims": "list[Claim]"}
_ENUM_MEMBER = re.compile(r"<\w+\.\w+: ('[^']*')>")


@dataclass(frozen=True, slots=True)
class _Written:
    """An annotation that is shown as it is written in the code."""

    text: str

    def __repr__(self) -> str:
        return self.text


def public_names() -> Iterator[tuple[str, str, Any]]:
    """(module, name, object) of everything public."""
    for module, names in MODULES.items():
        path = f"{PACKAGE}.{module}".rstrip(".")
        for name in names:
            yield path, name, getattr(import_module(path), name)


def signature_of(callable_object: Any) -> str:
    """`(statement: str, k: int = 20) -> ActionResult`: without `self`, annotations as written."""
    found = inspect.signature(callable_object)
    parameters = [
        parameter.replace(annotation=_written(parameter.annotation))
        for name, parameter in found.parameters.items()
        if name not in {"self", "cls"}
    ]
    shown = found.replace(parameters=parameters, return_annotation=_written(found.return_annotation))
    return _ENUM_MEMBER.sub(r"\1", str(shown))


def first_line(documented: object) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def members_of(kind: type) -> Iterator[tuple[str, str]]:
    """(signature, first line) of the public methods and properties of a class that its own package defines."""
    for name in sorted(_vars_of(kind)):
        member = inspect.getattr_static(kind, name)
        if isinstance(member, property):
            yield name, first_line(member)
        elif isinstance(member, FunctionType | classmethod | staticmethod):
            yield f"{name}{signature_of(getattr(kind, name))}", first_line(getattr(kind, name))


def called(name: str, public: Any) -> str:
    """How a name is used: `search(query: str) -> list`, `Claim(claim_id: str, …)`, `SCHEMA_VERSION = 20`."""
    if isinstance(public, type):
        is_made_by_calling = not issubclass(public, StrEnum) and not getattr(public, "_is_protocol", False)
        return f"{name}{signature_of(public).removesuffix(' -> None')}" if is_made_by_calling else name
    return f"{name}{signature_of(public)}" if callable(public) else f"{name} = {public!r}"


def meaning_of(public: Any) -> str:
    """The first line of its docstring, and the values of an enumeration."""
    if isinstance(public, type) and issubclass(public, StrEnum):
        return f"{first_line(public)} {', '.join(f'`{member.value}`' for member in public)}."
    return first_line(public) if callable(public) else ""


def _vars_of(kind: type) -> set[str]:
    """The public names in a class and in those of our package that it inherits from."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith(PACKAGE)]
    return {name for base in ours for name in vars(base) if not name.startswith("_")}


def _written(annotation: Any) -> Any:
    if not isinstance(annotation, str):
        return annotation
    for name, meaning in _SHOWN_AS.items():
        annotation = annotation.replace(name, meaning)
    return _Written(annotation)
