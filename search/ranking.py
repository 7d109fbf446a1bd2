"""Which of many messages say best what is sought, and where they say it. Texts in, places out: nothing is stored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from database.search.index import UNSPACED, WORD, folded, words

_AROUND = 60
_LENGTH = 220
_CHUNK = 4_000
_OVERLAP = 400
_SIDE_BY_SIDE = 1.5
_GOES_ON = re.compile(rf"(?:[^\W_{UNSPACED}]|[\u0900-\u0dff]){{2}}")
"""Two characters that stand in the same word."""
_CONTROLS = re.compile(r"[\s\x00-\x1f\x7f]")

Phrases = Sequence[Sequence[str]]


class Snippet(NamedTuple):
    """A piece of a text. `ranges`: (begin, end) of what was sought, in characters of `text`."""

    text: str
    ranges: list[tuple[int, int]]


def holds(text: str, phrases: Phrases, *, beginning: bool) -> bool:
    """Whether `text` says all of `phrases`; with `beginning` the last word may go on."""
    plain = folded(text)
    if not all(word in plain for phrase in phrases for word in phrase):
        return False  # cutting it into words takes far longer than looking
    cut = f" {' '.join(words(text))} "
    sought = [f" {' '.join(phrase)} " for phrase in phrases]
    if beginning and sought:
        sought[-1] = sought[-1].rstrip(" ")
    return all(phrase in cut for phrase in sought)


def best(candidates: Sequence[tuple[int, str]], phrases: Phrases) -> list[int]:
    """Numbers of the candidates, given with their folded texts: those first that say the words often for their length.

    Words that are said as they were typed, side by side, count half as much again. The order of equals stays.
    """
    sought = sorted({word for phrase in phrases for word in phrase})
    whole = " ".join(word for phrase in phrases for word in phrase)
    usual_length = sum(len(text) for _, text in candidates) / max(1, len(candidates)) or 1
    scored = []
    for number, text in candidates:
        allowance, score = 0.3 + 0.9 * len(text) / usual_length, 0.0
        for word in sought:
            count = text.count(word)
            score += count / (count + allowance)
        scored.append((score * _SIDE_BY_SIDE if len(sought) > 1 and whole in text else score, number))
    return [number for _, number in sorted(scored, key=itemgetter(0), reverse=True)]


def snippet(text: str, phrases: Phrases, *, beginning: bool) -> Snippet:
    """The piece of `text` that says most of `phrases`, on one line, with the places where it does."""
    chunk_start = _best_chunk(text, phrases)
    chunk = text[chunk_start : chunk_start + _CHUNK]
    places, first = _densest(_places(chunk, phrases, beginning=beginning), len(phrases))
    start, end = _window(chunk, places[first:])
    before = "… " if chunk_start + start > 0 else ""
    after = " …" if chunk_start + end < len(text) else ""
    shift = len(before) - start
    ranges = [(begin + shift, stop + shift) for begin, stop in places if begin >= start and stop <= end]
    return Snippet(before + _CONTROLS.sub(" ", chunk[start:end]) + after, ranges)


def _best_chunk(text: str, phrases: Phrases) -> int:
    """Where the piece begins that has most of the words: only that one is looked at closely."""
    sought = {word for phrase in phrases for word in phrase}
    starts = range(0, max(1, len(text) - _OVERLAP), _CHUNK - _OVERLAP)
    if len(starts) == 1 or not sought:
        return 0

    def said(start: int) -> int:
        plain = folded(text[start : start + _CHUNK])
        return sum(word in plain for word in sought)

    return max(starts, key=said)  # the first of equals


def _places(text: str, phrases: Phrases, *, beginning: bool) -> Iterator[tuple[int, tuple[int, int]]]:
    """(number of the phrase, place in `text`) of each time that a phrase is said, in order; none overlaps another."""
    if not phrases:
        return
    if text.isascii() and all(len(phrase) == 1 for phrase in phrases):
        yield from _places_of_words(folded(text), [word for (word,) in phrases], beginning=beginning)
        return
    plain, origin = _folded_with_origins(text)
    longest, position = max(len(phrase) for phrase in phrases), 0
    # Only where the first word of a phrase stands the text is cut into words.
    for begin in _occurrences(plain, {phrase[0] for phrase in phrases}):
        if begin < position or (begin > 0 and _GOES_ON.match(plain, begin - 1)):
            continue
        cut = [match.span() for match in islice(WORD.finditer(plain, begin), longest)]
        number = _said_at([plain[start:end] for start, end in cut], phrases, beginning=beginning)
        if number is not None:
            position = cut[len(phrases[number]) - 1][1]
            yield number, (origin[begin], origin[position - 1] + 1)


def _places_of_words(plain: str, sought: Sequence[str], *, beginning: bool) -> list[tuple[int, tuple[int, int]]]:
    """`_places` of phrases of one word each, in a folded text of ASCII characters: the usual case."""
    found, last = list[tuple[int, int, int]](), len(sought) - 1
    for number, word in enumerate(sought):
        begin = plain.find(word)
        while begin >= 0:
            end = begin + len(word)
            if begin == 0 or not plain[begin - 1].isalnum():
                while beginning and number == last and plain[end : end + 1].isalnum():
                    end += 1
                if not plain[end : end + 1].isalnum():
                    found.append((begin, number, end))
            begin = plain.find(word, end)
    firsts = dict[int, tuple[int, tuple[int, int]]]()
    for begin, number, end in sorted(found):
        firsts.setdefault(begin, (number, (begin, end)))  # of equals, the first phrase
    return list(firsts.values())


def _occurrences(text: str, words: Iterable[str]) -> Iterator[int]:
    """Where any of `words` begins in `text`, in order. A regular expression of them would take longer to compile."""
    following = {word: place for word in words if (place := text.find(word)) >= 0}
    while following:
        word = min(following, key=following.__getitem__)
        yield following[word]
        following[word] = text.find(word, following[word] + 1)
        if following[word] < 0:
            del following[word]


def _said_at(words: Sequence[str], phrases: Phrases, *, beginning: bool) -> int | None:
    """The number of the phrase with which `words` begin."""
    for number, phrase in enumerate(phrases):
        said = words[: len(phrase)]
        if len(said) < len(phrase):
            continue
        goes_on = beginning and number == len(phrases) - 1
        if said[:-1] == list(phrase[:-1]) and (said[-1].startswith(phrase[-1]) if goes_on else said[-1] == phrase[-1]):
            return number
    return None


def _folded_with_origins(text: str) -> tuple[str, Sequence[int]]:
    """The folded text, and for each of its characters which character of `text` it came of."""
    if text.isascii():
        return folded(text), range(len(text))
    # Of a letter its neighbours change what it becomes (a last sigma), but not how many characters that are.
    return folded(text), [position for position, character in enumerate(text) for _ in folded(character)]


def _densest(places: Iterable[tuple[int, tuple[int, int]]], phrases: int) -> tuple[list[tuple[int, int]], int]:
    """The places, and the number of that one after which most different phrases are said within a snippet.

    Behind a snippet in which all `phrases` are said, no further places are looked for.
    """
    numbers, seen = list[int](), list[tuple[int, int]]()
    first, best, most = 0, 0, 0
    for number, place in places:
        if most == phrases and place[0] > seen[best][0] + _LENGTH:
            break
        numbers.append(number)
        seen.append(place)
        if most == phrases:
            continue
        while first < len(seen) - 1 and place[1] > seen[first][0] + _LENGTH - _AROUND:
            first += 1
        said = len(set(numbers[first:]))
        if said > most:
            best, most = first, said
    return seen, best


def _window(text: str, places: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """A piece of `text` around the first of `places`, from the beginning of a word to the end of one."""
    if len(text) <= _LENGTH:
        return 0, len(text)
    start = max(0, places[0][0] - _AROUND) if places else 0
    start = min(start, len(text) - _LENGTH)
    end = max(start + _LENGTH, places[0][1]) if places else _LENGTH
    space = text.find(" ", start, places[0][0] if places else start)
    if start > 0 and space >= 0:
        start = space + 1
    space = text.rfind(" ", places[0][1] if places else end - _AROUND, end)
    return start, space if end < len(text) and space > 0 else end
