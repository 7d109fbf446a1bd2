"""Identifiers of conversations and messages, and the grammar of `@` references.

Pure: text in, values out. `interface/static/page/references/grammar.js` follows the same grammar; both are held to
`tests/data/reference_cases.json`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import mmh3
from anyascii import anyascii

from markdown_code import code_ranges
from sentences import NOTHING, Sentence, say

_BASE36 = "abcdefghijklmnopqrstuvwxyz0123456789"
_LONGEST_WORD = 24

# With and without the apostrophe, except where the bare form is a word of its own ("shell", "well", "ill", "wed").
_STOPWORDS = """
    a about after again all also am an and any are as at be because been before being below between both but by can
    could did do does doing down during each few for from further get got had has have having he her here hers him his
    how i if in into is it its just let like me more most my no nor not of off on once only or other our ours out over
    own please same she should so some such than that the their theirs them then there these they this those through to
    too under until up us very was we were what when where which while who whom why will with would you your yours
    aren't arent can't cant couldn't couldnt didn't didnt doesn't doesnt don't dont hadn't hadnt hasn't hasnt haven't
    havent he'd he'll he's hes here's heres how's hows i'd i'll i'm im i've ive isn't isnt it'd it'll it's let's lets
    mustn't mustnt she'd she'll she's shes shouldn't shouldnt that'll that's thats there's theres they'd theyd they'll
    theyll they're theyre they've theyve wasn't wasnt we'd we'll we're we've weve weren't werent what'll what's whats
    when's whens where's wheres who'd who'll wholl who's whos why's whys won't wont wouldn't wouldnt you'd youd you'll
    youll you're youre you've youve
"""
STOPWORDS = frozenset(_STOPWORDS.split())

MESSAGE_HASH_LENGTH = 6
RANGE_LIMIT = 100
_FRIENDLY_ID_HASH_LENGTHS = {4, 6}
_SHORTEST_NAME = 3
_LONGEST_INDEX = 18

CONV_REF_PATTERN = re.compile(r"^(?:conversation|conv)_(.+)_(?:message|msg)_([a-z0-9]+)$")
CONV_RANGE_PATTERN = re.compile(r"^(?:conversation|conv)_(.+)_(?:messages|msgs)_([0-9]+)-([0-9]+)$")
CONV_WHOLE_PATTERN = re.compile(r"^(?:conversation|conv)_(.+)$")
FILE_REF_PATTERN = re.compile(
    r"^((?:conversation|conv)_.+_(?:message|msg)_[a-z0-9]+)_file_([0-9]+)(?:_pages_([0-9]+)-([0-9]+))?$"
)
_FRIENDLY_ID = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_LONGEST_FRIENDLY_ID = 100
_SHORT_HASH = re.compile(rf"[a-z0-9]{{{MESSAGE_HASH_LENGTH}}}")
_INDEX = re.compile(r"0|[1-9][0-9]*")
_LEADING_ZERO = say("malformed_number")
_MESSAGE_MARKER = re.compile(r"_(?:messages?|msgs?)_")


def _to_base36(num: int, length: int) -> str:
    """`num` modulo 36**length in exactly `length` base-36 characters, most significant first ("a" is 0).

    Raises:
        ValueError: `num` is negative or `length` is below 1.
    """
    if num < 0 or length < 1:
        raise ValueError(f"base 36 needs num >= 0 and length >= 1, not {num} and {length}")
    digits = []
    for _ in range(length):
        num, remainder = divmod(num, 36)
        digits.append(_BASE36[remainder])
    return "".join(reversed(digits))


def _hash36(text: str, length: int) -> str:
    # mmh3 crashes the interpreter on a str with a lone surrogate; of bytes it takes any.
    return _to_base36(mmh3.hash(text.encode("utf-8", "surrogatepass"), signed=False), length)


def _extract_meaningful_words(text: str, max_words: int = 3) -> list[str]:
    """The first `max_words` words that say something: ASCII, lowercase, 2 to 24 characters, no stopwords."""
    words: list[str] = []
    for token in re.findall(r"[a-z0-9']+", anyascii(text).lower()):
        if len(words) >= max_words:
            break
        word = token.replace("'", "")
        if len(word) > 1 and word not in STOPWORDS and token.strip("'") not in STOPWORDS:
            words.append(word[:_LONGEST_WORD])
    return words


def generate_conversation_friendly_id(title: str, created_at: str, *, salt: str = "", hash_length: int = 4) -> str:
    """A short readable id such as `react_performance_p44e`; the same input gives the same id.

    Args:
        title: Its first two meaningful words begin the id ("chat" when it has none).
        created_at: ISO 8601 time of birth, so that equal titles differ.
        salt: Enters the hash alone, never the words; given after a collision.
        hash_length: Characters of the hash at the end.
    """
    words = _extract_meaningful_words(title, max_words=2) or ["chat"]
    return "_".join([*words, _hash36(title + created_at + salt, hash_length)])


def generate_message_short_hash(conversation_friendly_id: str, message_text: str) -> str:
    """Six base-36 characters that name a message within its conversation."""
    return _hash36(conversation_friendly_id + message_text, MESSAGE_HASH_LENGTH)


_SALTS_IN_TURN = 16


def unique_message_short_hash(conversation_friendly_id: str, message_text: str, taken: Container[str]) -> str:
    """The short hash of a message, salted with 1, 2, … while it is in `taken` or reads as an index (all digits).

    Of a text that was said very often all former salts are taken; the first free one is found by halves.
    """

    def salted(salt: int) -> str | None:
        text = f"{message_text}{salt}" if salt else message_text
        short_hash = generate_message_short_hash(conversation_friendly_id, text)
        return None if short_hash.isdigit() or short_hash in taken else short_hash

    for salt in range(_SALTS_IN_TURN):
        if found := salted(salt):
            return found
    last_taken, free = _SALTS_IN_TURN - 1, _SALTS_IN_TURN
    while not (found := salted(free)):
        last_taken, free = free, 2 * free
    while free - last_taken > 1:
        middle = (last_taken + free) // 2
        if earlier := salted(middle):
            found, free = earlier, middle
        else:
            last_taken = middle
    return found


def is_friendly_id(name: str) -> bool:
    """Whether `name` can be the friendly id of a conversation."""
    return len(name) <= _LONGEST_FRIENDLY_ID and _FRIENDLY_ID.fullmatch(name) is not None


def is_short_hash(name: str) -> bool:
    """Whether `name` can be the short hash of a message: digits alone would be an index."""
    return _SHORT_HASH.fullmatch(name) is not None and not name.isdigit()


def whole_reference(conversation_friendly_id: str) -> str:
    """The reference to copy for a whole conversation."""
    return f"@conversation_{conversation_friendly_id}"


def canonical_reference(conversation_friendly_id: str, identifier: str | int) -> str:
    """The reference to copy for a message; `identifier` is its short hash or its 1-based index."""
    return f"@conversation_{conversation_friendly_id}_message_{identifier}"


def file_reference(conversation_friendly_id: str, identifier: str | int, number: int) -> str:
    """The reference to copy for the `number`-th file of a message."""
    return f"{canonical_reference(conversation_friendly_id, identifier)}_file_{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReference:
    """A file of a message, or some of its pages.

    message: the reference to the message, without "@". number: of the file in it, from 1. pages: the first and the last
    one, inclusive; None for all.
    """

    message: str
    number: int
    pages: tuple[int, int] | None = None


def parse_file_reference(ref: str) -> FileReference | None:
    """Take a reference to a file (with or without `@`, any case) apart; None for any other reference."""
    match = FILE_REF_PATTERN.fullmatch(ref.removeprefix("@").lower())
    if match is None:
        return None
    pages = (_index(match[3]), _index(match[4])) if match[3] else None
    return FileReference(message=match[1], number=_index(match[2]), pages=pages)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationReference:
    """What a reference with the conversation prefix can mean, before anything is looked up.

    Attributes:
        ref: As given.
        kind: A malformed one is shaped like a reference to a message, but can name none.
        whole_candidate: All behind the prefix, lowercase. A title may hold the word "message", so this is looked up as
            a friendly id of the user first, whatever the kind; only when there is none the other fields count. Where
            kind is "conversation" and there is none, the knowledge base is asked.
        conv_fid: Friendly id of the conversation, lowercase; "" when malformed.
        identifier: Digits or a six-character hash, "3-7" for a range, "" otherwise.
        start: 1-based index of the first message, None for a hash; 0 and numbers beyond the end can occur.
        end: Index of the last message, inclusive.
        problem: Why it is malformed, for the report; "" otherwise.
    """

    ref: str
    kind: Literal["message", "range", "conversation", "malformed"]
    whole_candidate: str
    conv_fid: str = ""
    identifier: str = ""
    start: int | None = None
    end: int | None = None
    problem: Sentence = NOTHING


def classify_conversation_reference(ref: str) -> ConversationReference | None:
    """Take a reference (with or without `@`, any case) apart; None when it belongs to the knowledge base.

    An identifier of four letters and digits ends a friendly id (`conversation_secret_message_p44e`); of another length,
    other than six, it is malformed, unless all are digits and the first is no zero. So is a range that is reversed or
    longer than `RANGE_LIMIT`.
    """
    name = ref.removeprefix("@").lower()
    whole = CONV_WHOLE_PATTERN.fullmatch(name)
    if whole is None:
        return None
    rest = whole[1]
    found = partial(ConversationReference, ref=ref, whole_candidate=rest)
    span = CONV_RANGE_PATTERN.fullmatch(name)
    one = CONV_REF_PATTERN.fullmatch(name)
    if (parts := span or one) and not _FRIENDLY_ID.fullmatch(parts[1]):
        return found(kind="malformed", problem=say("malformed_id"))
    if span:
        return _classify_range(span, found)
    if one and (_INDEX.fullmatch(one[2]) or len(one[2]) == MESSAGE_HASH_LENGTH):
        index = _index(one[2]) if _INDEX.fullmatch(one[2]) else None
        return found(kind="message", conv_fid=one[1], identifier=one[2], start=index, end=index)
    if one and one[2].isdigit():
        return found(kind="malformed", problem=_LEADING_ZERO)
    return _classify_rest(rest, found)


def _classify_range(match: re.Match[str], found: partial[ConversationReference]) -> ConversationReference:
    if not _INDEX.fullmatch(match[2]) or not _INDEX.fullmatch(match[3]):
        return found(kind="malformed", problem=_LEADING_ZERO)
    start, end = _index(match[2]), _index(match[3])
    if end < start:
        return found(kind="malformed", problem=say("malformed_order"))
    if end - start >= RANGE_LIMIT:
        return found(kind="malformed", problem=say("malformed_length", most=RANGE_LIMIT))
    return found(kind="range", conv_fid=match[1], identifier=f"{match[2]}-{match[3]}", start=start, end=end)


def _classify_rest(rest: str, found: partial[ConversationReference]) -> ConversationReference | None:
    is_friendly_id = _FRIENDLY_ID.fullmatch(rest) is not None
    if _MESSAGE_MARKER.search(f"_{rest}") and not (
        is_friendly_id and len(rest.rpartition("_")[2]) in _FRIENDLY_ID_HASH_LENGTHS
    ):
        return found(kind="malformed", problem=say("malformed_name"))
    return found(kind="conversation", conv_fid=rest) if is_friendly_id else None


def _index(digits: str) -> int:
    # int() refuses thousands of digits; beyond this no message is found anyway.
    return int(digits) if len(digits) <= _LONGEST_INDEX else 10**_LONGEST_INDEX


def message_index(identifier: str) -> int | None:
    """The index that the identifier of a message means, or None where it can only be a hash: it has a leading zero."""
    return _index(identifier) if _INDEX.fullmatch(identifier) else None


def partition(friendly_ids: Iterable[str]) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Divide references into those to conversations and those to the knowledge base, each in the order given.

    A conversation reference is `(full_ref, conv_fid, msg_identifier)`; the identifier is "3-7" for a range and "" for a
    whole conversation. A malformed one is `(full_ref, "", "")`: it stays on this side so that it gets reported.
    """
    conversation_refs: list[tuple[str, str, str]] = []
    pkb_ids: list[str] = []
    for friendly_id in friendly_ids:
        reference = classify_conversation_reference(friendly_id)
        if reference is None:
            pkb_ids.append(friendly_id)
        else:
            conversation_refs.append((friendly_id, reference.conv_fid, reference.identifier))
    return conversation_refs, pkb_ids


_REFERENCE = re.compile(
    r"@(?:memory|mem):(?P<claim>[a-zA-Z0-9-]+)"
    r"|@(?P<name>[a-zA-Z][a-zA-Z0-9_-]{2,})"
    r"|#(?:(?P<activity>[0-9a-fA-F]{6,32})|(?P<number>[0-9]{1,5}))(?![a-zA-Z0-9_])(?!-[a-zA-Z0-9])"
)
_GROUP = re.compile(r".+_(?:context|entity|tag|domain)", re.IGNORECASE)
_JOINED_NAME = re.compile(r"&([a-zA-Z][a-zA-Z0-9_-]*)")
MOST_JOINED = 4
"""How many groups a reference joins at most."""
# Spelled out, because \s and \w mean other characters in JavaScript. A right-hand quote opens in some languages.
_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_INVISIBLE = r"\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
_OPENING = (
    r"(\[{<\"'\xab\xbb\u2018-\u201f\u2039\u203a\u3008\u300a\u300c\u300e\u3010\u3014\uff02\uff07\uff08\uff1c\uff3b\uff5b"
)
_MAY_PRECEDE = re.compile(f"[{_SPACE}{_INVISIBLE}{_OPENING}]")
# Before a fragment of an address: in a link of Markdown, in an attribute of HTML.
_BEFORE_FRAGMENT = ("](", "](<", '="', "='")
_SPACES = re.compile(f"[{_SPACE}]+")


def is_activity_name(name: str) -> bool:
    """Whether a reference is the short id of an activity, with its `#`."""
    return name.startswith("#")


def joined_groups(name: str) -> tuple[str, ...]:
    """The groups that a reference such as `health_domain&fitness_tag` joins; () for any other reference."""
    parts = tuple(name.split("&"))
    return parts if 1 < len(parts) <= MOST_JOINED and all(map(_GROUP.fullmatch, parts)) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedReferences:
    """The references of a message, each once, in order of appearance.

    Attributes:
        friendly_ids: Names without `@`, as typed; `#42` is `claim_42`, joined groups are one name. Six to 32
            hexadecimal digits keep their `#`, in lowercase: they name an activity, unless they are a colour. None that
            is in `claim_ids`.
        claim_ids: Ids from the older form `@memory:<id>`.
        clean_text: The text without references and with single spaces, for retrieval. What may be a colour stays.
        spans: Where they stand in the text, start and end of each occurrence.
    """

    friendly_ids: tuple[str, ...]
    claim_ids: tuple[str, ...]
    clean_text: str
    spans: tuple[tuple[int, int], ...]


class _Found(NamedTuple):
    start: int
    end: int
    friendly_id: str
    claim_id: str


def parse_references(text: str) -> ParsedReferences:
    """Find the references in a message as typed; none inside code, in linear time."""
    if "@" not in text and "#" not in text:
        return ParsedReferences(friendly_ids=(), claim_ids=(), clean_text=_SPACES.sub(" ", text).strip(" "), spans=())
    found = list(_find(text))
    named = (reference for reference in found if not is_activity_name(reference.friendly_id))
    edges = [0, *(edge for reference in named for edge in reference[:2]), len(text)]
    kept = "".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    claim_ids = dict.fromkeys(one.claim_id for one in found if one.claim_id)
    friendly_ids = dict.fromkeys(one.friendly_id for one in found if one.friendly_id)
    return ParsedReferences(
        friendly_ids=tuple(friendly_id for friendly_id in friendly_ids if friendly_id not in claim_ids),
        claim_ids=tuple(claim_ids),
        clean_text=_SPACES.sub(" ", kept).strip(" "),
        spans=tuple(one[:2] for one in found),
    )


def read_reference(ref: str) -> ParsedReferences:
    """What a message that is `ref` and nothing else names; the `@` may be missing. Other text is a name as it is."""
    text = ref if ref.startswith(("@", "#")) else f"@{ref}"
    parsed = parse_references(text)
    if parsed.spans == ((0, len(text)),):
        return parsed
    return ParsedReferences(friendly_ids=(ref.removeprefix("@"),), claim_ids=(), clean_text="", spans=())


AGENT_PREFIX = "agent_"
"""With which a reference to an agent begins."""


def mentioned_agents(text: str) -> list[str]:
    """The slugs of the agents that `text` names, in order."""
    if f"@{AGENT_PREFIX}" not in text.lower():
        return []
    names = parse_references(text).friendly_ids
    return [name[len(AGENT_PREFIX) :] for name in names if name.lower().startswith(AGENT_PREFIX)]


def _find(text: str) -> Iterator[_Found]:
    nowhere = (len(text), len(text))
    code = code_ranges(text)
    code_start, code_end = next(code, nowhere)
    for match in _REFERENCE.finditer(text):
        while code_end <= match.start():
            code_start, code_end = next(code, nowhere)
        if match.start() < code_start and (found := _read(match, text)):
            yield found


def _read(match: re.Match[str], text: str) -> _Found | None:
    start = match.start()
    name = match[0].rstrip("-_")
    end = start + len(name)
    if match["claim"]:
        claim_id = match["claim"].rstrip("-")
        return _Found(start, end, "", claim_id) if claim_id else None
    if start and not _MAY_PRECEDE.match(text[start - 1]):
        return None
    if match["number"]:
        return _Found(start, end, f"claim_{match['number']}", "")
    if match["activity"]:
        is_fragment = text.endswith(_BEFORE_FRAGMENT, 0, start)
        return None if is_fragment else _Found(start, end, match[0].lower(), "")
    # The bare words are beginnings of the older form.
    is_name = len(name) > _SHORTEST_NAME and name.lower() not in {"@memory", "@mem"}
    if not is_name:
        return None
    end = _end_of_join(text, start + 1, end)
    return _Found(start, end, text[start + 1 : end], "")


def _end_of_join(text: str, start: int, end: int) -> int:
    """Where the groups end that `&` joins to the name from `start` to `end`: there, where it joins none."""
    if not _GROUP.fullmatch(text, start, end):
        return end
    for _ in range(MOST_JOINED - 1):
        further = _JOINED_NAME.match(text, end)
        name = further[1].rstrip("-_") if further else ""
        if not _GROUP.fullmatch(name):
            break
        end += len(f"&{name}")
    return end
