"""`python -m tests.mutations [PART OF A NAME …]`: which mutations are caught; exit code 1 where one is not."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .catalogue import ROOT, Mutation, UnfitMutationError, mutant, mutations

_CAUGHT, _SURVIVED = 1, 0  # exit codes of pytest; any other means that the tests could not be run
_SHARED = (".venv", ".anaphora")
# The server serves no file that a link leads to.
_COPIED = ("interface/static/vendor", "interface/static/built")


def main(arguments: Sequence[str]) -> int:
    """Try the mutations whose names contain one of `arguments`, or all of them."""
    chosen = [one for one in mutations() if not arguments or any(part in one.name for part in arguments)]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = _copied_tree(Path(folder) / "tree")
        # Tests that fail without a mutation would count as having caught each.
        unchanged = _tested(sorted({test for one in chosen for test in one.tests}), tree)
        if unchanged.returncode:
            print(unchanged.stdout)
            print(f"without any mutation the tests end with {unchanged.returncode}: nothing is proved")
            return 1
        fates = {one.name: _fate(one, tree) for one in chosen}
    caught = sum(fate == "caught" for fate in fates.values())
    print(f"{caught} of {len(chosen)} mutations caught")
    return 0 if chosen and caught == len(chosen) else 1


def _copied_tree(tree: Path) -> Path:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().splitlines():
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    for name in _SHARED:
        if (ROOT / name).exists():
            (tree / name).symlink_to((ROOT / name).resolve(), target_is_directory=True)
    for name in _COPIED:
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, tree / name)
    return tree


def _fate(mutation: Mutation, tree: Path) -> str:
    try:
        changed = mutant(mutation, root=tree)
    except UnfitMutationError as error:
        fate = f"does not fit: {error}"
    else:
        path = tree / changed.path
        original = path.read_text(encoding="utf-8")
        path.write_text(changed.text, encoding="utf-8")
        fate = _told(_tested(mutation.tests, tree).returncode)
        path.write_text(original, encoding="utf-8")
    print(f"{fate:9} {mutation.name}", flush=True)
    return fate


def _tested(tests: Sequence[str], tree: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def _told(exit_code: int) -> str:
    return {_CAUGHT: "caught", _SURVIVED: "SURVIVED"}.get(exit_code, f"pytest ended with {exit_code}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
