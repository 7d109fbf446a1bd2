"""Statements out of a text without any model: cleaning it, cutting it, reading its lines, sentences and requests."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from database.engine.text import storable
from sentences import say

from ..errors import InvalidKnowledgeError

MOST_TEXT_BYTES = 50 * 1024

_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_WORDS = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")


def checked_text(text: object) -> str:
    """`text` with plain line ends and no control characters. Raises InvalidKnowledgeError for none, or too much."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidKnowledgeError(say("text_missing", what="text"))
    clean = readable(text)
    size = max(len(clean.encode()), len(storable(text).encode()))
    if size > MOST_TEXT_BYTES:
        raise InvalidKnowledgeError(say("text_has_bytes", count=size, most=MOST_TEXT_BYTES))
    return clean


def readable(text: str) -> str:
    """`text` with LF as its only line end; control characters become spaces, lone surrogates U+FFFD."""
    return _CONTROLS.sub(" ", _LINE_ENDS.sub("\n", storable(text)))


def words_of(statement: str) -> list[str]:
    """The words of a statement, without case; "2026-02-08", "don't" and "7:30" are one word each."""
    return _WORDS.findall(unicodedata.normalize("NFKC", statement).casefold().replace("’", "'"))


def same_key(statement: str) -> str:
    """What is equal for two statements that differ in case, spaces and punctuation alone."""
    return " ".join(words_of(statement)) or statement.strip()


# Where a text may be cut, the best places first: after paragraphs, lines, sentences, words.
_ENDS = tuple(map(re.compile, (r"\n[ \t]*\n+", r"\n", r"[.!?…][\"'”’)]*\s+|[。！？]", r"\s+")))


def chunks(text: str, *, longest: int) -> list[str]:
    """Parts of at most `longest` characters; joined, they are `text` again. Parts of spaces alone are left out."""
    parts: list[str] = []
    begin = 0
    while begin < len(text):
        end = _end_of_part(text, begin, longest)
        parts.append(text[begin:end])
        begin = end
    return [part for part in parts if part.strip()]


def _end_of_part(text: str, begin: int, longest: int) -> int:
    limit = begin + longest
    if limit >= len(text):
        return len(text)
    for pattern in _ENDS:
        # A part that is nearly empty is worse than one that ends in a less good place.
        ends = [match.end() for match in pattern.finditer(text, begin, limit) if match.end() - begin > longest // 4]
        if ends:
            return ends[-1]
    return limit


_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_BULLET = re.compile(r"\s*(?:[-*+•·▪◦‣–—]|\d{1,3}[.)]|[a-zA-Z]\))\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"\s*#{1,6}(?:\s|$)|\s*\*\*[^*]+\*\*:?\s*$|\s*__[^_]+__:?\s*$")
_UNDERLINE = re.compile(r"\s*(?:=+|-{2,})\s*$")
_RULE = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*$")
_QUOTE = re.compile(r"\A\s*(?:>\s?)+")
_TABLE_RULE = re.compile(r"\s*(?:\|\s*)?:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*(?:\|\s*)?$")
_INTRODUCTION = re.compile(r"[:：]\s*$")
_CODE = re.compile(
    r"\s*(?:(?:def|class|function|func|fn)\s+\w+\s*[({:]|import\s+[\w.]+\s*(?:;|$|as\b|,)|from\s+[\w.]+\s+import\b|#include\b|"
    r"(?:const|let|var)\s+\w+\s*=|return\b.*;|\}|\{|</?\w+[^>]*>\s*$|\$\s+\w|SELECT\s.+\sFROM\s)|.*(?:[{;]|\);|=>|\(\):)\s*$"
)
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_EMPHASIS = re.compile(r"(\*\*|__|~~|`)(?=\S)(.+?)(?<=\S)\1")
_STAR = re.compile(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])")

# Looking for pairs of marks takes long in very long lines.
_LONGEST_MARKED = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line. text: without marks; "" ends a block. before: the line before it, as it was written."""

    text: str
    begins_block: bool = False
    is_indented: bool = False
    before: str = ""


def content_lines(text: str) -> Iterator[Line]:
    """The lines of `text` that are no heading, no code and no ornament; each of those is an empty line instead."""
    lines = _without_fenced_code(text.split("\n"))
    before = ""
    for number, line in enumerate(lines):
        after = lines[number + 1] if number + 1 < len(lines) else ""
        said = _QUOTE.sub("", line)
        if _is_ornament(said, before=before, after=after):
            yield Line(text="")
        else:
            bullet = _BULLET.match(said)
            yield Line(
                text=_plain(said[bullet.end() :] if bullet else said),
                begins_block=bullet is not None or _is_row(said),
                is_indented=said[:1].isspace(),
                before=before,
            )
        before = said


def _without_fenced_code(lines: list[str]) -> list[str]:
    """The lines with fenced code as empty lines; a fence that nothing closes is only a line."""
    kept: list[str] = []
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        end = _closing(lines, number, fence[1]) if fence else None
        kept.append("" if fence else lines[number])
        if end is not None:
            kept += [""] * (end - number)
            number = end
        number += 1
    return kept


def _closing(lines: list[str], begin: int, fence: str) -> int | None:
    marks = (number for number in range(begin + 1, len(lines)) if lines[number].strip().startswith(fence))
    return next(marks, None)


def _is_ornament(line: str, *, before: str, after: str) -> bool:
    if not line.strip() or _RULE.match(line) or _TABLE_RULE.match(line) or _HEADING.match(line):
        return True
    if _UNDERLINE.match(line) and before.strip():
        return True
    is_underlined = bool(_UNDERLINE.match(after)) and not _BULLET.match(line)
    is_table_head = _is_row(line) and bool(_TABLE_RULE.match(after))
    return is_underlined or is_table_head or _introduces(line, after) or bool(_CODE.match(line))


def _introduces(line: str, after: str) -> bool:
    """Whether a line such as "Shopping:" only says what follows."""
    return bool(_INTRODUCTION.search(line)) and (not after.strip() or bool(_BULLET.match(after)) or len(line) < 40)


def _is_row(line: str) -> bool:
    return line.strip().startswith("|") and line.strip().endswith("|") and line.count("|") > 2


def _plain(line: str) -> str:
    if _is_row(line):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        line = (": " if len(cells) == 2 else ", ").join(cell for cell in cells if cell)
    if len(line) > _LONGEST_MARKED:
        return line.strip()
    line = _LINK.sub(r"\1", line)
    return _STAR.sub(r"\1", _EMPHASIS.sub(r"\2", line)).strip()


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


_SLASH = re.compile(r"\s*/(?:memory|remember)\b[ \t:]*", re.IGNORECASE)
_THIS = (
    r"(?:please\s+|kindly\s+|can you\s+|could you\s+|also\s+)*(?:remember|memori[sz]e|note|save|store)\s+"
    r"(?:this|that|the following|for (?:me|later)|to (?:your )?memory)"
)
_WITH_COLON = re.compile(
    rf"(?:^|(?<=[\n.!?]))[ \t]*{_THIS}(?:\s+(?:for (?:me|later)|please))?[ \t]*[:：–—-][ \t]*", re.IGNORECASE
)
_WITH_THAT = re.compile(
    r"\s*(?:please\s+|can you\s+|could you\s+|also\s+)*(?:remember|note|memori[sz]e)\s+that\s+(?=\S)", re.IGNORECASE
)
_BARE = re.compile(
    rf"(?:^|(?<=[\n.!?;,]))[ \t]*(?:and\s+)?{_THIS}[ \t]*(?:please)?[ \t]*[.!]*[ \t]*(?=$|\n)", re.IGNORECASE
)
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class Request:
    """wish: what is to be remembered, word for word, or "". rest: the message without requests.

    refers_back: something was asked to be remembered, but what it is stands elsewhere.
    """

    wish: str
    rest: str
    refers_back: bool = False


def without_request(message: str) -> Request:
    """Take a message apart. A wish ends where its paragraph ends; behind "/memory" it goes on to the end."""
    if slash := _SLASH.match(message):
        wish = message[slash.end() :].strip()
        return Request(wish=wish, rest="")
    for pattern in (_WITH_COLON, _WITH_THAT):
        found = pattern.search(message) if pattern is _WITH_COLON else pattern.match(message)
        if found:
            wish, rest = _until_paragraph_ends(message[found.end() :])
            if wish:
                return Request(wish=wish, rest="\n\n".join(filter(None, (message[: found.start()].strip(), rest))))
    rest, requests = _BARE.subn("", message)
    return Request(wish="", rest=rest.strip(), refers_back=requests > 0)


def _until_paragraph_ends(text: str) -> tuple[str, str]:
    text = text.strip()
    end = _PARAGRAPH_END.search(text)
    return (text[: end.start()].strip(), text[end.end() :].strip()) if end else (text, "")
