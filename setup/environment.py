"""The virtual environment `.venv` with the pinned packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from stamps import ROOT, fingerprint, is_current, remember, remove

VENV = ROOT / ".venv"
REQUIREMENTS = ("requirements.txt", "requirements-dev.txt")


class SetupError(Exception):
    """Set-up can't go on; the message says what the person can do."""


def prepare_environment(*, dev: bool) -> None:
    """Make `.venv` and install what is pinned, unless that is done already. `dev` adds tests and checks.

    An environment that has the development packages serves as well, so `make serve` after `make test` installs nothing.
    """
    if not (VENV / "bin" / "python").exists():
        remove(VENV)
        make_venv(VENV)
    names = REQUIREMENTS if dev else REQUIREMENTS[:1]
    if any(is_current(name, _mark(name)) for name in REQUIREMENTS[len(names) - 1 :]):
        return
    print("Installing the Python packages …", flush=True)
    pip_install(VENV, "-r", str(ROOT / names[-1]))
    for name in names:
        remember(name, _mark(name))


def _mark(name: str) -> str:
    # pyvenv.cfg names the interpreter: a new one needs its own packages.
    files = [ROOT / part for part in ("constraints.txt", *REQUIREMENTS[: REQUIREMENTS.index(name) + 1])]
    return fingerprint(VENV / "pyvenv.cfg", *files)


def make_venv(folder: Path) -> None:
    """A virtual environment with pip in `folder`, also where Debian has split `venv` off Python."""
    print(f"Making the Python environment {folder.relative_to(ROOT)} …", flush=True)
    if _succeeds(sys.executable, "-m", "venv", str(folder)):
        return
    remove(folder)
    without_pip = (sys.executable, "-m", "venv", "--without-pip", str(folder))
    by_other_pip = (sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet", "pip")
    if _succeeds(*without_pip) and _succeeds(*by_other_pip):
        return
    remove(folder)
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if install_debian_package(package) and _succeeds(sys.executable, "-m", "venv", str(folder)):
        return
    raise SetupError(f"{sys.executable} can't make virtual environments. Install its venv module (Debian: {package}).")


def pip_install(venv: Path, *arguments: str) -> None:
    """Run `pip install` in `venv`; raises SetupError when it fails."""
    options = ("--quiet", "--quiet", "--no-input", "--disable-pip-version-check")
    if not _succeeds(str(venv / "bin" / "python"), "-m", "pip", "install", *options, *arguments, quiet=False):
        raise SetupError("pip could not install the packages; its messages are above. Run the same command again.")


def install_debian_package(name: str) -> bool:
    """Install `name` by apt-get where this is Debian and we are root; False where it can't be done."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return False
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    print(f"Installing the Debian package {name} …", flush=True)
    subprocess.run(["apt-get", "update", "-qq"], env=environ, check=False)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", name]
    return subprocess.run(install, env=environ, stdout=subprocess.DEVNULL, check=False).returncode == 0


def _succeeds(*command: str, quiet: bool = True) -> bool:
    sink = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, stdout=sink, stderr=sink, check=False).returncode == 0
