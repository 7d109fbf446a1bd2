"""Activities from the command line."""

from __future__ import annotations

from flask.cli import AppGroup

group = AppGroup("activity", help="What happened: activities of all domains.")
