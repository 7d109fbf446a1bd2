"""Whatever set-up installs, it installs in exactly one version."""

from __future__ import annotations

import re
import subprocess
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LISTS = (
    "requirements.txt",
    "requirements-scaled.txt",
    "requirements-anthropic.txt",
    "requirements-dev.txt",
    "constraints.txt",
)


def listed(name: str) -> list[Requirement]:
    """The requirements of one file, without its options and comments."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if re.match(r"\w", line)]


def pins() -> dict[str, str]:
    """Version by canonical name of what this Python and system need."""
    needed = [each for name in LISTS for each in listed(name) if each.marker is None or each.marker.evaluate()]
    return {canonicalize_name(each.name): str(each.specifier) for each in needed}


def test_no_package_lies_in_the_repository():
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listing.stdout.split("\0") if (ROOT / name).exists()]
    assert "requirements.txt" in names
    assert [name for name in names if name.endswith((".whl", ".so", ".exe", ".tgz", ".tar.gz"))] == []


@pytest.mark.parametrize("name", LISTS)
def test_every_requirement_is_pinned_exactly(name):
    assert [str(each) for each in listed(name) if not re.fullmatch(r"==[\w.]+", str(each.specifier))] == []


def test_what_packages_need_in_turn_is_pinned_too():
    wanted = [each.name for name in LISTS[:-1] for each in listed(name)]
    seen: set[str] = set()
    while wanted:
        name = canonicalize_name(wanted.pop())
        if name not in seen:
            seen.add(name)
            needed = map(Requirement, distribution(name).requires or [])
            wanted += [each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    assert sorted(seen - set(pins())) == []


def test_the_installed_versions_are_the_pinned_ones():
    assert {name: f"=={distribution(name).version}" for name in pins()} == pins()


def test_the_lock_file_of_the_front_end_names_no_host():
    text = (ROOT / "interface" / "package-lock.json").read_text(encoding="utf-8")
    assert '"integrity"' in text
    assert '"resolved"' not in text
