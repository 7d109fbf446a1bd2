"""`python -m benchmarks [NAME …] [--quick]`: measure, print a table, write benchmarks/results.json."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from tests.live_server import ROOT

from . import answers, footprint, history, knowledge, pages, search, stalls
from .figures import Figure, table
from .seeded import FULL, QUICK, Bench

RESULTS = ROOT / "benchmarks" / "results.json"
BENCHMARKS: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "lists": history.lists,
    "references": history.references,
    "append": history.append,
    "backfill": history.backfill,
    "search": search.search,
    "knowledge": knowledge.knowledge,
    "acceptance": answers.acceptance,
    "streams": answers.streams,
    "burst": answers.burst,
    "stalls": stalls.stalls,
    "start": footprint.start,
    "install": footprint.install,
    "page": pages.page_weight,
    "sidebar": pages.sidebar,
}


def main(arguments: Sequence[str]) -> int:
    """Run what `arguments` name, or everything; the exit code says whether every budget holds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; all when left out")
    parser.add_argument("--quick", action="store_true", help="less data, fewer repetitions")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - BENCHMARKS.keys()
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    bench = Bench(QUICK if options.quick else FULL)
    figures = [figure for name in options.names or BENCHMARKS for figure in _run(name, bench)]
    print(f"\n{table(figures)}")
    if not options.names:
        _write(figures, bench)
    return 1 if any(figure.within is False for figure in figures) else 0


def _run(name: str, bench: Bench) -> Iterator[Figure]:
    print(f"{name} …", file=sys.stderr, flush=True)
    for figure in BENCHMARKS[name](bench):
        print(f"  {figure.name}: {figure.value:.4g} {figure.unit}", file=sys.stderr, flush=True)
        yield figure


def _write(figures: Sequence[Figure], bench: Bench) -> None:
    result = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "conversations": bench.size.conversations,
        "messages": bench.size.messages,
        "claims": bench.size.claims,
        "figures": [figure.as_dict() for figure in figures],
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
