"""`make proofs`: parts run alone, what passed at a commit isn't repeated, and a record says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS
from benchmarks.proofs import PARTS, Part, main, read_record
from tests.live_server import ROOT

BEGINNING = "-- the next ones --"
COLLECTING = f"""
import json, sys
import pytest
for command in json.loads(sys.argv[1]):
    print({BEGINNING!r}, flush=True)
    pytest.main([*command, "--collect-only", "-p", "no:cacheprovider"])
"""


def named_by_options() -> dict[tuple[str, ...], list[str]]:
    """Which files and folders of tests the parts name, by what else stands on their command lines."""
    found: dict[tuple[str, ...], list[str]] = {}
    for part in PARTS.values():
        named = [each for each in part.command if each.startswith("tests/")]
        found.setdefault(tuple(each for each in part.command if each not in named), []).extend(named)
    return {options: named for options, named in found.items() if named}


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A record of its own, at a commit that stays the same."""
    monkeypatch.setattr("benchmarks.proofs._commit", lambda: "abc")
    return tmp_path / "proofs.json"


def counting(folder: Path, *, fails: bool = False) -> Part:
    """A part that leaves one file in `folder` for each run."""
    count = f"import pathlib, uuid; (pathlib.Path({str(folder)!r}) / uuid.uuid4().hex).touch()"
    return Part("counts", ("-c", f"{count}; print('all well'); raise SystemExit({int(fails)})"))


def runs(folder: Path) -> int:
    return len(list(folder.iterdir()))


def test_what_passed_at_this_commit_runs_again_only_when_it_is_named(tmp_path: Path, record: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    parts = {"one": counting(folder)}
    assert main([], parts=parts, record=record) == 0
    assert main([], parts=parts, record=record) == 0
    assert runs(folder) == 1
    assert main(["one"], parts=parts, record=record) == 0
    assert runs(folder) == 2
    assert read_record(record)["one"]["figures"] == {"output": "all well"}


def test_each_run_of_a_part_keeps_its_pictures_in_a_folder_of_its_own(tmp_path: Path, record: Path) -> None:
    keep = "import os, pathlib; pathlib.Path(os.environ['PICTURES_FOLDER'], os.environ['PICTURES']).mkdir(parents=True)"
    part = Part("is looked at", ("-c", keep), times=2, has_pictures=True)
    assert main([], parts={"seen": part}, record=record, pictures=tmp_path / "pictures") == 0
    assert {str(each.relative_to(tmp_path)) for each in tmp_path.glob("pictures/*/*/*")} == {
        "pictures/seen/1/1",
        "pictures/seen/2/1",
    }


def test_what_failed_is_recorded_as_such_stops_no_other_part_and_is_tried_again(tmp_path: Path, record: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    parts = {"broken": counting(folder, fails=True), "whole": Part("passes", ("-c", ""))}
    assert main([], parts=parts, record=record) == 1
    assert {name: run["outcome"] for name, run in read_record(record).items()} == {
        "broken": "failed",
        "whole": "passed",
    }
    assert main([], parts=parts, record=record) == 1
    assert runs(folder) == 2


def test_what_was_not_run_is_recorded_as_not_run(record: Path) -> None:
    parts = {"one": Part("passes", ("-c", "")), "other": Part("passes", ("-c", ""))}
    assert main(["one"], parts=parts, record=record) == 0
    recorded = json.loads(record.read_text(encoding="utf-8"))
    assert {name: run["outcome"] for name, run in recorded.items()} == {"one": "passed", "other": "not run"}
    assert main([], parts=parts, record=record) == 0
    assert read_record(record)["other"]["outcome"] == "passed"


def test_figures_that_a_part_writes_are_recorded(record: Path) -> None:
    program = "import os, pathlib; pathlib.Path(os.environ['PROOF_FIGURES']).write_text('{\"kills\": 3}')"
    main([], parts={"one": Part("writes", ("-c", program))}, record=record)
    assert read_record(record)["one"]["figures"]["kills"] == 3


def test_a_part_nobody_knows_is_refused(record: Path) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"], parts={}, record=record)
    assert not record.exists()


@pytest.fixture(scope="module")
def selected() -> list[list[str]]:
    """For each line of options that parts have, the tests that these select; one process imports the modules once."""
    commands = [[*options[2:], *named] for options, named in named_by_options().items()]
    ran = subprocess.run(
        [sys.executable, "-c", COLLECTING, json.dumps(commands)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    _, *found = ran.stdout.split(BEGINNING)
    return [[line for line in each.splitlines() if "::" in line] for each in found]


@pytest.mark.parametrize("number", range(len(named_by_options())), ids=[n[0] for n in named_by_options().values()])
def test_parts_select_tests_of_every_file_and_folder_that_they_name(number: int, selected: list[list[str]]) -> None:
    options, named = list(named_by_options().items())[number]
    assert options[:2] == ("-m", "pytest")
    assert [name for name in named if not any(each.startswith(name) for each in selected[number])] == []


def test_the_budgets_of_several_processes_are_measured_by_a_part() -> None:
    measured = {
        name for part in PARTS.values() if part.command[:2] == ("-m", "benchmarks") for name in part.command[2:]
    }
    assert measured <= BENCHMARKS.keys()
    assert {"to_model", "burst_of_two", "searches_on_both", "crowd", "transfer"} <= measured
