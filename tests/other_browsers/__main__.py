"""`python -m tests.other_browsers`: set up what drives Firefox and WebKit, then run the journey in both."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

from tests.live_server import ROOT
from tests.other_browsers.drivers import FIREFOX, PACKAGES, WEBKIT_BROWSER, WEBKIT_DRIVER, XVFB

_REQUIREMENTS = ROOT / "requirements-browsers.txt"
_INSTALLED = PACKAGES / "requirements.txt"
# The Debian package of each program.
_PROGRAMS = {
    FIREFOX: "firefox-esr",
    WEBKIT_DRIVER: "webkit2gtk-driver",
    WEBKIT_BROWSER: "webkit2gtk-driver",
    XVFB: "xvfb",
}


def main() -> int:
    """The exit status of the tests; 2 where a browser is missing."""
    if missing := sorted(set(_missing())):
        print(f"Browsers are missing. On Debian: apt-get install {' '.join(missing)}", file=sys.stderr)
        return 2
    _install_packages()
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(PACKAGES), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "proof", "tests/other_browsers"]
    return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode


def _missing() -> Iterator[str]:
    for program, package in _PROGRAMS.items():
        if shutil.which(program) is None:
            yield package


def _install_packages() -> None:
    """Beside the packages of the tests, which must not meet those of Selenium."""
    wanted = _REQUIREMENTS.read_text(encoding="utf-8")
    if _INSTALLED.exists() and _INSTALLED.read_text(encoding="utf-8") == wanted:
        return
    shutil.rmtree(PACKAGES, ignore_errors=True)
    options = ["--quiet", "--no-deps", "--target", str(PACKAGES), "--requirement", str(_REQUIREMENTS)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options], check=True)
    _INSTALLED.write_text(wanted, encoding="utf-8")


sys.exit(main())
