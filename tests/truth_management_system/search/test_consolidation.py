"""Finding what was remembered twice."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations, permutations
from random import Random
from typing import Any

import numpy as np
import pytest

from truth_management_system.search import consolidation
from truth_management_system.search.consolidation import (
    cluster_entity_variants,
    cluster_near_duplicate_claims,
    entity_name_similarity,
)


@dataclass
class Named:
    entity_id: str
    name: str


def test_claims_that_point_the_same_way_are_one_group():
    pairs = [("a", [1.0, 0.0]), ("b", [0.0, 3.0]), ("c", [2.0, 0.05]), ("d", [-1.0, 0.0])]
    (group,) = cluster_near_duplicate_claims(pairs, threshold=0.9)
    assert group["claim_ids"] == ["a", "c"]
    assert group["max_similarity"] == pytest.approx(0.9997, abs=1e-4)


def test_what_hangs_together_over_a_third_is_one_group():
    turned = [("a", [1.0, 0.0]), ("b", [0.95, 0.31]), ("c", [0.81, 0.59])]
    (group,) = cluster_near_duplicate_claims(turned, threshold=0.94)
    assert group["claim_ids"] == ["a", "b", "c"]


def test_the_most_alike_group_comes_first():
    pairs = [("a", [1.0, 0.0, 0.0]), ("b", [0.9, 0.4, 0.0]), ("c", [0.0, 0.0, 1.0]), ("d", [0.0, 0.0, 1.0])]
    groups = cluster_near_duplicate_claims(pairs, threshold=0.9)
    assert [group["claim_ids"] for group in groups] == [["c", "d"], ["a", "b"]]


def test_nothing_and_vectors_of_nothing_are_no_group():
    assert cluster_near_duplicate_claims([]) == []
    assert cluster_near_duplicate_claims([("a", [0.0, 0.0]), ("b", [0.0, 0.0])]) == []


def test_groups_are_found_across_many_claims():
    vectors = np.eye(1_300, dtype=np.float32)
    vectors[1_299] = vectors[3]
    (group,) = cluster_near_duplicate_claims([(str(number), vector) for number, vector in enumerate(vectors)])
    assert group["claim_ids"] == ["3", "1299"]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("john", "John Smith"),
        ("John Smith", "JOHN  SMITH"),
        ("Smith, John", "John Smith"),
        ("José García", "Jose Garcia"),
        ("Microsoft", "Microsoft Corporation"),
        ("Jonathan Smith", "Johnathan Smith"),
    ],
)
def test_names_that_may_mean_one(a: str, b: str):
    assert entity_name_similarity(a, b, 0.85) >= 0.85
    assert entity_name_similarity(b, a, 0.85) == entity_name_similarity(a, b, 0.85)


@pytest.mark.parametrize(
    ("a", "b"),
    [("Google", "Microsoft"), ("Ann", "Anton Müller"), ("John Smith", "John Miller"), ("", "John"), ("?", "!")],
)
def test_names_that_mean_two(a: str, b: str):
    assert entity_name_similarity(a, b, 0.85) < 0.85


def test_a_part_of_a_name_reaches_a_high_threshold_too():
    assert entity_name_similarity("john", "John Smith", 0.95) >= 0.95


def test_variants_of_a_name_are_one_group_and_the_longest_is_kept():
    entities = [Named("1", "Google"), Named("2", "john"), Named("3", "John Smith"), Named("4", "Microsoft")]
    (group,) = cluster_entity_variants(entities, threshold=0.85)
    assert group["entity_ids"] == ["2", "3"]
    assert group["suggested_keep_id"] == "3"
    assert 0.85 <= group["max_similarity"] <= 1.0


def test_names_that_are_the_same_are_wholly_alike():
    (group,) = cluster_entity_variants([Named("1", "Zoë"), Named("2", "zoe")], threshold=0.85)
    assert group == {"entity_ids": ["1", "2"], "suggested_keep_id": "1", "max_similarity": 1.0}


def test_few_and_different_names_are_no_group():
    assert cluster_entity_variants([], threshold=0.85) == []
    assert cluster_entity_variants([Named("1", "Google"), Named("2", "Microsoft")], threshold=0.85) == []


def test_of_many_names_only_those_are_compared_that_may_mean_one(monkeypatch: pytest.MonkeyPatch):
    compared = 0

    class Counted(SequenceMatcher):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            nonlocal compared
            compared += 1
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(consolidation, "SequenceMatcher", Counted)
    letters, drawn = "abcdefghijklmnopqrstuvwxyz", Random(1)
    names = ["".join(drawn.choices(letters, k=12)) for _ in range(400)]
    names += [f"{name[:6]}x{name[6:]}" for name in names[:3]] + ["Ann", "Smith, Ann"]
    groups = cluster_entity_variants([Named(str(number), name) for number, name in enumerate(names)])
    assert {tuple(group["entity_ids"]) for group in groups} == {
        ("0", "400"),
        ("1", "401"),
        ("2", "402"),
        ("403", "404"),
    }
    assert compared < len(names)


def test_names_are_grouped_as_if_each_was_compared_with_each():
    drawn = Random(2)
    names = [" ".join(drawn.choices(["ann", "anne", "smith", "smyth", "é", "日本", "li"], k=2)) for _ in range(60)]
    found = cluster_entity_variants([Named(str(number), name) for number, name in enumerate(names)], 0.9)
    together = {
        (first, second)
        for group in found
        for first in map(int, group["entity_ids"])
        for second in map(int, group["entity_ids"])
    }
    alike = [
        (first, second)
        for first, second in combinations(range(len(names)), 2)
        if entity_name_similarity(names[first], names[second], 0.9) >= 0.9
    ]
    assert set(alike) <= together
    # What hangs together over others, and nothing else.
    roots = list(range(len(names)))
    for first, second in alike:
        roots = [roots[first] if root == roots[second] else root for root in roots]
    assert {pair for pair in together if pair[0] != pair[1]} == {
        pair for pair in permutations(range(len(names)), 2) if roots[pair[0]] == roots[pair[1]]
    }
