"""What makes the page installable: the web manifest, the service worker, the shell shown without a network."""

from __future__ import annotations

import json

from flask import Blueprint, Response, render_template

from chat.welcome import DOMAIN
from database.messages.message import MAX_MESSAGE_CHARS
from endpoints.http.assets import asset_address, asset_content, shell_addresses, static_version
from endpoints.http.languages import requested_language
from endpoints.http.validation import answers, public

blueprint = Blueprint("installation", __name__)
_ICONS = (
    ("img/mark.svg", "any", "image/svg+xml", "any"),
    ("img/icon-192.png", "192x192", "image/png", "any"),
    ("img/icon-512.png", "512x512", "image/png", "any"),
    ("img/icon-maskable-512.png", "512x512", "image/png", "maskable"),
)
_SHELL = "/shell"


@blueprint.get("/manifest.webmanifest")
@public
@answers(None, media="application/manifest+json")
def manifest() -> Response:
    """The web manifest, by which browsers install the page as an application."""
    content = {
        "id": "/interface/",
        "name": "Anaphora",
        "short_name": "Anaphora",
        "start_url": "/interface/",
        "scope": "/",
        "display": "standalone",
        "background_color": "#ffffff",
        "theme_color": "#3a4bc8",
        "icons": [
            {"src": asset_address(name), "sizes": sizes, "type": kind, "purpose": purpose}
            for name, sizes, kind, purpose in _ICONS
        ],
    }
    return _uncached(json.dumps(content), "application/manifest+json")


@blueprint.get("/service_worker.js")
@public
@answers(None, media="text/javascript")
def service_worker() -> Response:
    """The service worker of this version of the page: it keeps the shell and its files for when there is no network."""
    files = [_SHELL, *shell_addresses(language=requested_language())]
    kept = json.dumps({"version": static_version(), "shell": _SHELL, "files": files})
    script = f"self.KEPT = {kept};\n{asset_content('service_worker.js').decode()}"
    return _uncached(script, "text/javascript; charset=utf-8")


@blueprint.get(_SHELL)
@public
@answers(None, media="text/html")
def shell() -> str:
    """The chat page of nobody in particular: it finds the account, its drafts and its outbox in the browser."""
    bootstrap = {
        "user_email": "",
        "name": "",
        "domain": DOMAIN,
        "is_admin": False,
        "limits": {"message": MAX_MESSAGE_CHARS},
        "version": static_version(),
        "changes": {"seq": 0, "epoch": ""},
        "is_shell": True,
    }
    return render_template("interface.html", bootstrap=bootstrap, language=requested_language())


def _uncached(content: str, media_type: str) -> Response:
    answer = Response(content, content_type=media_type)
    # The browser asks each time whether it is still the same.
    answer.headers["Cache-Control"] = "no-cache"
    return answer
