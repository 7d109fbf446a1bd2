"""Request models of the stream of changes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from endpoints.http.models import LARGEST_NUMBER, Query


class ChangePosition(Query):
    """Where a stream of changes begins."""

    after: Annotated[
        Annotated[int, Field(ge=0, le=LARGEST_NUMBER)] | None,
        Field(
            description="The `seq` of the last change that the caller has; else only what comes from now on is told."
        ),
    ] = None
    epoch: Annotated[
        Annotated[str, Field(max_length=64)] | None,
        Field(description="The epoch in which `after` was counted, as the first line of the stream told it."),
    ] = None
