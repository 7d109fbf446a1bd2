"""Static files under addresses that contain a hash of their content, cached by browsers for ever."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flask import Blueprint, Flask, Response, current_app, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from .validation import answers, fails, public

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
        "page/composer/composer.css",
        "page/references/references.css",
    ),
    "joined/tree.js": ("vendor/jquery.min.js", "vendor/jstree.min.js"),
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent; `packed` is its gzip form, if that is smaller."""

    content: bytes
    packed: bytes | None
    media_type: str


class Assets:
    """The files below `folder`, listed at the start and read on first use.

    Also those of `_JOINED`, each made of several. Only listed files are served, whatever an address says; links out of
    the folder are not listed.
    """

    def __init__(self, folder: Path) -> None:
        root = folder.resolve()
        files = (path for path in sorted(root.rglob("*")) if _is_served(path) and path.resolve().is_relative_to(root))
        self._paths: dict[str, tuple[Path, ...]] = {path.relative_to(root).as_posix(): (path,) for path in files}
        self.version = self._fingerprint()
        for name, parts in _JOINED.items():
            self._paths[name] = tuple(path for part in parts for path in self._paths[part])
        self._loaded: dict[str, Asset] = {}
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> Asset:
        """The file `name`. Raises KeyError."""
        asset = self._loaded.get(name)
        if asset is None:
            paths = self._paths[name]
            with self._lock:
                asset = self._loaded.setdefault(name, _load(paths))
        return asset

    def _fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=8)
        for name, (path,) in self._paths.items():
            status = path.stat()
            digest.update(name.encode() + b"\0" + _content_hash(path, status.st_mtime_ns, status.st_size))
        return digest.hexdigest()


@cache
def _content_hash(path: Path, _modified_ns: int, _size: int) -> bytes:
    """Cached per file version: hashing all files takes half of an application's start."""
    return hashlib.blake2b(path.read_bytes()).digest()


def _is_served(path: Path) -> bool:
    # Set-up keeps its own marker files beside the copied ones.
    return path.is_file() and not path.name.startswith(".")


def register_assets(app: Flask, folder: Path) -> None:
    """Serve `folder` and give templates `asset(name)`, the address of a file of it."""
    assets = Assets(folder)
    app.extensions[_EXTENSION] = assets
    app.add_template_global(asset_address, "asset")


def asset_address(name: str) -> str:
    """The address of the file `name`."""
    return f"{static_base()}{name}"


def static_base() -> str:
    """Where the files of this version are, ending with a slash."""
    return f"/static/{_assets().version}/"


def static_version() -> str:
    """The fingerprint of this version of the page's files."""
    return _assets().version


@blueprint.get("/static/<version>/<path:name>")
@public
@answers(None, media="*/*")
@fails("not_found")
def send_asset(version: str, name: str) -> Response:
    """A file of the page."""
    try:
        asset = _assets()[name]
    except KeyError:
        raise NotFound from None
    packed = asset.packed if "gzip" in request.headers.get("Accept-Encoding", "").lower() else None
    answer = Response(packed or asset.content, content_type=asset.media_type)
    if packed:
        answer.headers["Content-Encoding"] = "gzip"
    answer.headers["Vary"] = "Accept-Encoding"
    # A page opened before an update still uses the old address: it gets the file without caching.
    answer.headers["Cache-Control"] = _FOR_EVER if version == _assets().version else "no-cache"
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
    assets: Assets = current_app.extensions[_EXTENSION]
    return assets


def _load(paths: Sequence[Path]) -> Asset:
    path, *_ = paths
    content = b"\n".join(part.read_bytes() for part in paths)
    packed = gzip.compress(content, compresslevel=6, mtime=0) if path.suffix in _COMPRESSIBLE else None
    if packed is not None and len(packed) >= len(content):
        packed = None
    media_type = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    textual = media_type.startswith("text/") or media_type == "application/json"
    return Asset(content, packed, f"{media_type}; charset=utf-8" if textual else media_type)
