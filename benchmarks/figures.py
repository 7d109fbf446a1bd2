"""Figures: what was measured, how often, and the budget beside it."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

_TIMES = ("ms", "s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured thing.

    value: the median of `samples` measurements, or the one there is. p95: their 95th percentile, where there are many.
    budget bounds the value, budget_p95 the percentile; None where nobody set one. factor: how much slower than the
    reference machine this one was; budgets hold for the corrected figures. floor: what the same job takes without the
    product around it, measured on the same machine.
    """

    name: str
    value: float
    unit: str = "ms"
    budget: float | None = None
    p95: float | None = None
    budget_p95: float | None = None
    samples: int = 1
    factor: float = 1.0
    floor: float | None = None

    @property
    def corrected(self) -> float:
        """The value as the reference machine would have it; what is no time is the same everywhere."""
        return self._corrected(self.value)

    @property
    def corrected_p95(self) -> float | None:
        """The percentile as the reference machine would have it."""
        return None if self.p95 is None else self._corrected(self.p95)

    @property
    def within(self) -> bool | None:
        """Whether every budget holds for the corrected figures; None where there is none."""
        return None if self.ratio is None else self.ratio <= 1

    @property
    def ratio(self) -> float | None:
        """The larger share of a budget that was used; 1.0 is all of it."""
        shares = [
            measured / budget
            for measured, budget in ((self.corrected, self.budget), (self.corrected_p95, self.budget_p95))
            if measured is not None and budget
        ]
        return max(shares, default=None)

    @property
    def times_floor(self) -> float | None:
        """How many times the floor this is."""
        return self.value / self.floor if self.floor else None

    def as_dict(self) -> dict[str, Any]:
        """For results.json."""
        derived = {"corrected": self.corrected, "corrected_p95": self.corrected_p95, "times_floor": self.times_floor}
        return {**asdict(self), **derived, "within": self.within}

    def _corrected(self, measured: float) -> float:
        return measured / self.factor if self.unit in _TIMES else measured


def of_samples(
    name: str,
    samples: Sequence[float],
    *,
    unit: str = "ms",
    budget: float | None = None,
    budget_p95: float | None = None,
) -> Figure:
    """The figure of many measurements of one thing."""
    return Figure(
        name=name,
        value=statistics.median(samples),
        unit=unit,
        budget=budget,
        p95=percentile(samples, 95),
        budget_p95=budget_p95,
        samples=len(samples),
    )


def ratio(name: str, some: Sequence[float], others: Sequence[float], *, budget: float | None) -> Figure:
    """How many times as long (or as much) `some` are as `others`: the medians, and the 95th percentiles."""
    value = statistics.median(some) / statistics.median(others)
    p95 = percentile(some, 95) / percentile(others, 95)
    return Figure(name=name, value=value, unit="×", p95=p95, budget=budget, samples=len(some))


def percentile(samples: Iterable[float], share: float) -> float:
    """The smallest sample that at least `share` percent of them do not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * share / 100) - 1)]


def timed(work: Callable[[], object], *, times: int, warm: int = 3) -> list[float]:
    """Milliseconds of each of `times` calls, after `warm` calls that nobody counts."""
    for _ in range(warm):
        work()
    samples = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        samples.append((time.perf_counter() - begun) * 1_000)
    return samples


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table."""
    head = ("What", "Measured", "p95", "Corrected", "p95", "Budget", "Used", "× floor", "")
    rows = [head, ("---", *("---:" for _ in head[2:]), "---"), *(_row(figure) for figure in figures)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(figure: Figure) -> tuple[str, ...]:
    budgets = [_number(figure.budget)] if figure.budget is not None else []
    budgets += [f"p95 {_number(figure.budget_p95)}"] if figure.budget_p95 is not None else []
    return (
        figure.name,
        f"{_number(figure.value)} {figure.unit}",
        _number(figure.p95),
        f"{_number(figure.corrected)} {figure.unit}",
        _number(figure.corrected_p95),
        ", ".join(budgets),
        f"{figure.ratio:.0%}" if figure.ratio is not None else "",
        f"{figure.times_floor:.1f}" if figure.times_floor is not None else "",
        "over" if figure.within is False else "",
    )


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.{3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0}f}"
