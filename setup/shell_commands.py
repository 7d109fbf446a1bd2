"""Commands that the tests run as people do."""

from __future__ import annotations

import shutil

from environment import SetupError, install_debian_package

NEEDED = ("curl",)
"""The documented steps of a shell are run as they stand."""


def prepare_commands() -> None:
    """Install what is missing of `NEEDED`. Raises SetupError where it can't be had: no test is skipped for it."""
    for name in NEEDED:
        if shutil.which(name) is None and not (install_debian_package(name) and shutil.which(name)):
            raise SetupError(f"The tests of the documentation need {name}. Install it, then run again.")
