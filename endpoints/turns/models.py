"""Request and response models of turns."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from endpoints.http.models import LARGEST_NUMBER, Body, ClientMessageId, Done, Id, JsonObject, Query, References, Text


class Outgoing(BaseModel):
    """A message to the model. Fields we don't know are ignored; what only the server may say can't be said here."""

    model_config = ConfigDict(extra="ignore", strict=True)
    messageText: Text  # noqa: N815 - clients exist
    checkboxes: JsonObject = {}
    referenced_friendly_ids: References = []
    referenced_claim_ids: References = []
    attached_claim_ids: References = []
    reply_to: Id | None = None
    thread_id: Id | None = None
    model: Annotated[Text, Field(max_length=200)] | None = None
    client_message_id: ClientMessageId | None = None


class Repetition(Body):
    """Which model makes an answer again; null: the one that the conversation has chosen, else the main one."""

    model: Annotated[Text, Field(max_length=200)] | None = None
    client_message_id: ClientMessageId | None = None


class StreamPosition(Query):
    """The number of the last event that the caller has."""

    after: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)] = 0


class Cancelled(Done):
    """Whether there was an answer to stop."""

    cancelled: bool
