"""Requests to remember something, as people write them: "remember this: …", "/memory …"."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
