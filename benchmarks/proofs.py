"""`python -m benchmarks.proofs [PART …]`: what takes too long for `make test`, each part a command that runs alone.

What passed at the present commit is not run again unless it is named; an interrupted run goes on with what is missing.
`benchmarks/proofs.json` records every part: whether it passed, failed or was not run, and of its last run the commit,
the time, the seconds and the figures: the last line of its output, and whatever it wrote as a JSON object to the file
that PROOF_FIGURES names.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.live_server import ROOT

RECORD = ROOT / "benchmarks" / "proofs.json"
PICTURES = ROOT / "benchmarks" / "data" / "proofs"
PASSED, FAILED = "passed", "failed"
NEVER = {"outcome": "not run"}


@dataclass(frozen=True, slots=True)
class Part:
    """One proof: a Python command line without the interpreter, run `times` times in a row.

    has_pictures: its tests keep pictures of the page, in a folder for each run.
    """

    meaning: str
    command: tuple[str, ...]
    times: int = 1
    has_pictures: bool = False


def _pytest(*arguments: str) -> tuple[str, ...]:
    return ("-m", "pytest", "-q", *arguments)


PARTS: dict[str, Part] = {
    "kills": Part("200 kills lose nothing and double nothing", _pytest("tests/load/test_crash.py")),
    "two-processes": Part(
        "Of two processes that write into one store, either may be killed: nothing is lost or doubled",
        _pytest("tests/load/test_two_processes.py", "tests/load/test_two_processes_under_fault.py"),
    ),
    "two-servers": Part(
        "60 kills of one of two servers under 100 running turns, half of them with Valkey, lose and double nothing, "
        "and their watchers go on; a kill of serve-scaled stops no later start; PostgreSQL and Valkey are killed and "
        "cut off, by a relay and by a network that drops all packets; duties pass on",
        _pytest(
            "tests/load/test_one_of_two_servers_killed.py",
            "tests/load/test_serve_scaled.py",
            "tests/load/test_faults.py",
            "tests/load/test_standing_still.py",
            "tests/load/test_pulled_wires.py",
            "tests/load/test_two_servers.py",
        ),
    ),
    "two-processes-one-port": Part(
        "Contract, journey and crash tests pass on PostgreSQL with two processes behind one port, whose rolling "
        "restarts under load fail no request",
        _pytest(
            "--store=scaled",
            "-m",
            "(contract or live) and not hypothesis and not embedded",
            "tests/browser/test_journey.py",
            "tests/database",
            "tests/endpoints/events",
            "tests/endpoints/turns",
            "tests/load/test_clock_off.py",
            "tests/load/test_crash.py",
            "tests/load/test_killed_jobs.py",
            "tests/load/test_processes_on_one_port.py",
            "tests/load/test_running_turns.py",
            "tests/load/test_turns_at_the_other_server.py",
            "tests/test_one_turn_with_everything.py",
            "tests/test_word_for_word.py",
            "tests/truth_management_system",
            "tests/vault",
        ),
    ),
    "attacks": Part(
        "Every attack fails on PostgreSQL at two processes behind one port, which answer in turn; those that look into "
        "a process, at one",
        _pytest("-n", "2", "--dist", "loadfile", "--store=scaled", "tests/attack"),
    ),
    "postgresql": Part(
        "Whatever is marked as a contract holds on PostgreSQL, also where `make test` runs it on SQLite alone",
        _pytest(
            "-n", "2", "--dist", "loadfile", "--store=postgresql", "-m", "contract and not live and not hypothesis"
        ),
    ),
    "examples": Part(
        "Properties and state machines hold for twenty times as many examples",
        _pytest("-n", "2", "--dist", "loadfile", "-m", "hypothesis"),
    ),
    "mutations": Part("Each written-down mutation is caught", ("-m", "tests.mutations")),
    "embedded": Part(
        "Everything that asks the real small model, three times",
        _pytest("-m", "embedded and not browser"),
        times=3,
    ),
    "embedded-in-the-page": Part(
        "A newcomer's first answer from the real model in the browser, three times",
        _pytest("-m", "embedded and browser"),
        times=3,
        has_pictures=True,
    ),
    "screens": Part(
        "Every screen keeps nobody out, narrow and wide, each in the light and in the dark theme",
        _pytest("--naming", "browser", "-m", "shows and not embedded"),
        has_pictures=True,
    ),
    "fuzzer-memories": Part(
        "Whatever the API's description allows of memories gets an answer that it describes",
        ("-m", "tests.attack.fuzz", "--examples", "100", "--only", "^/pkb/"),
    ),
    "fuzzer-all-else": Part(
        "The same for all other routes",
        ("-m", "tests.attack.fuzz", "--examples", "100", "--only", "^/(?!pkb/)"),
    ),
    "other-browsers": Part("One journey in Debian's Firefox and in WebKit", ("-m", "tests.other_browsers")),
    "million": Part(
        "Lists, references, appending, search and activities within their budgets at a million",
        ("-m", "benchmarks", "lists", "references", "append", "backfill", "search", "activities"),
    ),
    "there-and-back": Part(
        "A million messages move to PostgreSQL and back, every row equal",
        ("-m", "benchmarks", "transfer"),
    ),
    "crowd": Part(
        "Whatever has a budget costs one of 1,000 people with 1,000 conversations each at most 1.5 times as much as "
        "somebody alone, on both engines",
        ("-m", "benchmarks", "crowd"),
    ),
    "crowd-of-memories": Part(
        "So does what concerns memories, among 109,500 of 200 people",
        ("-m", "benchmarks", "knowledge_crowd"),
    ),
    "crowd-of-documents": Part(
        "So does what a turn asks of documents, among 20,000 of 100 people",
        ("-m", "benchmarks", "documents_crowd"),
    ),
    "two-beside-one": Part(
        "500 turns at once begin as early at two processes on PostgreSQL and Valkey as at one on SQLite; a million "
        "messages are searched within the budgets on both engines; a message is at the model within 1.5 times as long",
        ("-m", "benchmarks", "burst_of_two", "searches_on_both", "to_model"),
    ),
}


def main(
    arguments: Sequence[str],
    *,
    parts: Mapping[str, Part] = PARTS,
    record: Path = RECORD,
    pictures: Path = PICTURES,
) -> int:
    """Run the parts that `arguments` name, or all that did not pass at this commit; 0 when each of those passes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proofs", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(parts)}")
    named = parser.parse_args(arguments).parts
    if unknown := set(named) - parts.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    commit, runs = _commit(), read_record(record)
    done = {name for name, run in runs.items() if run["outcome"] == PASSED and run["commit"] == commit}
    failed = []
    for name in named or [name for name in parts if name not in done]:
        print(f"\n== {name}: {parts[name].meaning}", flush=True)
        outcome = {"commit": commit, **_prove(parts[name], pictures=pictures / name)}
        runs = read_record(record) | {name: outcome}  # another part may have ended meanwhile
        _write_record(record, {part: runs.get(part, NEVER) for part in parts})
        if runs[name]["outcome"] == FAILED:
            failed.append(name)
    print(_table(parts, runs))
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def _commit() -> str:
    """The commit of the working tree, `-dirty` at its end where files differ from it; the record itself apart."""
    described = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", f":!{RECORD.relative_to(ROOT)}")
    return f"{described}-dirty" if changed else described


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _prove(part: Part, *, pictures: Path) -> dict[str, Any]:
    """Whether `part` passed, when, in how many seconds and with which figures."""
    begun = time.monotonic()
    figures: dict[str, Any] = {}
    outcome = PASSED
    for number in range(1, part.times + 1):
        kept_in = {"PICTURES": "1", "PICTURES_FOLDER": str(pictures / str(number))} if part.has_pictures else {}
        status, last_line, written = _run(part.command, environ=kept_in)
        figures |= written | {"output" if part.times == 1 else f"output {number}": last_line}
        if status:
            print(f"failed with status {status}", flush=True)
            outcome = FAILED
            break
    ended_at = datetime.now(UTC).isoformat(timespec="seconds")
    return {"outcome": outcome, "at": ended_at, "seconds": round(time.monotonic() - begun), "figures": figures}


def _run(command: Sequence[str], *, environ: Mapping[str, str]) -> tuple[int, str, dict[str, Any]]:
    """Exit status, last line of output, figures. The output is shown as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        own = {"TEST_TIER": "proofs", "PROOF_FIGURES": str(figures)}
        last_line = ""
        with subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env={**os.environ, **environ, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                last_line = line.strip() or last_line
        written = json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {}
        return process.returncode, last_line, written


def read_record(record: Path) -> dict[str, dict[str, Any]]:
    """The last run of each part that was run."""
    recorded: dict[str, dict[str, Any]] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    return {name: run for name, run in recorded.items() if run != NEVER}


def _write_record(record: Path, runs: Mapping[str, Mapping[str, Any]]) -> None:
    draft = record.with_suffix(".draft")
    draft.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(record)


def _table(parts: Mapping[str, Part], runs: Mapping[str, Mapping[str, Any]]) -> str:
    rows = ["", "| Part | Outcome | Commit | Seconds | What it proves |", "| --- | --- | --- | ---: | --- |"]
    for name, part in parts.items():
        run = runs.get(name, NEVER)
        rows.append(
            f"| {name} | {run['outcome']} | {run.get('commit', '')} | {run.get('seconds', '')} | {part.meaning} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
