"""The languages of the page: which one a request gets, and the words of the templates.

Templates mark their English words for Jinja's `i18n` extension. `interface/strings/<language>.json` maps them to those
of another language; what it lacks stays English. The page's modules have their own: see `endpoints.http.assets`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from flask import Flask, request
from jinja2 import pass_context
from jinja2.runtime import Context
from werkzeug.wrappers import Response

Language = Literal["en", "de", "es", "zh-Hans"]
ENGLISH: Final = "en"
# Each is named in its own words.
LANGUAGES: Mapping[Language, str] = MappingProxyType(
    {ENGLISH: "English", "de": "Deutsch", "es": "Español", "zh-Hans": "简体中文"}
)
COOKIE = "anaphora_language"
_COOKIE_SECONDS = 365 * 24 * 3600
_STRINGS = Path(__file__).resolve().parents[2] / "interface" / "strings"
_CHINESE = "zh"


def register_languages(app: Flask) -> None:
    """Give templates `language`, `languages`, `_()` and the filter `translated`."""
    app.jinja_env.add_extension("jinja2.ext.i18n")
    # Provided by the extension, which has no types.
    app.jinja_env.install_gettext_callables(_text, _plural, newstyle=True)  # type: ignore[attr-defined]
    app.jinja_env.policies["ext.i18n.trimmed"] = True
    app.jinja_env.filters["translated"] = _text
    app.context_processor(lambda: {"language": requested_language(), "languages": LANGUAGES})


def requested_language() -> str:
    """The language chosen in this browser, else the best of those that it asks for."""
    chosen = request.cookies.get(COOKIE)
    if chosen in LANGUAGES:
        return str(chosen)
    for asked in request.accept_languages.values():
        prefix = asked.replace("_", "-").partition("-")[0].lower()
        if prefix == _CHINESE:
            return "zh-Hans"
        if prefix in LANGUAGES:
            return prefix
    return ENGLISH


def remember_language(answer: Response, language: str | None) -> None:
    """Keep `language` in the browser, for pages without an account too; None: forget it."""
    if language is None:
        answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="Lax", secure=request.is_secure)
    else:
        answer.set_cookie(
            COOKIE, language, max_age=_COOKIE_SECONDS, path="/", httponly=True, samesite="Lax", secure=request.is_secure
        )


@cache
def template_strings(language: str) -> Mapping[str, str]:
    """The words of the templates by their English ones; empty for English."""
    if language == ENGLISH:
        return {}
    strings: dict[str, str] = json.loads((_STRINGS / f"{language}.json").read_text(encoding="utf-8"))
    return strings


def translated(text: str) -> str:
    """A sentence in the language of the page that the request is answered with; English where it has no translation."""
    return template_strings(requested_language()).get(text, text)


def translated_or(text: str, general: str) -> str:
    """As `translated`; what has no translation is English in English alone, elsewhere the translation of `general`."""
    words = template_strings(requested_language())
    return words.get(text) or words.get(general, text)


@pass_context
def _text(context: Context, text: str) -> str:
    return template_strings(context["language"]).get(text, text)


@pass_context
def _plural(context: Context, one: str, other: str, n: int) -> str:
    return _text(context, one if n == 1 else other)
