"""The stream of changes: what other tabs, devices and programs do with one's things."""

from __future__ import annotations

from functools import partial

from flask import Blueprint

from endpoints.http.errors import RateLimitedError
from endpoints.http.guards import is_still_valid
from endpoints.http.scope import current_access, current_state
from endpoints.http.streams import NDJSON, StreamResponse, stream_response
from endpoints.http.validation import answers, asks

from .models import ChangePosition

blueprint = Blueprint("events", __name__)
_RETRY_AFTER = 30.0


@blueprint.get("/events")
@asks(ChangePosition)
@answers(None, media=NDJSON)
def watch_changes(query: ChangePosition) -> StreamResponse:
    """Watch the changes of your things, as they come, from the one after number `after` on; without it, from now on.

    `epoch` is the one that the number was counted in; where it is another one now, the stream begins with `reset`.
    When the session or token that opened the stream ends, the stream does, too, with an `error` `unauthorized`. 429
    `rate_limited` with too many streams open.
    """
    access, feed = current_access(), current_state().changes
    if not feed.has_room(access.user_email):
        raise RateLimitedError("Too many of your streams of changes are open. Close some.", retry_after=_RETRY_AFTER)
    is_allowed = partial(is_still_valid, current_state().database, access)
    stream = feed.watch(user_email=access.user_email, after=query.after, epoch=query.epoch, is_allowed=is_allowed)
    return stream_response(stream, after=query.after or 0)
