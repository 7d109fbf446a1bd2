"""Finding claims by their words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiers import examples
from tests.truth_management_system.search.conftest import ANN, Person, found
from truth_management_system.crud.filters import SearchFilters
from truth_management_system.database import PKBDatabase, get_memory_database
from truth_management_system.search import fulltext
from truth_management_system.search.fts_search import FTSSearchStrategy

pytestmark = pytest.mark.contract

EVERYTHING = SearchFilters(statuses=[])


@pytest.fixture
def search(db: PKBDatabase) -> FTSSearchStrategy:
    return FTSSearchStrategy(db, ANN)


@pytest.mark.parametrize(
    ("query", "statement"),
    [
        ("workout", "I do workouts at dawn"),
        ("workouts", "I do one workout a day"),
        ("work", "I do workouts at dawn"),
        ("MEETINGS", "Every meeting needs an agenda"),
        ("cafe", "Our café is Café Grün"),
        ("Café", "The cafe is round the corner"),
        ("What is the PIN of the cellar?", "The cellar's lock opens with 4907"),
        ("4907", "The cellar's lock opens with 4907"),
        ("ADR-117", "ADR-117 bans global state"),
        ("Tomasz's", "Tomasz likes Georgia"),
        ("猫", "我的猫叫小花"),
        ("小花", "我的猫叫小花"),
        ("แมว", "ฉันมีแมวสองตัว"),
        ("собака", "Моя собака лает"),
        ("to be or not to be", "To be is to do"),
    ],
)
def test_words_are_found_whatever_their_form(ann: Person, search: FTSSearchStrategy, query: str, statement: str):
    # A drawn id has words of its own, which a short word may begin.
    ann.claim(statement, friendly_id="that_one")
    ann.claim("Zebras graze quietly", friendly_id="zebras_graze")
    assert found(search.search(query)) == [statement]


@pytest.mark.parametrize("typed", ["orga", "organ", "organiz", "organizati", "organization", "who organiz"])
def test_a_word_is_found_while_it_is_typed(ann: Person, search: FTSSearchStrategy, typed: str):
    ann.claim("My sister's organization is in Graz")
    ann.claim("Rain falls on Monday")
    assert found(search.search(typed)) == ["My sister's organization is in Graz"]


@pytest.mark.parametrize("field", ["statement", "subject_text", "possible_questions"])
def test_a_word_in_part_is_found_wherever_it_stands_and_in_capitals(
    ann: Person, search: FTSSearchStrategy, field: str
) -> None:
    said = {"statement": "It is in Graz", field: "ORGANIZATION"}
    if field == "possible_questions":
        said[field] = '["Which Organization?"]'
    ann.claim(**said)
    ann.claim("An organ plays")
    assert found(search.search("organiz")) == [said["statement"]]


def test_a_word_that_nobody_wrote_is_not_taken_for_a_shorter_one(ann: Person, search: FTSSearchStrategy):
    ann.claim("The car is red")
    assert search.search("carrot") == []


def test_what_holds_all_words_comes_first(ann: Person, search: FTSSearchStrategy):
    ann.claim("Tea, tea, tea and more tea, a tea a day")
    ann.claim("In the morning I take a very long walk along the river and then drink green tea with my old neighbour")
    ann.claim("Green is the colour of the kitchen")
    first, *others = found(search.search("green tea"))
    assert first.startswith("In the morning")
    assert len(others) == 2


def test_rare_words_say_more_than_common_ones(ann: Person, search: FTSSearchStrategy):
    for number in range(20):
        ann.claim(f"The dashboard of service {number} shows green")
    ann.claim("Zephyr is written in Rust")
    assert found(search.search("Zephyr dashboard"))[0] == "Zephyr is written in Rust"


def test_what_a_claim_says_weighs_more_than_what_it_is_asked_or_called(ann: Person, search: FTSSearchStrategy):
    ann.claim("It lies in the upper drawer", friendly_id="passport_place")
    ann.claim("It ends in May of next year", possible_questions=["When does the passport end?"])
    ann.claim("My passport is very blue")
    by_statement, by_question, by_name = found(search.search("passport"))
    assert by_statement.startswith("My passport")
    assert by_question.startswith("It ends")
    assert by_name.startswith("It lies")


def test_a_whole_word_weighs_more_than_a_beginning(ann: Person, search: FTSSearchStrategy):
    ann.claim("Portuguese lessons are on Monday")
    ann.claim("The port is 4343")
    ann.claim("Portuguese wine is fine")
    assert found(search.search("port"))[0] == "The port is 4343"


def test_of_equals_the_newest_comes_first(ann: Person, search: FTSSearchStrategy):
    ann.claim("Tea is green")
    ann.claim("Tea is black")
    assert found(search.search("tea")) == ["Tea is black", "Tea is green"]


def test_others_memories_are_never_found(ann: Person, ben: Person, db: PKBDatabase):
    ann.claim("Ann keeps her key under the mat")
    ben.claim("Ben keeps his key in the shed")
    assert found(FTSSearchStrategy(db, ANN).search("key mat shed")) == ["Ann keeps her key under the mat"]
    assert found(FTSSearchStrategy(db).search("key")) == []
    hidden = "u" + ben.email.encode().hex()
    assert found(FTSSearchStrategy(db, ANN).search(hidden)) == []


@pytest.mark.parametrize("others", [1, 30])
def test_others_memories_decide_nothing_however_many_there_are(
    ann: Person, ben: Person, search: FTSSearchStrategy, monkeypatch: pytest.MonkeyPatch, others: int
):
    monkeypatch.setattr(fulltext, "NEWEST_HITS", 5)
    ann.claim("Tea with Zoltan", friendly_id="guest")
    ann.claim("Rain on Monday", friendly_id="weather")
    for number in range(8):
        ann.claim(f"Tea at {number}", friendly_id=f"tea_{number}_x")
    for number in range(others):
        ben.claim(f"Zoltan drinks tea on Monday {number}")
    assert found(search.search("zoltan tea"))[0] == "Tea with Zoltan"
    assert found(search.search("monday")) == ["Rain on Monday"]
    assert len(search.search("tea", k=5)) == 5
    assert {result.claim.user_email for result in search.search("zoltan tea monday", k=100)} == {ANN}


def test_a_program_without_users_finds_its_own(db: PKBDatabase):
    Person(db, "").claim("The key is under the mat")
    assert found(FTSSearchStrategy(db).search("key")) == ["The key is under the mat"]
    assert found(FTSSearchStrategy(db).search("u")) == []


def test_what_was_changed_is_found_by_its_new_words_alone(ann: Person, search: FTSSearchStrategy):
    claim = ann.claim("I drink coffee", friendly_id="my_drink")
    ann.claims.edit(claim.claim_id, {"statement": "I drink tea"})
    assert found(search.search("coffee")) == []
    assert found(search.search("tea")) == ["I drink tea"]


def test_what_was_retracted_is_found_only_where_that_is_asked_for(ann: Person, search: FTSSearchStrategy):
    claim = ann.claim("I drink coffee")
    ann.claims.delete(claim.claim_id)
    assert found(search.search("coffee")) == []
    assert found(search.search("coffee", filters=SearchFilters(statuses=["retracted"]))) == ["I drink coffee"]
    assert found(search.search("coffee", filters=EVERYTHING)) == ["I drink coffee"]


def test_a_contested_memory_says_so(ann: Person, search: FTSSearchStrategy):
    claim = ann.claim("I drink coffee")
    ann.claims.edit(claim.claim_id, {"status": "contested"})
    (result,) = search.search("coffee")
    assert result.is_contested
    assert "contested" in result.warnings[0]
    assert search.search("coffee", filters=SearchFilters(include_contested=False)) == []


def test_filters_apply_before_the_ranking(ann: Person, search: FTSSearchStrategy):
    ann.claim("Tea at work", context_domain="work", tags=["drinks"])
    for number in range(30):
        ann.claim(f"Tea tea tea {number}", context_domain="health")
    tag = ann.tags.find_by_name("drinks")[0]
    assert found(search.search("tea", k=1, filters=SearchFilters(context_domains=["work"]))) == ["Tea at work"]
    assert found(search.search("tea", k=1, filters=SearchFilters(tags=[tag.tag_id]))) == ["Tea at work"]


def test_old_hits_of_a_common_word_are_found_through_a_rarer_one_and_through_filters(
    ann: Person, search: FTSSearchStrategy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fulltext, "NEWEST_HITS", 5)
    ann.claim("Tea with Zoltan", context_domain="work")
    ann.claim("Black tea and white cake")
    for number in range(12):
        ann.claim(f"Tea number {number}")
        ann.claim(f"Cake number {number}")
    assert found(search.search("zoltan tea"))[0] == "Tea with Zoltan"
    assert found(search.search("tea cake"))[0] == "Black tea and white cake"
    assert found(search.search("tea", filters=SearchFilters(context_domains=["work"]))) == ["Tea with Zoltan"]
    assert "Tea number 9" in found(search.search("tea", k=3))


@pytest.mark.parametrize("query", ["cake", "tea cake", "cake item", "tea cake item", "item tea"])
def test_filters_find_what_says_any_word_though_all_of_them_are_common(
    ann: Person, search: FTSSearchStrategy, monkeypatch: pytest.MonkeyPatch, query: str
):
    monkeypatch.setattr(fulltext, "NEWEST_HITS", 5)
    for number in range(12):
        ann.claim(f"Tea item {number}")
        ann.claim(f"Cake item {number}")
    ann.claim("Only cake and no other", context_domain="health")
    ann.claim("Only tea", context_domain="health")
    for number in range(12):
        ann.claim(f"Cake newer {number}")
        ann.claim(f"Tea newer {number}")
    expected = {"Only cake and no other"} if "cake" in query else set()
    expected |= {"Only tea"} if "tea" in query else set()
    assert set(found(search.search(query, filters=SearchFilters(context_domains=["health"])))) == expected


def test_a_word_that_most_memories_share_says_little_though_few_of_them_are_looked_at(
    ann: Person, search: FTSSearchStrategy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fulltext, "NEWEST_HITS", 5)
    ann.claim("Zoltan plays chess")
    for number in range(30):
        ann.claim(f"Everything is tea {number}")
    assert found(search.search("zoltan tea"))[0] == "Zoltan plays chess"


def test_no_more_than_asked_for_come_back(ann: Person, search: FTSSearchStrategy):
    for number in range(5):
        ann.claim(f"Tea {number}")
    assert len(search.search("tea", k=3)) == 3
    assert search.search("tea", k=0) == []


def test_a_query_without_a_word_finds_nothing(ann: Person, search: FTSSearchStrategy):
    ann.claim("I drink tea")
    for query in ("", "   ", "!?", '""', "*", "🍕", "\0", "\ud800", "-:-"):
        assert search.search(query) == [], query


@pytest.mark.parametrize(
    "query",
    [
        'tea" OR owner : "',
        "tea AND NOT coffee",
        "tea NEAR/2 milk",
        "NEAR(tea milk)",
        "statement : tea",
        "owner:u61",
        "tea*",
        "^tea",
        "(tea",
        "te%",
        "_ea",
        "tea; DROP TABLE claims",
        "{statement} : tea",
        "+tea -milk",
        "\ud800tea\0",
        "tea " * 5_000,
        "½² Ⅻ ① ㍿ ﷺ ₿ tea",
    ],
)
def test_operators_in_a_query_are_just_text(ann: Person, ben: Person, search: FTSSearchStrategy, query: str):
    ann.claim("I drink tea")
    ben.claim("Ben drinks tea")
    assert set(found(search.search(query))) <= {"I drink tea"}


@pytest.fixture(scope="module")
def two_people() -> Iterator[FTSSearchStrategy]:
    with get_memory_database() as database:
        for email, statement in (
            (ANN, "Ann says: and or not near tea 猫 ½"),
            ("ben@example.org", "Ben says: and or tea"),
        ):
            Person(database, email).claim(statement)
        yield FTSSearchStrategy(database, ANN)


WILD = st.text(st.one_of(st.characters(exclude_categories=()), st.sampled_from("\"*:-^(){}+,'AND OR NOT NEAR/%_u61")))


@examples(300)
@given(query=WILD)
def test_any_text_is_a_query_and_finds_ones_own_alone(two_people: FTSSearchStrategy, query: str):
    assert {result.claim.user_email for result in two_people.search(query)} <= {ANN}
    for column in ("statement", "possible_questions", "friendly_id"):
        assert {result.claim.user_email for result in two_people.search_by_column(column, query)} <= {ANN}


def test_one_column_can_be_searched_alone(ann: Person, search: FTSSearchStrategy):
    ann.claim("I drink tea", possible_questions=["Which beverage do I like?"])
    assert found(search.search_by_column("possible_questions", "beverage")) == ["I drink tea"]
    assert search.search_by_column("statement", "beverage") == []


def test_a_column_that_is_not_searched_is_refused(search: FTSSearchStrategy):
    with pytest.raises(ValueError, match="owner"):
        search.search_by_column("owner", "tea")


def test_coverage_says_how_much_of_the_query_a_claim_holds(ann: Person, search: FTSSearchStrategy):
    ann.claim("I drink tea")
    ann.claim("I drink tea in Lisbon")
    whole, part = search.search("tea Lisbon")
    assert whole.metadata["coverage"] == pytest.approx(1.0)
    assert 0 < part.metadata["coverage"] < 0.5


def test_the_queries_of_a_search_do_not_grow_with_what_is_stored(
    ann: Person, search: FTSSearchStrategy, statements_run: Callable[[Callable[[], object]], int]
):
    ann.claim("Green tea in the morning")
    few = statements_run(lambda: search.search("green tea morning"))
    for number in range(100):
        ann.claim(f"Green tea in the morning of day {number}")
    assert statements_run(lambda: search.search("green tea morning")) <= few
