"""Files of JSON that hold conversations: an array of them, or one alone."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import IO, Any

from portability.errors import BrokenImportError, CutOffImportError
from sentences import say, together

from .import_file import ImportFile
from .imported import FailedItem, ImportedItem
from .json_stream import DEEPEST, UnreadableItem, json_items, json_value

_ASKED = 3
"""How many conversations at the beginning tell which program wrote the file."""
_WHITESPACE = b" \t\r\n"

Reader = Callable[[Mapping[str, Any]], ImportedItem]


def read_conversations(
    file: ImportFile, members: Sequence[str | None], read: Reader, *, deepest: int = DEEPEST
) -> Iterator[ImportedItem]:
    """What `read` makes of each conversation in these members; None stands for the file itself.

    deepest: levels of a member that is one conversation alone. What is no conversation, and what `read` does not
    understand, is a FailedItem. A member that can't be read further is one, too, behind the conversations that are
    whole, if others follow or its end was cut off. Raises BrokenImportError where nothing at all could be read, and
    where the last member is damaged.
    """
    read_before = 0
    for place, member in enumerate(members, 1):
        number = whole = 0
        try:
            with file.open(member) as stream:
                for number, raw in enumerate(_items(stream, deepest=deepest), 1):
                    item = _read(raw, read, say("import_place_conversation", number=number, name=member or file.name))
                    whole += not isinstance(item, FailedItem)
                    yield item
        except BrokenImportError as error:
            read_before += number
            failure = broken_off(error, member or file.name, is_first=not read_before, whole=whole)
            if place == len(members) and not (read_before and isinstance(error, CutOffImportError)):
                raise type(error)(failure.reason) from None
            yield failure
        else:
            read_before += number


def broken_off(error: BrokenImportError, name: str, *, is_first: bool, whole: int) -> FailedItem:
    """What the report says of a file or a member that can't be read further.

    is_first: nothing was read before. whole: how many conversations of it were.
    """
    before = say("import_whole_before", count=whole)
    return FailedItem(name, error.message if is_first else together(error.message, before))


def first_items(file: ImportFile, members: Sequence[str | None]) -> list[Mapping[str, Any]]:
    """The first objects in the first of these members that are arrays; none where there are none."""
    found: list[Mapping[str, Any]] = []
    for member in members[:_ASKED]:
        with suppress(BrokenImportError), file.open(member) as stream:
            items = islice(json_items(stream), _ASKED) if _begins_array(stream) else ()
            found.extend(each for each in items if isinstance(each, dict))
    return found


def read_items(file: ImportFile, member: str | None = None) -> Iterator[Any]:
    """The items of an array of JSON, those too that are unreadable, or the one value that it is.

    Raises BrokenImportError.
    """
    with file.open(member) as stream:
        yield from _items(stream, deepest=DEEPEST)


def _read(raw: object, read: Reader, place: str) -> ImportedItem:
    if isinstance(raw, UnreadableItem):
        return FailedItem(place, raw.reason)
    if not isinstance(raw, dict):
        return FailedItem(place, say("import_no_conversation"))
    item = read(raw)
    return FailedItem(place, item.reason) if isinstance(item, FailedItem) and not item.item else item


def _items(stream: IO[bytes], *, deepest: int) -> Iterator[Any]:
    return json_items(stream) if _begins_array(stream) else iter([json_value(stream, deepest=deepest)])


def _begins_array(stream: IO[bytes]) -> bool:
    beginning: bytes = stream.peek(1)  # type: ignore[attr-defined]
    return beginning.removeprefix(codecs.BOM_UTF8).lstrip(_WHITESPACE).startswith(b"[")
