"""People who have memories, as the searches find them."""

from __future__ import annotations

from tests.truth_management_system.search.conftest import ann, ben, statements_run

__all__ = ["ann", "ben", "statements_run"]
