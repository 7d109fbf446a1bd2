"""Request models of the stream of changes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from endpoints.http.models import LARGEST_NUMBER, Query


class ChangePosition(Query):
    """The number of the last change that the caller has; left out: only what comes from now on is told.

    epoch: the one that this number was counted in, as the stream's first line told it.
    """

    after: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)] | None = None
    epoch: Annotated[str, Field(max_length=64)] | None = None
