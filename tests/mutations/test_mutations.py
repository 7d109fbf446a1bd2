"""The mutations fit the code as it stands; `python -m tests.mutations` proves that each is caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from .catalogue import ROOT, Mutation, UnfitMutationError, mutant, mutations

SUBJECTS = (
    "partition",
    "resolve",
    "re-injection",
    "ownership",
    "journal",
    "unpickler",
    "share snapshot",
    "visibility of memories",
    "retraction",
    "unique ids",
    "references",
    "soundness",
    "upkeep",
)


@pytest.mark.parametrize("mutation", mutations(), ids=lambda mutation: mutation.name)
def test_each_mutation_changes_one_function_and_names_tests_that_exist(mutation: Mutation) -> None:
    changed = mutant(mutation)
    assert changed.text != (ROOT / changed.path).read_text(encoding="utf-8")
    assert mutation.tests
    assert all((ROOT / name.partition("::")[0]).is_file() for name in mutation.tests)


def test_each_function_that_everything_rests_on_has_mutations_and_no_name_stands_twice() -> None:
    names = [mutation.name for mutation in mutations()]
    assert {name.partition(":")[0] for name in names} == set(SUBJECTS)
    assert len(set(names)) == len(names)


def test_a_mutation_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("def f():\n    return 1 + 1\n")
    for function, old in (("g", "1"), ("f", "1"), ("f", "2")):
        with pytest.raises(UnfitMutationError):
            mutant(Mutation(name="n", function=function, old=old, new="3", tests=("t",)), root=tmp_path)
    changed = mutant(Mutation(name="n", function="f", old="1 +", new="2 +", tests=("t",)), root=tmp_path)
    assert (str(changed.path), changed.text) == ("module.py", "def f():\n    return 2 + 1\n")
