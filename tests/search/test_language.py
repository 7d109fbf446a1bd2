from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest

from search.language import _forms, is_spoken, language_of, terms
from search.times import spoken_period

TODAY = date(2026, 6, 20)


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("how do i prune trees", "pruned"),
        ("where did we run", "running"),
        ("which allergies", "allergy"),
        ("welche schuhe habe ich gekauft", "schuhen"),
        ("quels livres ai je lus", "livre"),
        ("los libros que yo tengo", "libro"),
        ("深 度", "深"),
        ("room b12", "b12"),
    ],
)
def test_a_question_is_said_in_other_forms(question: str, form: str) -> None:
    assert any(form in forms for forms in terms(question.split()))


def test_function_words_count_only_where_there_is_nothing_else() -> None:
    assert [min(forms, key=len) for forms in terms(["what", "did", "the", "doctor", "say"])] == ["doctor", "say"]
    assert len(terms(["to", "be", "or", "not", "to", "be"])) == 4
    assert terms([]) == ()


@pytest.mark.parametrize(
    ("words", "language"),
    [
        ("what was the name of it", "english"),
        ("wie hieß das noch", "german"),
        ("quel est le nom de ce livre", "french"),
        ("cual es el nombre", "spanish"),
        ("rye starter", "english"),
    ],
)
def test_the_language_is_that_of_the_function_words(words: str, language: str) -> None:
    assert language_of(words.split()) == language


def test_keywords_are_no_question() -> None:
    assert is_spoken(["what", "was", "the", "best", "wine"])
    assert not is_spoken(["sourdough", "starter", "feeding", "ratio"])
    assert not is_spoken(["the", "wine"])


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("in March", "2026-03-01", "2026-03-31"),
        ("last August", "2025-08-01", "2025-08-31"),
        ("in December 2024", "2024-12-01", "2024-12-31"),
        ("on 8 May 2023", "2023-05-08", "2023-05-08"),
        ("on May 8th, 2023", "2023-05-08", "2023-05-08"),
        ("on 2023-05-08", "2023-05-08", "2023-05-08"),
        ("last spring", "2026-03-01", "2026-05-31"),
        ("last summer", "2025-06-01", "2025-08-31"),
        ("this summer", "2026-06-01", "2026-08-31"),
        ("last winter", "2025-12-01", "2026-02-28"),
        ("in the autumn of 2024", "2024-09-01", "2024-11-30"),
        ("three weeks ago", "2026-05-25", "2026-06-04"),
        ("2 days ago", "2026-06-17", "2026-06-19"),
        ("yesterday", "2026-06-19", "2026-06-19"),
        ("last week", "2026-06-08", "2026-06-14"),
        ("last month", "2026-05-01", "2026-05-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("in 2024", "2024-01-01", "2024-12-31"),
        ("around Christmas", "2025-12-10", "2026-01-02"),
        ("in March last year", "2025-03-01", "2025-03-31"),
        ("last year in March", "2025-03-01", "2025-03-31"),
        ("in the spring of last year", "2025-03-01", "2025-05-31"),
        ("when prices began to fall last year", "2025-01-01", "2025-12-31"),
    ],
)
def test_a_time_is_understood_as_a_person_means_it(question: str, first: str, last: str) -> None:
    period = spoken_period(f"What did I buy {question}?", today=TODAY)
    assert period == (date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("Was habe ich im März gekauft?", "2026-03-01", "2026-03-31"),
        ("Was stand letzten August in der Zeitung?", "2025-08-01", "2025-08-31"),
        ("Was war am 8. Mai 2023?", "2023-05-08", "2023-05-08"),
        ("Was war am 8. August 2023?", "2023-08-08", "2023-08-08"),
        ("Was war am 08.05.2023?", "2023-05-08", "2023-05-08"),
        ("Was habe ich im Dezember 2024 gefragt?", "2024-12-01", "2024-12-31"),
        ("Wo waren wir letzten Sommer?", "2025-06-01", "2025-08-31"),
        ("Was pflanzte ich im Frühjahr 2024?", "2024-03-01", "2024-05-31"),
        ("Was sagte sie vor drei Wochen?", "2026-05-25", "2026-06-04"),
        ("Was sagte sie vor 2 Tagen?", "2026-06-17", "2026-06-19"),
        ("Und gestern?", "2026-06-19", "2026-06-19"),
        ("Was wollte ich letzte Woche?", "2026-06-08", "2026-06-14"),
        ("Was kostete es letztes Jahr?", "2025-01-01", "2025-12-31"),
        ("Was kostete es im Jahr 2024?", "2024-01-01", "2024-12-31"),
        ("Was kochten wir an Weihnachten?", "2025-12-10", "2026-01-02"),
        ("¿Qué compré en marzo?", "2026-03-01", "2026-03-31"),
        ("¿Qué pasó el 8 de mayo de 2023?", "2023-05-08", "2023-05-08"),
        ("¿Qué pregunté en diciembre de 2024?", "2024-12-01", "2024-12-31"),
        ("¿Dónde estuvimos el verano pasado?", "2025-06-01", "2025-08-31"),
        ("¿Qué dijo hace tres semanas?", "2026-05-25", "2026-06-04"),
        ("¿Qué hice la semana pasada?", "2026-06-08", "2026-06-14"),
        ("¿Cuánto costó el año pasado?", "2025-01-01", "2025-12-31"),
        ("¿Y ayer?", "2026-06-19", "2026-06-19"),
        ("Qu'ai-je acheté en mars ?", "2026-03-01", "2026-03-31"),
        ("Où étions-nous l'été dernier ?", "2025-06-01", "2025-08-31"),
        ("Qu'a-t-elle dit il y a trois semaines ?", "2026-05-25", "2026-06-04"),
        ("Que s'est-il passé le 8 mai 2023 ?", "2023-05-08", "2023-05-08"),
        ("我三月买了什么？", "2026-03-01", "2026-03-31"),
        ("我十二月问了什么？", "2025-12-01", "2025-12-31"),
        ("2023年5月8日说了什么？", "2023-05-08", "2023-05-08"),
        ("2024年12月我问了什么？", "2024-12-01", "2024-12-31"),
        ("去年夏天我们去了哪里？", "2025-06-01", "2025-08-31"),
        ("三周前她说了什么？", "2026-05-25", "2026-06-04"),
        ("上周我想要什么？", "2026-06-08", "2026-06-14"),
        ("上个月呢？", "2026-05-01", "2026-05-31"),
        ("去年花了多少钱？", "2025-01-01", "2025-12-31"),
        ("昨天呢？", "2026-06-19", "2026-06-19"),
        ("Was kaufte ich im März letzten Jahres?", "2025-03-01", "2025-03-31"),
        ("Was kaufte ich im April des vergangenen Jahres?", "2025-04-01", "2025-04-30"),
        ("Was kaufte ich letztes Jahr im März?", "2025-03-01", "2025-03-31"),
        ("Wo waren wir im Frühling letzten Jahres?", "2025-03-01", "2025-05-31"),
        ("¿Qué compré en marzo del año pasado?", "2025-03-01", "2025-03-31"),
        ("¿Qué compré el año pasado en marzo?", "2025-03-01", "2025-03-31"),
        ("¿Qué planté en la primavera del año pasado?", "2025-03-01", "2025-05-31"),
        ("Qu'ai-je acheté en mars de l'année dernière ?", "2025-03-01", "2025-03-31"),
        ("Qu'ai-je acheté l'an dernier en mars ?", "2025-03-01", "2025-03-31"),
        ("Qu'ai-je planté au printemps de l’année dernière ?", "2025-03-01", "2025-05-31"),
        ("Où as-tu été l'année dernière ?", "2025-01-01", "2025-12-31"),
        ("Qu'ai-je acheté hier ?", "2026-06-19", "2026-06-19"),
        ("Hier, j’ai parlé du vin.", "2026-06-19", "2026-06-19"),
        ("Quelle recette m'as-tu donnée hier ?", "2026-06-19", "2026-06-19"),
        ("Et hier ?", "2026-06-19", "2026-06-19"),
        ("La recette d'hier", "2026-06-19", "2026-06-19"),
        ("Le vin, hier soir", "2026-06-19", "2026-06-19"),
        ("Qu'ai-je dit avant-hier ?", "2026-06-18", "2026-06-18"),
        ("2019年前后我在哪里？", "2019-01-01", "2019-12-31"),
        ("三十天前她说了什么？", "2026-05-20", "2026-05-22"),
        ("二十五天前她说了什么？", "2026-05-25", "2026-05-27"),
        ("两天以前她说了什么？", "2026-06-17", "2026-06-19"),
        ("二十年前我在哪里？", "2006-02-20", "2006-10-18"),
    ],
)
def test_a_time_is_understood_in_other_languages(question: str, first: str, last: str) -> None:
    assert spoken_period(question, today=TODAY) == (date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize(
    "question",
    [
        "Wie viele Monate dauert das?",
        "Mai-Linh fragt",
        "dos meses de fianza",
        "三个月的押金",
        "ein Jahr lang",
        "les mois",
        "Was haben wir hier über Tomaten gesagt?",
        "Welche Quelle haben wir hier?",
        "Welches Café ist hier gemeint?",
        "Was steht hier über La Palma und L'Oréal?",
        "Heb je hier de foto van me?",
        "2023年前的旅行",
        "2000年前的埃及",
        "一百二十天前",
        "几十年前",
    ],
)
def test_lengths_and_names_are_no_times(question: str) -> None:
    assert spoken_period(question, today=TODAY) is None


@pytest.mark.parametrize("question", ["may I ask", "on 31 February 2023", "in 0000", "999 years ago", "march on"])
def test_what_is_no_time_is_none(question: str) -> None:
    period = spoken_period(question, today=TODAY)
    assert period is None or question == "999 years ago"


def test_forms_are_the_same_however_many_ask_at_once() -> None:
    roots = ("garden", "tulip", "bak", "studi", "run", "happ", "nation", "govern")
    words = [root + ending for root in roots for ending in ("s", "ing", "ed", "er", "ies", "ation", "ness", "ful")]
    expected = {word: _forms(word, "english") for word in words}
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            asked = [threads.submit(_forms.__wrapped__, word, "english") for word in words for _ in range(4)]
            found = [future.result() for future in asked]
    finally:
        sys.setswitchinterval(interval)
    assert found == [expected[word] for word in words for _ in range(4)]
