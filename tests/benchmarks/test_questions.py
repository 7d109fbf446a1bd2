from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.questions.generator import generated_histories
from benchmarks.questions.histories import History, HistoryMessage, Question, as_json, read_histories
from benchmarks.questions.measure import recall
from benchmarks.questions.recipes import plain_bm25, prepare, trial_recipe
from language_models.ports import ModelState

# The set was fixed before any search was run on it; whoever changes it measures anew, every figure.
DIGEST = "4f01bb35c992b0e6fa15593b6435e3abad581950e9b2c51d22e686e614ae54de"


@pytest.fixture(scope="module")
def histories() -> list[History]:
    return generated_histories()


def test_the_set_is_the_one_whose_figures_are_published(histories: list[History]) -> None:
    content = json.dumps(as_json(histories), sort_keys=True)
    assert hashlib.sha256(content.encode()).hexdigest() == DIGEST


def test_half_of_300_questions_over_twenty_long_histories_is_kept_for_the_figure(histories: list[History]) -> None:
    assert len(histories) == 20
    assert min(len(history.messages) for history in histories) >= 400
    questions = [question for history in histories for question in history.questions]
    assert Counter(question.split for question in questions) == {"tuning": 150, "kept": 150}


def test_nothing_is_tuned_on_a_subject_of_the_kept_half(histories: list[History]) -> None:
    families: dict[str, set[str]] = {"tuning": set(), "kept": set()}
    for history in histories:
        for question in history.questions:
            families[question.split].add(question.family)
    assert families["tuning"].isdisjoint(families["kept"])


def test_evidence_names_messages_of_its_history(histories: list[History]) -> None:
    for history in histories:
        known = {message.message_id for message in history.messages}
        assert len(known) == len(history.messages)
        assert all(question.evidence and question.evidence <= known for question in history.questions)


def test_a_history_is_read_from_a_file_as_it_was_written(histories: list[History], tmp_path: Path) -> None:
    file = tmp_path / "histories.json"
    file.write_text(json.dumps(as_json(histories[:1])), encoding="utf-8")
    (read,) = read_histories(file)
    assert read.messages == histories[0].messages
    assert [each.evidence for each in read.questions] == [each.evidence for each in histories[0].questions]


def test_sessions_of_two_speakers_are_read_as_conversations(tmp_path: Path) -> None:
    turns = [{"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat."}]
    answers = [{"speaker": "Bob", "dia_id": "D2:1", "text": "How is she?"}]
    sample = {
        "sample_id": "s1",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": turns,
            "session_2_date_time": "at noon",
            "session_2": answers,
        },
        "qa": [
            {"question": "Which animal does Ann have?", "evidence": ["D1:1; D2:1"], "category": 1},
            {"question": "Which car?", "evidence": ["D1:1"], "category": 5},
        ],
    }
    file = tmp_path / "sessions.json"
    file.write_text(json.dumps([sample]), encoding="utf-8")
    (history,) = read_histories(file)
    assert [(each.conversation_id, each.text) for each in history.messages] == [
        ("session_1", "Ann: I adopted a cat."),
        ("session_2", "Bob: How is she?"),
    ]
    assert [each.evidence for each in history.questions] == [{"D1:1", "D2:1"}]


def test_recall_is_the_share_of_the_evidence_among_the_first_ten() -> None:
    question = Question(text="?", evidence=frozenset({"a", "b"}), split="kept")
    assert recall(["x", "a"], question) == 0.5
    assert recall([*"0123456789", "a", "b"], question) == 0


def test_the_trial_recipe_reads_an_answer_together_with_its_question() -> None:
    texts = ["How long do I boil an egg?", "Seven minutes.", "Which tree is this?", "A larch."]
    messages = tuple(
        HistoryMessage(message_id=f"m{n}", conversation_id=f"c{n // 2}", sender="user", text=text, created_at=None)
        for n, text in enumerate(texts)
    )
    question = Question(text="boiling eggs", evidence=frozenset({"m1"}), split="kept")
    history = History(name="", asked_at=None, messages=messages, questions=(question,))
    prepared = prepare(history, [question], model=SameForAll())
    assert list(plain_bm25(prepared, 0)) == [0, 0, 0, 0]
    scores = trial_recipe(prepared, 0)
    assert min(scores[:2]) > max(scores[2:])


class SameForAll:
    name, dimensions = "same", 2

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.ones((len(texts), 2), dtype=np.float32) / 2**0.5

    def state(self) -> ModelState:
        return ModelState(name=self.name, phase="ready")
