"""Shell commands that the tests run."""

from __future__ import annotations

import shutil

from environment import SetupError, install_debian_package

NEEDED = ("curl",)
"""Documented shell commands are run as written."""


def prepare_commands() -> None:
    """Install the missing ones of `NEEDED`. Raises SetupError where that fails: no test is skipped."""
    for name in NEEDED:
        if shutil.which(name) is None and not (install_debian_package(name) and shutil.which(name)):
            raise SetupError(f"The tests of the documentation need {name}. Install it, then run again.")
