"""What names mean: `references` finds the memories that a name stands for, `autocomplete` the names that begin so."""

from .references import ReferenceResolver, Resolved

__all__ = ["ReferenceResolver", "Resolved"]
