"""The searches that the product is compared with, rebuilt plainly: each gives every message of a history a score."""

from __future__ import annotations

import itertools
import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from language_models.ports import EmbeddingModel

from .histories import History, Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

_K1, _B = 1.2, 0.75
_RANK_CONSTANT = 60
_NEIGHBOURS = 0.2
_PLAIN = "unicode61 remove_diacritics 2"
_STOP_WORDS = frozenset(
    """
    a about again all also am an and any are as at be been being but by can could did do does doing done down for from
    get give had has have having he her here hers him his how i if in into is it its just may me might mine more most
    much must my no nor not of off on once only or our ours out over own please same shall she should so some such tell
    than that the their theirs them then there these they this those to too under up us very was we were what when where
    which who whom whose why will with would you your yours
    """.split()  # noqa: SIM905 (a list of words is read more easily as a text)
)


Recipe = Callable[["Prepared", int], "NDArray[np.float64]"]


class WordIndex:
    """BM25 over documents that are lists of words."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._count = len(documents)
        self._lengths = np.array([len(document) for document in documents], dtype=float)
        self._usual = max(1.0, float(self._lengths.mean()))
        self._places: dict[str, dict[int, int]] = {}
        for number, document in enumerate(documents):
            for word, times in Counter(document).items():
                self._places.setdefault(word, {})[number] = times

    def scores(self, words: Sequence[str]) -> NDArray[np.float64]:
        """The BM25 score of each document for any of `words`; 0 where none is said."""
        scores = np.zeros(self._count)
        for word in dict.fromkeys(words):
            said = self._places.get(word, {})
            places = np.fromiter(said.keys(), dtype=int)
            times = np.fromiter(said.values(), dtype=float)
            rarity = math.log(1 + (self._count - len(said) + 0.5) / (len(said) + 0.5))
            allowance = _K1 * (1 - _B + _B * self._lengths[places] / self._usual)
            scores[places] += rarity * times * (_K1 + 1) / (times + allowance)
        return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A history as the recipes read it. before, after: the neighbour in the conversation of each message, or -1."""

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    plain: WordIndex
    with_the_one_before: WordIndex
    vectors: NDArray[np.float32]
    questions: Sequence[Sequence[str]]
    stemmed_questions: Sequence[Sequence[str]]
    question_vectors: NDArray[np.float32]


def prepare(history: History, questions: Sequence[Question], *, model: EmbeddingModel) -> Prepared:
    """Cut, stem, index and embed all messages of a history, and what is asked of it."""
    texts = [message.text for message in history.messages]
    asked = [question.text for question in questions]
    conversations = [message.conversation_id for message in history.messages]
    same = [one == other for one, other in itertools.pairwise(conversations)]
    before = [-1, *(place if joined else -1 for place, joined in enumerate(same))]
    after = [*(place + 1 if joined else -1 for place, joined in enumerate(same)), -1]
    stems = _words(texts, f"porter {_PLAIN}")
    together = [[*(stems[place] if place >= 0 else ()), *own] for place, own in zip(before, stems, strict=True)]
    plain_questions = _words(asked, _PLAIN)
    return Prepared(
        before=np.array(before),
        after=np.array(after),
        plain=WordIndex(_words(texts, _PLAIN)),
        with_the_one_before=WordIndex(together),
        vectors=model.embed(texts),
        questions=plain_questions,
        stemmed_questions=[
            [stem for stem, word in zip(stemmed, plain, strict=True) if word not in _STOP_WORDS]
            for stemmed, plain in zip(_words(asked, f"porter {_PLAIN}"), plain_questions, strict=True)
        ],
        question_vectors=model.embed(asked),
    )


def plain_bm25(prepared: Prepared, question: int) -> NDArray[np.float64]:
    """Any of the words as they are, ranked by BM25."""
    return prepared.plain.scores(prepared.questions[question])


def plain_fusion(prepared: Prepared, question: int) -> NDArray[np.float64]:
    """Reciprocal ranks of plain BM25 and of the embedding of each message, added."""
    words = plain_bm25(prepared, question)
    by_words = np.where(words > 0, 1 / (_RANK_CONSTANT + _ranks(words)), 0)
    by_meaning = 1 / (_RANK_CONSTANT + _ranks(_similarities(prepared, question)))
    return np.asarray(by_words + by_meaning)


def trial_recipe(prepared: Prepared, question: int) -> NDArray[np.float64]:
    """What brought most in a trial on others' histories.

    Stems without stop words, each message read together with the one before it; embeddings of single messages;
    standardised scores added, and those of the neighbours counted in a little.
    """
    words = prepared.with_the_one_before.scores(prepared.stemmed_questions[question])
    scores = _standardised(words) + _standardised(_similarities(prepared, question))
    neighbours = np.zeros_like(scores)
    for beside in (prepared.before, prepared.after):
        neighbours += np.where(beside >= 0, scores[beside], 0)
    return scores + _NEIGHBOURS * neighbours


def _similarities(prepared: Prepared, question: int) -> NDArray[np.float64]:
    return np.asarray(prepared.vectors @ prepared.question_vectors[question], dtype=float)


def _standardised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = float(scores.std())
    return np.asarray((scores - scores.mean()) / spread) if spread else np.zeros_like(scores)


def _ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def _words(texts: Sequence[str], tokenizer: str) -> list[list[str]]:
    """The words of each text as one of FTS5's tokenizers cuts them."""
    words: list[list[str]] = [[] for _ in texts]
    index = sqlite3.connect(":memory:")
    index.execute(f"CREATE VIRTUAL TABLE texts USING fts5(body, tokenize='{tokenizer}')")
    index.executemany("INSERT INTO texts (rowid, body) VALUES (?, ?)", enumerate(texts))
    index.execute("CREATE VIRTUAL TABLE words USING fts5vocab(texts, 'instance')")
    for word, number in index.execute('SELECT term, doc FROM words ORDER BY doc, "offset"'):
        words[number].append(word)
    index.close()
    return words
