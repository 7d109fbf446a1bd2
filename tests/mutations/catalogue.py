"""Finds the function that a mutation names, and changes it."""

from __future__ import annotations

import ast
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NOT_PRODUCT = {"tests", "benchmarks", "documentation", "setup", "interface"}


class UnfitMutationError(Exception):
    """A mutation that doesn't fit the code: the function or the text is missing, or there are several."""


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One change of a function's text, and the test files that must notice it."""

    name: str
    function: str
    old: str
    new: str
    tests: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A source file with the mutation in it. path: relative to the tree."""

    path: Path
    text: str


def mutations() -> list[Mutation]:
    """All of them, in the order of the file."""
    listed = tomllib.loads((Path(__file__).parent / "mutations.toml").read_text(encoding="utf-8"))
    return [Mutation(**{**one, "tests": tuple(one["tests"])}) for one in listed["mutation"]]


def mutant(mutation: Mutation, *, root: Path = ROOT) -> Mutant:
    """The file of `root` that the mutation changes, changed.

    Where several modules define the function, the one with the text is meant. Raises UnfitMutationError.
    """
    defined = _definitions(root).get(mutation.function, [])
    fitting = [(path, place) for path, place in defined if _body(path, place).count(mutation.old) == 1]
    if len(fitting) != 1:
        raise UnfitMutationError(
            f"{mutation.function} is defined {len(defined)} times, {len(fitting)} times with one {mutation.old!r}"
        )
    path, (first, last) = fitting[0]
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    changed = _body(path, (first, last)).replace(mutation.old, mutation.new)
    text = "".join([*lines[: first - 1], changed, *lines[last:]])
    ast.parse(text)
    return Mutant(path=path.relative_to(root), text=text)


def _body(path: Path, place: tuple[int, int]) -> str:
    first, last = place
    return "".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[first - 1 : last])


@cache
def _definitions(root: Path) -> dict[str, list[tuple[Path, tuple[int, int]]]]:
    """Where each function and constant of the product's code is defined: file, first and last line."""
    found: dict[str, list[tuple[Path, tuple[int, int]]]] = {}
    for path in _sources(root):
        for name, lines in _named(ast.parse(path.read_text(encoding="utf-8")).body, ""):
            found.setdefault(name, []).append((path, lines))
    return found


def _sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        skipped = _NOT_PRODUCT if Path(folder) == root else set()
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in skipped)
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(".py"))


def _named(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, tuple[int, int]]]:
    for node in body:
        end = node.end_lineno or node.lineno
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, (node.lineno, end)
        elif isinstance(node, ast.ClassDef):
            yield from _named(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield prefix + target.id, (node.lineno, end)
