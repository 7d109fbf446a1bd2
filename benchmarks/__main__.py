"""`python -m benchmarks [NAME …] [--quick]`: measure, print a table, write benchmarks/results.json.

First this machine is measured, then what was asked for; figures are corrected by the ratio to the reference machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from endpoints.serving.asgi_server import tune_interpreter
from tests.live_server import ROOT

from .figures import Figure, table
from .floors import FLOORS
from .machine import Machine, measure
from .measures import (
    activities,
    choice,
    crowd,
    engines,
    footprint,
    history,
    imports,
    knowledge,
    pages,
    scaled,
    search,
    stalls,
    turn_cpu,
    turns,
    vault,
    walk,
)
from .questions.measure import questions
from .questions.scale import meaning
from .seeded import FULL, QUICK, Bench

RESULTS = ROOT / "benchmarks" / "results.json"
BENCHMARKS: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "lists": history.lists,
    "references": history.references,
    "append": history.append,
    "backfill": history.backfill,
    "exports": history.exports,
    "imports": imports.imports,
    "imports_served": imports.imports_served,
    "activities": activities.activities,
    "search": search.search,
    "patterns": search.patterns,
    "vault": vault.vault,
    "documents_crowd": vault.among_many,
    "search_all_kinds": search.all_kinds,
    "questions": questions,
    "meaning": meaning,
    "knowledge": knowledge.knowledge,
    "knowledge_crowd": knowledge.among_many,
    "choice": choice.choice,
    "acceptance": turns.acceptance,
    "streams": turns.streams,
    "burst": turns.burst,
    "burst_of_two": scaled.burst,
    "stalls": stalls.stalls,
    "turn_cpu": turn_cpu.turn_cpu,
    "walk": walk.walk,
    "crowd": crowd.crowd,
    "to_model": engines.to_model,
    "transfer": engines.moves,
    "searches_on_both": scaled.searches,
    "start": footprint.start,
    "rest": footprint.rest,
    "install": footprint.install,
    "page": pages.page_weight,
    "sidebar": pages.sidebar,
}


def main(arguments: Sequence[str]) -> int:
    """Run what `arguments` name, or everything; the exit code says whether every budget holds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; all when left out")
    parser.add_argument("--quick", action="store_true", help="less data, fewer repetitions")
    parser.add_argument(
        "--beside",
        type=Path,
        metavar="FOLDER",
        help="another state of the code (acceptance, search_all_kinds, turn_cpu, walk)",
    )
    parser.add_argument(
        "--histories",
        type=Path,
        metavar="FILE",
        help="others' histories for questions (benchmarks/questions/histories.py)",
    )
    parser.add_argument(
        "--messages",
        type=int,
        metavar="COUNT",
        help="how many messages are imported (imports, imports_served) or moved (transfer)",
    )
    parser.add_argument("--characters", type=int, metavar="COUNT", help="of each message that is imported")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - BENCHMARKS.keys()
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    bench = Bench(
        QUICK if options.quick else FULL,
        beside=options.beside,
        histories=options.histories,
        messages=options.messages,
        characters=options.characters,
    )
    figures = list[Figure]()
    machines = list[Machine]()
    for name in options.names or BENCHMARKS:
        # Anew for each: the machine is another one an hour later.
        machines.append(measure())
        figures += _run(name, bench, machines[-1])
    told = ", ".join(f"{machine.factor:.2f}" for machine in machines)
    print(f"\nThis machine takes {told} times as long as the reference machine.\n\n{table(figures)}")
    if not options.names:
        _write(figures, bench, machines)
    return 1 if any(figure.within is False for figure in figures) else 0


def _run(name: str, bench: Bench, machine: Machine) -> Iterator[Figure]:
    print(f"{name} …", file=sys.stderr, flush=True)
    tune_interpreter()  # what is measured in this process runs as it does in a server
    # All of them first: a floor is measured on what the benchmark has let go of.
    for measured in list(BENCHMARKS[name](bench)):
        floor = FLOORS[measured.name](bench) if measured.name in FLOORS else measured.floor
        figure = replace(measured, factor=machine.factor, floor=floor)
        print(f"  {figure.name}: {figure.value:.4g} {figure.unit}", file=sys.stderr, flush=True)
        yield figure


def _write(figures: Sequence[Figure], bench: Bench, machines: Sequence[Machine]) -> None:
    result = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "conversations": bench.size.conversations,
        "messages": bench.size.messages,
        "claims": bench.size.claims,
        "machine": {"pieces": machines[0].pieces, "factors": [machine.factor for machine in machines]},
        "figures": [figure.as_dict() for figure in figures],
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
