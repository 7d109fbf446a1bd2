"""`python -m benchmarks.answers`: ask what was not answered yet, then print the table.

Every answer is stored at once, so a run may be killed and started again. `--table` asks nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tests.live_server import ROOT

from .arms import ARMS, Arm
from .generator import CHOSEN, AskedQuestion, answer_histories, questions_in_order
from .product import Product, running_product
from .records import Record, Records
from .report import figures, listed, table

RECORDS = ROOT / "benchmarks" / "data" / "answers" / "answers.jsonl"
RESULTS = Path(__file__).with_name("results.json")
Run = Callable[[str], AbstractContextManager[Product]]


def main(arguments: Sequence[str], *, run: Run = running_product) -> int:
    """Run what is missing of the study that `arguments` describe; 0."""
    options = _options(arguments)
    questions = questions_in_order()[: options.questions]
    records = Records(options.records)
    if not options.table:
        missing = [
            (arm, question)
            for arm, question in in_order(questions, options.arms)
            if not records.has((options.model, arm.name, question.question_id))
        ]
        run_at = run if options.reading is None else partial(running_product, reading=options.reading)
        _answer(missing, records, model=options.model, seconds=60 * options.minutes, run=run_at)
    answered = [record for record in records.all() if record.model == options.model]
    study = figures(answered, questions)
    if options.show:
        print("\n".join(listed(answered, questions)), end="\n\n")
    print(table(study))
    if options.results is not None:
        _write(study, options.results, model=options.model)
    return 0


def in_order(questions: Sequence[AskedQuestion], arms: Sequence[Arm]) -> Iterator[tuple[Arm, AskedQuestion]]:
    """The chosen questions in each arm, then the others in each arm."""
    for block in (questions[:CHOSEN], questions[CHOSEN:]):
        for arm in arms:
            yield from ((arm, question) for question in block)


def _answer(
    missing: Sequence[tuple[Arm, AskedQuestion]], records: Records, *, model: str, seconds: float, run: Run
) -> None:
    if not missing:
        return
    commit, until = _commit(), time.monotonic() + seconds
    with run(model) as product:
        for number, (arm, question) in enumerate(missing, 1):
            if time.monotonic() >= until:
                print(f"The time is over; {len(missing) - number + 1} answers are missing.", file=sys.stderr)
                return
            answered = product.ask(question, answer_histories()[question.history], arm)
            record = Record(
                question_id=question.question_id,
                arm=arm.name,
                model=model,
                commit=commit,
                answered_at=datetime.now(UTC).isoformat(timespec="seconds"),
                answered=answered,
            )
            records.add(record)
            said = " ".join(answered.text.split())[:100]
            told = f"{number}/{len(missing)} {arm.name} {question.question_id}: {said}"
            print(told, f"({answered.figures['wall_seconds']:.0f} s)", file=sys.stderr, flush=True)


def _write(study: dict[str, object], file: Path, *, model: str) -> None:
    """Put the figures of this model beside those of others."""
    results = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    results[model] = {"written_at": datetime.now(UTC).isoformat(timespec="seconds"), **study}
    file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=__doc__)
    parser.add_argument("--model", default="embedded:small", help="as in ANAPHORA_MAIN_MODEL (default: %(default)s)")
    parser.add_argument(
        "--questions", type=int, default=60, metavar="N", help=f"the first N; {CHOSEN} are chosen to be asked first"
    )
    parser.add_argument(
        "--arms", type=_arms, default=list(ARMS.values()), metavar="NAME,…", help=f"of {', '.join(ARMS)}; all"
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no answer after so many")
    parser.add_argument(
        "--reading",
        type=float,
        metavar="TOKENS",
        help="the model's reading speed a second when the machine does nothing else, where it does now",
    )
    parser.add_argument("--records", type=Path, default=RECORDS, metavar="FILE", help="every answer (%(default)s)")
    parser.add_argument(
        "--results", type=Path, const=RESULTS, nargs="?", metavar="FILE", help="write the figures (to %(const)s)"
    )
    parser.add_argument("--table", action="store_true", help="ask nothing, print the table of the records")
    parser.add_argument("--show", action="store_true", help="print every answer with its grade above the table")
    return parser.parse_args(arguments)


def _arms(text: str) -> list[Arm]:
    try:
        return [ARMS[name] for name in text.split(",")]
    except KeyError as error:
        raise argparse.ArgumentTypeError(f"no such arm: {error}") from None


def _commit() -> str:
    """The commit whose code answers."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
