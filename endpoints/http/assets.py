"""Static files under addresses that contain a fingerprint of their content, cached by browsers for ever.

The page's modules are served as set-up joined them (`interface/static/built`) while that build was made from the
modules and style sheets as they are; else, and where the settings say so, one by one.

Every module imports its words from `page/strings/en`. For another language, set-up joins the page with the words of
`page/strings/<language>` (`built/<language>`); single modules get them by addresses that name the language,
`/static/<fingerprint>.<language>/…`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import mimetypes
import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flask import Blueprint, Flask, Response, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from .languages import ENGLISH, LANGUAGES
from .scope import current_application
from .validation import answers, fails, public

log = logging.getLogger("anaphora.page")
blueprint = Blueprint("static_files", __name__)
_EXTENSION = "anaphora-static"
_FOR_EVER = "public, max-age=31536000, immutable"
_COMPRESSIBLE = (".js", ".mjs", ".css", ".html", ".svg", ".json", ".txt", ".map")
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
# A page of ours shows diagrams in a sandboxed frame, whose inside may load its own script and style, and nothing else.
_FRAME_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
# Files that a page needs together are joined: a request costs more than a few kilobytes.
_JOINED = {
    "joined/base.css": ("vendor/bootstrap.min.css", "page/ui/theme.css", "page/ui/base.css"),
    "joined/interface.css": (
        "page/sidebar/sidebar.css",
        "page/conversation/transcript/transcript.css",
        "page/markdown/markdown.css",
        "page/conversation/find/find.css",
        "page/composer/composer.css",
        "page/references/references.css",
    ),
    "joined/tree.js": ("vendor/jquery.min.js", "vendor/jstree.min.js"),
}
_MAIN = "page/app/main.js"
# What the chat page needs beside its modules without a network: not the large libraries for code, maths, diagrams.
_SHELL = ("joined/base.css", "joined/interface.css", "joined/tree.js", "page/app/theme.js", "img/mark.svg")
_SHELL_LATER = ("vendor/icons.svg", "built/later.js")
# The modules that pages start with, and the files that set-up joins each of them into; the last one is the start.
_ENTRIES = {
    _MAIN: ("built/common.js", "built/main.js"),
    "page/app/settings.js": ("built/settings.js",),
    "page/app/shared.js": ("built/shared.js",),
}
_MANIFEST = "built/manifest.json"
_LATER = "built/later.js"
_STRINGS = "page/strings/"
# What modules load when they first need it, beside style sheets of the page.
_LOADED_LATER = (
    "vendor/icons.svg",
    "vendor/highlight.min.js",
    "vendor/katex/katex.mjs",
    "vendor/katex/katex.min.css",
    "mermaid_frame.html",
    "preview_frame.html",
    _LATER,
)
_ENGLISH_WORDS = re.compile(rb"(?<=/strings/)en(?=/(\w+)\.js)")
_LINK = re.compile(rb'(?<=(?:src|ref)=")[\w./-]+(?=")')


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent; `packed` is its gzip form, if that is smaller.

    is_listed: the content is the one that was there at the start, and that the file's fingerprint is made from.
    """

    content: bytes
    packed: bytes | None
    media_type: str
    is_listed: bool


class Assets:
    """The files below `folder`, listed at the start and read on first use.

    Also those of `_JOINED`, each made of several. Only listed files are served, whatever an address says; links out of
    the folder are not listed. joined: whether the page's modules and style sheets are served as set-up joined them,
    where it did. version: a fingerprint of all files.
    """

    def __init__(self, folder: Path, *, joined: bool = True) -> None:
        root = folder.resolve()
        files = (path for path in sorted(root.rglob("*")) if _is_served(path) and _is_inside(path, root))
        self._paths: dict[str, tuple[Path, ...]] = {path.relative_to(root).as_posix(): (path,) for path in files}
        self._hashes = {path: _content_hash(path) for (path,) in self._paths.values()}
        self.version = _digest(self._hashes.values())
        self.is_joined = joined and self._has_current_build()
        trimmed = (
            {name: made for name in self._paths if (made := _trimmed(name)) in self._paths} if self.is_joined else {}
        )
        # Not those of `vendor`, whose form would decide the addresses of all libraries.
        self._paths |= {name: self._paths[made] for name, made in trimmed.items() if _group_of(name) == name}
        for name, parts in _JOINED.items():
            self._paths[name] = tuple(path for part in parts for path in self._paths[trimmed.get(part, part)])
        self._fingerprints = self._fingerprints_of_groups()
        self._loaded: dict[str, Asset] = {}
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> Asset:
        """The file `name`. Raises KeyError."""
        asset = self._loaded.get(name)
        if asset is None:
            paths = self._paths[name]
            with self._lock:
                asset = self._loaded.setdefault(name, self._load(paths))
        return asset

    def fingerprint(self, name: str) -> str | None:
        """Of the file `name`, or of the files that it finds by relative addresses; None where there is no such file."""
        return self._fingerprints.get(_group_of(name)) if name in self._paths else None

    def address(self, name: str, *, language: str = ENGLISH) -> str:
        """The address of the file `name`, as a page in `language` needs it. Raises KeyError."""
        fingerprint = self._fingerprints[_group_of(name)]
        if language != ENGLISH and name.startswith("built/"):
            name = name.replace("built/", f"built/{language}/")
        elif language != ENGLISH and _is_module(name):
            fingerprint = f"{fingerprint}.{language}"
        return f"/static/{fingerprint}/{name}"

    def entry(self, module: str, *, language: str = ENGLISH) -> Sequence[str]:
        """The addresses of the modules by which a page starts that begins with `module`; the last one is the start."""
        names = _ENTRIES[module] if self.is_joined else (module,)
        return [self.address(name, language=language) for name in names]

    def translated(self, name: str, language: str) -> bytes:
        """A module that imports its words in `language`. Raises KeyError."""
        content = self[name].content
        if name.startswith(_STRINGS):
            return content
        return _ENGLISH_WORDS.sub(
            lambda found: language.encode() if f"{_STRINGS}{language}/{found[1].decode()}.js" in self._paths else b"en",
            content,
        )

    def loaded_later(self, *, language: str = ENGLISH) -> Mapping[str, str]:
        """The addresses of what modules ask for by name."""
        at_once = {name for parts in _JOINED.values() for name in parts}
        styles = (name for name in self._paths if name.startswith("page/") and name.endswith(".css"))
        names = (*_LOADED_LATER, *(name for name in styles if name not in at_once))
        return {name: self.address(name, language=language) for name in names if name in self._paths}

    def shell(self, *, language: str = ENGLISH) -> Sequence[str]:
        """The addresses of what the chat page needs to be shown and written in without a network."""
        later = self.loaded_later(language=language)
        wanted = [address for name, address in later.items() if name.startswith("page/") or name in _SHELL_LATER]
        return [*(self.address(name) for name in _SHELL), *self.entry(_MAIN, language=language), *wanted]

    def _has_current_build(self) -> bool:
        """Whether set-up joined the page, and from the modules and style sheets that are there now."""
        if _MANIFEST not in self._paths:
            return False
        made_of = json.loads(self._paths[_MANIFEST][0].read_bytes())["made_of"]
        there = {
            name: self._hashes[path].hex()
            for name, (path,) in self._paths.items()
            if name.startswith(("page/", "vendor/")) and path.suffix in {".js", ".mjs", ".css"}
        }
        styles = (name for parts in _JOINED.values() for name in parts if name.endswith(".css"))
        is_current = bool(made_of == there) and self._paths.keys() >= {*map(_trimmed, styles)}
        if not is_current:
            log.info("the page was joined from other files: it is served one by one; set-up joins it again")
        return is_current

    def _fingerprints_of_groups(self) -> dict[str, str]:
        groups = defaultdict[str, list[bytes]](list)
        for name, paths in self._paths.items():
            groups[_group_of(name)] += [name.encode(), *(self._hashes[path] for path in paths)]
        # Of pages among the files, the addresses of what they load are a part.
        for name in self._paths:
            if name.endswith(".html"):
                groups[name].append(self.version.encode())
        return {group: _digest(parts) for group, parts in groups.items()}

    def _load(self, paths: Sequence[Path]) -> Asset:
        path, *_ = paths
        parts = [part.read_bytes() for part in paths]
        is_listed = all(_hash(part) == self._hashes[each] for part, each in zip(parts, paths, strict=True))
        content = b"\n".join(parts)
        if path.suffix == ".html":
            content = _LINK.sub(lambda found: self.address(found[0].decode()).encode(), content)
        packed = gzip.compress(content, compresslevel=9, mtime=0) if path.suffix in _COMPRESSIBLE else None
        if packed is not None and len(packed) >= len(content):
            packed = None
        media_type = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        textual = media_type.startswith("text/") or media_type == "application/json"
        return Asset(content, packed, f"{media_type}; charset=utf-8" if textual else media_type, is_listed)


def _group_of(name: str) -> str:
    """Files that find each other by relative addresses have one fingerprint."""
    folder = name.partition("/")[0]
    if folder == "built" and not name.endswith(".js"):
        return name
    return folder if folder in {"vendor", "built"} or _is_module(name) else name


def _trimmed(name: str) -> str:
    """The form of a style sheet that set-up makes when it joins the page: without what no page needs."""
    return f"built/{name}"


def _is_module(name: str) -> bool:
    return name.startswith("page/") and name.endswith(".js")


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(b"%d:" % len(part) + part)
    return digest.hexdigest()


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def _content_hash(path: Path) -> bytes:
    status = path.stat()
    return _hash_of_version(path, status.st_mtime_ns, status.st_size)


@cache
def _hash_of_version(path: Path, _modified_ns: int, _size: int) -> bytes:
    """Cached per file version: hashing all files takes half of an application's start."""
    return _hash(path.read_bytes())


def _is_served(path: Path) -> bool:
    # Set-up keeps its own marker files beside the copied ones.
    return path.is_file() and not path.name.startswith(".")


def _is_inside(path: Path, root: Path) -> bool:
    # `rglob` follows no links to folders, so only the file itself can be a link.
    return not path.is_symlink() or path.resolve().is_relative_to(root)


def register_assets(app: Flask, folder: Path, *, joined: bool) -> None:
    """Serve `folder` and give templates the addresses of its files; `joined`: see `Assets`."""
    assets = Assets(folder, joined=joined)
    app.extensions[_EXTENSION] = assets
    app.add_template_global(assets.address, "asset")
    app.add_template_global(assets.entry, "entry")
    app.add_template_global(page_assets, "page_assets")


def page_assets(language: str) -> Mapping[str, object]:
    """What a page in `language` knows of files: the addresses of those it loads later, and the version of all."""
    return {"version": _assets().version, "addresses": _assets().loaded_later(language=language)}


def asset_address(name: str) -> str:
    """The address of the file `name`. Raises KeyError."""
    return _assets().address(name)


def asset_content(name: str) -> bytes:
    """The content of the file `name`. Raises KeyError."""
    return _assets()[name].content


def page_is_joined() -> bool:
    """Whether the page comes in the few files that set-up joins."""
    return _assets().is_joined


def shell_addresses(*, language: str) -> Sequence[str]:
    """The addresses of what the chat page needs to be shown and written in without a network."""
    return _assets().shell(language=language)


def static_version() -> str:
    """A fingerprint of all files that pages are made of."""
    return _assets().version


def static_version_of(app: Flask) -> str:
    """`static_version` of `app`, for what answers outside of it."""
    assets: Assets = app.extensions[_EXTENSION]
    return assets.version


@blueprint.get("/static/<version>/<path:name>")
@public
@answers(None, media="*/*")
@fails("not_found")
def send_asset(version: str, name: str) -> Response:
    """A file of the page."""
    version, _, language = version.partition(".")
    try:
        asset = _assets()[name]
        content = _assets().translated(name, language) if language in LANGUAGES and _is_module(name) else asset.content
    except KeyError:
        raise NotFound from None
    is_asset = content is asset.content
    packed = asset.packed if is_asset and "gzip" in request.headers.get("Accept-Encoding", "").lower() else None
    answer = Response(packed or content, content_type=asset.media_type)
    if packed:
        answer.headers["Content-Encoding"] = "gzip"
    answer.headers["Vary"] = "Accept-Encoding"
    # A page opened before an update still uses the old address: it gets the file without caching.
    is_current = asset.is_listed and version == _assets().fingerprint(name)
    answer.headers["Cache-Control"] = _FOR_EVER if is_current else "no-cache"
    if name.endswith(".html"):
        answer.headers["Content-Security-Policy"] = _FRAME_POLICY
        answer.headers["X-Frame-Options"] = "SAMEORIGIN"
    return answer


@blueprint.get("/favicon.ico")
@public
@answers(None, media="image/svg+xml")
def favicon() -> BaseResponse:
    """The icon, which browsers request by themselves."""
    return send_asset(version="", name="img/mark.svg")


def _assets() -> Assets:
    assets: Assets = current_application().extensions[_EXTENSION]
    return assets
