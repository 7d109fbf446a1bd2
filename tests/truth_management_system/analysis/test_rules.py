"""What words alone say of a statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truth_management_system.analysis.rules import (
    grounded_entities,
    rule_domain,
    rule_entities,
    rule_questions,
    rule_tags,
    rule_type,
)
from truth_management_system.constants import ClaimType, ContextDomain, EntityRole, EntityType


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("I prefer morning workouts", "preference"),
        ("I don't like cilantro", "preference"),
        ("My favourite colour is blue", "preference"),
        ("Ich mag Kaffee", "preference"),
        ("We decided to use PostgreSQL", "decision"),
        ("Wir haben beschlossen umzuziehen", "decision"),
        ("I need to buy milk", "task"),
        ("Remind me to call Anna", "reminder"),
        ("Don't forget the keys", "reminder"),
        ("I run every Monday", "habit"),
        ("I meditate twice a day", "habit"),
        ("I noticed that coffee keeps me awake", "observation"),
        ("Last summer we went to Lisbon", "memory"),
        ("I moved in 2019", "memory"),
        ("I have lived here since 2019", "fact"),
        ("My blood type is 0", "fact"),
        ("It is like that", "fact"),
        ("我住在北京", "fact"),
    ],
)
def test_the_type_of_a_statement(statement: str, kind: str) -> None:
    assert rule_type(statement) == kind


@pytest.mark.parametrize(
    ("statement", "domain"),
    [
        ("I am allergic to peanuts", "health"),
        ("My boss likes short meetings", "work"),
        ("My wife is called Anna", "relationships"),
        ("I am learning Portuguese at school", "learning"),
        ("I pay 900 euros rent", "finance"),
        ("My passport ends in May", "life_ops"),
        ("Blue is a colour", "personal"),
    ],
)
def test_the_domain_of_a_statement(statement: str, domain: str) -> None:
    assert rule_domain(statement) == domain


def test_where_words_say_nothing_what_was_asked_for_is_taken() -> None:
    assert rule_type("Blue is a colour", "observation") == "observation"
    assert rule_domain("Blue is a colour", "astronomy") == "astronomy"


def test_tags_are_what_a_statement_is_about() -> None:
    assert rule_tags("I prefer morning workouts #Fitness") == ["fitness", "morning", "workouts"]
    assert rule_tags("My friend Anna moved in May 2019 #3") == ["friend", "moved"]
    assert rule_tags("我喜欢猫") == []


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("My wife Anna likes Dr. Meier", [("Anna", "person"), ("Dr. Meier", "person")]),
        ("I work at Siemens in Munich", [("Siemens", "org"), ("Munich", "place")]),
        ("I study at the University of Porto", [("University of Porto", "org")]),
        ("Last summer we went to New York", [("New York", "place")]),
        ("NASA launched a rocket on Monday in May", [("NASA", "other")]),
        ("John Smith is tall. He lives in Rome", [("John Smith", "other"), ("Rome", "place")]),
        ("I saw Anna's car", [("Anna", "other")]),
        ("Tea is good. I like it", []),
        ("THIS IS ALL SHOUTED", []),
        ("i like tea", []),
    ],
)
def test_entities_are_what_has_a_name(statement: str, named: list[tuple[str, str]]) -> None:
    assert [(entity["name"], entity["type"]) for entity in rule_entities(statement)] == named


def test_a_model_s_entities_are_kept_where_the_statement_names_them() -> None:
    given_by_model = [{"name": name, "type": "person", "role": "mentioned"} for name in ("anna", "Anna", "Zeus")]
    assert [entity["name"] for entity in grounded_entities("Anna is here", given_by_model)] == ["Anna"]


@pytest.mark.parametrize(
    ("statement", "questions"),
    [
        ("My dog is called Rex", ["What is the name of my dog?"]),
        ("My blood type is 0", ["What is my blood type?"]),
        ("I live in Lisbon", ["Where do I live?"]),
        ("I prefer tea", ["What do I like?"]),
        ("My wife Anna is here", []),
        ("The sky is blue", []),
    ],
)
def test_common_statements_answer_a_question(statement: str, questions: list[str]) -> None:
    assert rule_questions(statement) == questions


@given(st.text(max_size=200))
def test_rules_have_an_answer_for_any_text(text: str) -> None:
    assert rule_type(text) in set(ClaimType)
    assert rule_domain(text) in set(ContextDomain)
    assert len(rule_tags(text)) <= 4
    for entity in rule_entities(text):
        assert entity["name"] in text
        assert entity["type"] in set(EntityType)
        assert entity["role"] in set(EntityRole)
