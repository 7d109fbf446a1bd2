"""Runs of the answer study: what each arm gives the model, what is stored, how a run goes on where it was ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from benchmarks.answers.__main__ import main
from benchmarks.answers.arms import ARMS
from benchmarks.answers.generator import AskedQuestion, answer_histories, questions_in_order
from benchmarks.answers.product import Answered, Product, running_product
from benchmarks.answers.records import Record, Records
from benchmarks.answers.report import figures, table
from language_models.testing import Prompt, Reply, ScriptedChatModel, calling

QUESTIONS = {question.stratum: question for question in questions_in_order() if question.history == 0}


class Model:
    """What the scripted model says next, and what it was told."""

    def __init__(self) -> None:
        self.script: Callable[[Prompt], Reply] = lambda _prompt: Reply("I don't know.")
        self.chat = ScriptedChatModel(replies=lambda prompt: self.script(prompt), calls_tools=True)

    def told(self) -> str:
        """The last message of the last request."""
        return self.chat.prompts[-1][-1]["content"]


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Model, Product]]:
    model = Model()
    with running_product("none", override=model.chat, embedding="none") as product:
        yield model, product


@pytest.fixture
def model(shared: tuple[Model, Product]) -> Model:
    shared[0].script = lambda _prompt: Reply("I don't know.")
    return shared[0]


@pytest.fixture
def product(shared: tuple[Model, Product], model: Model) -> Product:
    return shared[1]


def asked(product: Product, question: AskedQuestion, arm: str) -> Answered:
    return product.ask(question, answer_histories()[question.history], ARMS[arm])


def test_alone_the_model_is_given_nothing_but_the_question(model: Model, product: Product) -> None:
    answered = asked(product, QUESTIONS["single"], "alone")
    assert model.told() == QUESTIONS["single"].text
    assert (answered.text, answered.status, answered.references) == ("I don't know.", "complete", [])
    assert answered.figures["requests"] == 1
    assert answered.figures["prompt_tokens"] > 0


@pytest.mark.parametrize("stratum", ["single", "combined", "document", "memory"])
def test_what_is_named_by_hand_reaches_the_model_word_for_word(model: Model, product: Product, stratum: str) -> None:
    question, history = QUESTIONS[stratum], answer_histories()[0]
    answered = asked(product, question, "by-hand")
    assert len(answered.references) == len(question.sources)
    assert all(entry.endswith(": resolved") for entry in answered.references)
    for source in question.sources:
        if source.kind == "message":
            assert history.talks[source.talk].said[source.place].text in model.told()
        elif source.kind == "memory":
            assert history.memories[source.place] in model.told()
        else:
            assert "2.3 bar" in model.told()


def test_searched_before_the_answer_the_memory_reaches_the_model(model: Model, product: Product) -> None:
    asked(product, QUESTIONS["memory"], "search")
    assert "My ski boots are of size 43" in model.told()


def test_calls_of_tools_are_stored_with_their_results(model: Model, product: Product) -> None:
    call = calling(("search_messages", json.dumps({"query": "combination lock"})))
    model.script = lambda prompt: Reply("It is 4719.") if prompt[-1]["role"] == "tool" else Reply(call)
    answered = asked(product, QUESTIONS["single"], "tools")
    assert answered.text.strip() == "It is 4719."
    (made,) = answered.tool_calls
    assert (made["name"], made["status"]) == ("search_messages", "complete")
    assert "4719" in json.dumps(made["result"])
    assert answered.figures["requests"] == 2


def test_no_question_finds_an_earlier_one(model: Model, product: Product) -> None:
    """Its conversation is deleted: else the searches of later arms would find the question itself."""
    asked(product, QUESTIONS["combined"], "alone")
    call = calling(("list_conversations", json.dumps({"query": QUESTIONS["combined"].text, "limit": 200})))
    model.script = lambda prompt: Reply("Done.") if prompt[-1]["role"] == "tool" else Reply(call)
    listed = asked(product, QUESTIONS["single"], "tools").tool_calls[0]["result"]["conversations"]
    assert QUESTIONS["combined"].text not in json.dumps(listed)


def run(product: Product, records: Path, *arguments: str) -> int:
    return main(["--records", str(records), *arguments], run=lambda _model: nullcontext(product))


def test_a_run_that_was_killed_goes_on_with_what_is_missing(
    model: Model, product: Product, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = tmp_path / "answers.jsonl"
    assert run(product, records, "--questions", "1", "--arms", "alone,by-hand") == 0
    with records.open("ab") as file:
        file.write(b'{"question_id": "1-cha')  # killed while this line was written
    before = len(model.chat.calls)
    assert run(product, records, "--questions", "2", "--arms", "alone,by-hand", "--results", str(tmp_path / "r")) == 0
    assert len(model.chat.calls) == before + 2
    stored = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    assert [(each["arm"], each["question_id"]) for each in stored] == [
        ("alone", "0-single"),
        ("by-hand", "0-single"),
        ("alone", "1-changed"),
        ("by-hand", "1-changed"),
    ]
    assert "2 questions, answered in every arm" in capsys.readouterr().out
    run(product, records, "--questions", "2", "--table", "--show")
    assert "unknown alone   1-changed: I don't know.\n" in capsys.readouterr().out
    assert len(model.chat.calls) == before + 2
    assert json.loads((tmp_path / "r").read_text())["embedded:small"]["answered"] == {"alone": 2, "by-hand": 2}


def test_a_run_without_time_asks_nothing(model: Model, product: Product, tmp_path: Path) -> None:
    before = len(model.chat.calls)
    run(product, tmp_path / "answers.jsonl", "--minutes", "0")
    assert len(model.chat.calls) == before


def record(arm: str, question: AskedQuestion, text: str, *, status: str = "complete", **more: Any) -> Record:
    told = {"requests": 1, "prompt_tokens": 100, "completion_tokens": 10, "wall_seconds": 2.0, "cpu_seconds": 1.0}
    answered = Answered(text=text, status=status, error="", references=[], tool_calls=[], figures=told | more)
    return Record(
        question_id=question.question_id, arm=arm, model="m", commit="c", answered_at="2026-01-01", answered=answered
    )


def test_an_answer_that_broke_off_is_asked_for_again_and_the_later_record_counts(tmp_path: Path) -> None:
    records = Records(tmp_path / "answers.jsonl")
    broken = record("alone", QUESTIONS["single"], "", status="failed")
    records.add(broken)
    assert not records.has(broken.key)
    records.add(record("alone", QUESTIONS["single"], "4719"))
    again = Records(tmp_path / "answers.jsonl")
    assert again.has(broken.key)
    assert [each.answered.text for each in again.all()] == ["4719"]


def test_the_table_compares_the_questions_that_every_arm_has_answered() -> None:
    single, absent = QUESTIONS["single"], QUESTIONS["absent"]
    study = figures(
        [
            record("alone", single, "I don't know."),
            record("alone", absent, "I don't know."),
            record("search", single, "4719", prompt_tokens=300),
        ],
        [single, absent],
    )
    assert study["shared_questions"] == [single.question_id]
    assert (study["shared"]["search"]["right"], study["shared"]["alone"]["unknown"]) == (1, 1)
    assert (study["all"]["alone"]["right"], study["all"]["alone"]["questions"]) == (1, 2)
    told = table(study)
    assert (
        "| memories, messages and documents searched before the answer | 1 | 1 | 0 | 0 | 300 | 10 | 1 | 2 | 1 | 0 |"
        in told
    )
    assert "| the conversation alone | 0 of 1 |" in told
