"""Statements out of a text without any model: each bullet and each sentence is one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .cleaning import readable, same_key, words_of
from .markup import Line, content_lines

LONGEST_STATEMENT = 2_000

_QUESTION = re.compile(r"[?？؟;][\"'”’»)\]\s]*$")
_GREEK_QUESTION = ";"
_SENTENCE_END = re.compile(r"(?<=[.!?…])(?:[\"'”’»)\]]+)?(?=\s)|(?<=[。！？])(?:[」』”])?")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|[Dd]r|[Mm]r|[Mm]rs|[Mm]s|[Pp]rof|[Ss]t|[Nn]o|[Nn]r|vs|etc|approx|ca|bzw|usw|[Ss]r|[Ss]ra|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|e\.g|i\.e|z\.B|d\.h|u\.a|p\.ex|\d{1,2})\.$"
)
# Before a small letter, a full stop ends a sentence only where it ends a word that is no short form.
_PLAIN_END = re.compile(r"[^\W\d_]{3}[.!?]$")
_LONGEST_ABBREVIATION = 10
_SENTENCE_ENDED = re.compile(r"[.!?…。！？:][\"'”’»)\]]*$")
_WRAPPED_FROM = 55
_FEWEST_WORDS, _FEWEST_LETTERS = 2, 4


def parse_statements(text: str) -> list[str]:
    """The statements of a text in order, each once, with its own letters.

    Bullets and sentences are one each; lines that were only wrapped are joined. Headings, questions, code and greetings
    of a single word are left out.
    """
    found: dict[str, str] = {}
    for block in _blocks(content_lines(readable(text))):
        for sentence in _sentences(block):
            for statement in _bounded(sentence):
                if _says_something(statement):
                    found.setdefault(same_key(statement), statement)
    return list(found.values())


def _blocks(lines: Iterator[Line]) -> Iterator[str]:
    """Bullets and paragraphs, each with its wrapped lines in one."""
    block = ""
    for line in lines:
        if block and line.text and not line.begins_block and _goes_on(block, line):
            block += line.text if block.endswith("-") and line.text[0].islower() else f" {line.text}"
            continue
        if block:
            yield block
        block = line.text
    if block:
        yield block


def _goes_on(block: str, line: Line) -> bool:
    if line.text[0].islower() or line.is_indented:
        return True
    return len(line.before) >= _WRAPPED_FROM and not _SENTENCE_ENDED.search(block)


def _sentences(block: str) -> Iterator[str]:
    begin = 0
    for match in _SENTENCE_END.finditer(block):
        end = match.end()
        if _is_end_of_sentence(block, end):
            yield block[begin:end].strip()
            begin = end
    yield block[begin:].strip()


def _is_end_of_sentence(block: str, end: int) -> bool:
    next_letter = block[end : end + 2].strip()[:1]
    if _ABBREVIATION.search(block, max(0, end - _LONGEST_ABBREVIATION), end):
        return False
    return not next_letter.islower() or bool(_PLAIN_END.search(block, max(0, end - _LONGEST_ABBREVIATION), end))


def _bounded(sentence: str) -> Iterator[str]:
    while len(sentence) > LONGEST_STATEMENT:
        end = sentence.rfind(" ", LONGEST_STATEMENT // 2, LONGEST_STATEMENT)
        end = end if end > 0 else LONGEST_STATEMENT
        yield sentence[:end].strip()
        sentence = sentence[end:].strip()
    yield sentence


def _says_something(statement: str) -> bool:
    if _is_question(statement):
        return False
    words = words_of(statement)
    return len(words) >= _FEWEST_WORDS or (
        len(words) == 1 and not words[0].isascii() and len(words[0]) >= _FEWEST_LETTERS and _has_no_spaces(words[0])
    )


def _is_question(statement: str) -> bool:
    if not (match := _QUESTION.search(statement)):
        return False
    return match[0][0] != _GREEK_QUESTION or any("Ͱ" <= letter <= "Ͽ" for letter in statement)


def _has_no_spaces(word: str) -> bool:
    """Whether the word is of a script that writes sentences without spaces."""
    return any(
        "\u0e00" <= letter <= "\u0eff" or "\u1780" <= letter <= "\u17ff" or letter >= "\u3040" for letter in word
    )
