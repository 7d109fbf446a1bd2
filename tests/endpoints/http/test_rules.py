"""Routes are compiled late where Werkzeug lets them be, and as Werkzeug does it where that has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.routing import Rule

from endpoints.app import Application, _Rule, rule_class


def test_addresses_are_built_by_code_that_is_compiled_late() -> None:
    assert rule_class() is Application.url_rule_class is _Rule


def with_another_argument(_rule: Rule, _append_unknown: bool, _more: str) -> Callable[..., tuple[str, str]]:
    raise AssertionError("it is called with too few arguments")


def of_another_kind(_rule: Rule, _append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
    return lambda **_values: ("", "/elsewhere")


@pytest.mark.parametrize("changed", [None, with_another_argument, of_another_kind])
def test_a_werkzeug_that_builds_addresses_in_another_way_is_left_to_itself(
    changed: Callable[..., Any] | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if changed is None:
        monkeypatch.delattr(Rule, "_compile_builder")
    else:
        monkeypatch.setattr(Rule, "_compile_builder", changed)
    assert rule_class() is Rule
    assert "starting takes longer" in caplog.text
