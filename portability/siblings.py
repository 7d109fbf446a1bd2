"""Looking up references in the neighbouring bundles, for conversations without a server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from database.engine.errors import ConversationNotFoundError
from database.history.references import NamedConversation
from portability.bundles import read_index

from .errors import BundleError, BundleNotFoundError

log = logging.getLogger(__name__)
C = TypeVar("C")


def siblings_by_friendly_id(
    folder: Path, friendly_ids: Sequence[str], *, user_email: str
) -> dict[str, NamedConversation]:
    """The bundles of `user_email` in the folders of `folder` that bear one of `friendly_ids`.

    Broken bundles are logged and skipped, those of other users skipped.
    """
    wanted, found = set(friendly_ids), {}
    for place in sorted(folder.iterdir()) if folder.is_dir() else []:
        try:
            state = read_index(place)
        except BundleNotFoundError:
            continue
        except (BundleError, OSError) as error:
            log.warning("the bundle in %s is passed over: %s", place.name, error)
            continue
        friendly_id = state.get("conversation_friendly_id")
        if state.get("user_id") == user_email and friendly_id in wanted:
            found[friendly_id] = NamedConversation(conversation_id=place.name, title="", deleted=False)
    return found


def load_sibling(folder: Path, conversation_id: str, *, user_email: str, open_bundle: Callable[[Path], C]) -> C:
    """Open the bundle of `conversation_id` in `folder`.

    Raises ConversationNotFoundError for a missing or foreign one.
    """
    place = folder / conversation_id
    try:
        if place.parent != folder or read_index(place)["user_id"] != user_email:
            raise ConversationNotFoundError
        return open_bundle(place)
    except (BundleError, OSError) as error:
        raise ConversationNotFoundError from error
