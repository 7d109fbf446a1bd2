"""Figures are compared with budgets as the reference machine would have measured them."""

from __future__ import annotations

import pytest

from benchmarks.figures import Figure, table
from benchmarks.machine import Machine, measure, reference


def test_a_machine_is_as_much_slower_as_all_its_pieces_together() -> None:
    machine = Machine(pieces={"python": 8.0, "json": 2.0}, reference={"python": 2.0, "json": 2.0})
    assert machine.factor == pytest.approx(2.0)


def test_a_budget_counts_as_missed_where_the_corrected_figure_misses_it() -> None:
    assert Figure(name="a list", value=6.0, budget=4.0, factor=2.0).within is True
    assert Figure(name="a list", value=6.0, budget=4.0, factor=1.0).within is False
    assert Figure(name="a list", value=1.0, p95=30.0, budget_p95=10.0, factor=2.0).within is False
    assert Figure(name="a list", value=1.0).within is None


def test_what_is_no_time_is_the_same_on_every_machine() -> None:
    assert Figure(name="first load", value=240.0, unit="KB", budget=250.0, factor=0.5).corrected == 240.0


def test_the_table_says_how_many_times_the_floor_a_figure_is() -> None:
    rows = table([Figure(name="a page", value=3.0, budget=4.0, factor=2.0, floor=0.5)]).splitlines()
    assert [cell.strip() for cell in rows[-1].strip("|").split("|")] == [
        "a page",
        "3.00 ms",
        "",
        "1.50 ms",
        "",
        "4.00",
        "38%",
        "6.0",
        "",
    ]


def test_this_machine_does_every_piece_of_the_reference() -> None:
    machine = measure(rounds=2)
    assert set(machine.pieces) == set(reference())
    assert all(milliseconds > 0 for milliseconds in machine.pieces.values())
