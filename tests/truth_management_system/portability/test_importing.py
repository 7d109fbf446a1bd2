"""A knowledge base taken out and put in again: the same things, once, and only one's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.truth_management_system.crud.conftest import ANN, BEN, Person
from truth_management_system import StructuredAPI
from truth_management_system.crud.catalog import DomainCatalog, TypeCatalog
from truth_management_system.database import PKBDatabase, get_memory_database
from truth_management_system.errors import InvalidKnowledgeError
from truth_management_system.models import Claim, Context, Entity, Note, Tag
from truth_management_system.portability import export_data, export_markdown, import_data
from truth_management_system.schema import SCHEMA_VERSION

pytestmark = pytest.mark.contract

Stored = Callable[[], dict[str, list[Any]]]


@pytest.fixture
def elsewhere() -> Iterator[PKBDatabase]:
    with get_memory_database() as database:
        yield database


def exported(person: Person) -> dict[str, Any]:
    """As it comes back from a file."""
    data: dict[str, Any] = json.loads(json.dumps(export_data(person.db, person.email)))
    return data


def payload(**tables: list[Any]) -> dict[str, Any]:
    return {"pkb_export_version": 1, "data": tables}


def test_an_export_says_what_it_is_and_counts_what_it_holds(filled: Person) -> None:
    data = exported(filled)
    assert (data["pkb_export_version"], data["schema_version"], data["user_email"]) == (1, SCHEMA_VERSION, ANN)
    assert data["counts"] == {
        "claims": 5,
        "notes": 1,
        "entities": 1,
        "tags": 2,
        "contexts": 2,
        "claim_tags": 1,
        "claim_entities": 1,
        "context_claims": 2,
        "claim_links": 1,
        "conflict_sets": 1,
        "conflict_set_members": 2,
        "catalogs": 2,
        "aliases": 1,
    }
    assert {table: len(rows) for table, rows in data["data"].items()} == data["counts"]


def test_without_a_user_it_is_the_knowledge_of_nobody_in_particular(elsewhere: PKBDatabase) -> None:
    with get_memory_database() as mine:
        StructuredAPI(mine, {}, mine.config).add_claim("I like tea", auto_extract=False)
        taken = export_data(mine)
        assert taken == {**export_data(mine, None), "exported_at": taken["exported_at"]}
        assert "I like tea" in export_markdown(mine)
    assert import_data(elsewhere, taken)["counts"]["claims"] == 1
    assert import_data(elsewhere, taken, mode="merge")["counts"]["claims"] == 0
    assert import_data(elsewhere, None, taken)["counts"]["claims"] == 0
    assert StructuredAPI(elsewhere, {}, elsewhere.config).claims.list()[0].statement == "I like tea"
    with pytest.raises(InvalidKnowledgeError, match="no way to import"):
        import_data(elsewhere, taken, "replace")


def test_an_export_takes_the_same_number_of_queries_however_much_there_is(filled: Person) -> None:
    def statements() -> int:
        before = filled.db.statements
        export_data(filled.db, filled.email)
        return filled.db.statements - before

    few = statements()
    for number in range(50):
        filled.claim(str(number), tags=[f"tag {number}"])
    assert statements() == few


def test_an_empty_store_becomes_the_same_knowledge_base(filled: Person, elsewhere: PKBDatabase) -> None:
    data = exported(filled)
    result = import_data(elsewhere, ANN, data)
    assert result["counts"] == data["counts"]
    assert set(result["skipped"].values()) == {0}
    assert export_data(elsewhere, ANN)["data"] == data["data"]


def test_importing_twice_adds_nothing(filled: Person, elsewhere: PKBDatabase) -> None:
    data = exported(filled)
    import_data(elsewhere, ANN, data)
    again = import_data(elsewhere, ANN, data)
    assert set(again["counts"].values()) == {0}
    assert again["skipped"] == data["counts"]
    assert again["audit_id"] is None
    assert export_data(elsewhere, ANN)["data"] == data["data"]


def test_importing_ones_own_export_adds_nothing(filled: Person, stored: Stored) -> None:
    before = stored()
    assert set(import_data(filled.db, filled.email, exported(filled))["counts"].values()) == {0}
    assert stored() == before


def test_another_user_of_the_store_gets_copies_of_her_own(filled: Person, ben: Person) -> None:
    data = exported(filled)
    assert import_data(ben.db, BEN, data)["counts"] == data["counts"]
    mine, theirs = exported(filled)["data"], exported(ben)["data"]
    assert mine == data["data"]
    for table, key in (("claims", "claim_id"), ("tags", "tag_id"), ("contexts", "context_id"), ("notes", "note_id")):
        assert not {row[key] for row in mine[table]} & {row[key] for row in theirs[table]}
        assert {row["user_email"] for row in theirs[table]} == {BEN}
    names = ("statement", "claim_number", "friendly_id", "status", "created_at", "meta_json")
    assert [[row[name] for name in names] for row in theirs["claims"]] == [
        [row[name] for name in names] for row in mine["claims"]
    ]
    alpha = ben.contexts.find_by_name("Project Alpha")[0]
    assert {claim.statement for claim in ben.contexts.resolve_claims(alpha.context_id)} == {
        "I run at dawn",
        "John reviews code",
    }
    assert ben.tags.get_full_path(ben.tags.find_by_name("running")[0].tag_id) == "health/running"
    assert len(ben.conflicts.get_open()[0].member_claim_ids) == 2


def test_another_user_who_imports_twice_has_one_copy(filled: Person, ben: Person) -> None:
    data = exported(filled)
    import_data(ben.db, BEN, data)
    once = exported(ben)["data"]
    filled.notes.delete(filled.notes.list()[0].note_id)
    assert set(import_data(ben.db, BEN, data)["counts"].values()) == {0}
    assert exported(ben)["data"] == once


def test_an_export_gives_no_way_to_anothers_things(filled: Person, ben: Person, stored: Stored) -> None:
    claim, tag = filled.claims.list()[0], filled.tags.list()[0]
    note = ben.note()
    before = stored()
    rows = [{"claim_id": claim.claim_id, "tag_id": tag.tag_id}]
    members = [{"conflict_set_id": filled.conflicts.get_open()[0].conflict_set_id, "claim_id": claim.claim_id}]
    result = import_data(ben.db, BEN, payload(claim_tags=rows, conflict_set_members=members))
    assert set(result["counts"].values()) == {0}
    below = Tag.create("sub", tag.tag_id, user_email=ANN).to_dict()
    import_data(ben.db, BEN, payload(tags=[below], notes=[Note.create("Mine").to_dict() | {"note_id": note.note_id}]))
    assert ben.tags.find_by_name("sub")[0].parent_tag_id is None
    assert ben.notes.list() == [note]
    after = stored()
    assert {table for table in before if after[table] != before[table]} == {"tags"}


def test_numbers_are_kept_where_nothing_ever_had_them(ann: Person) -> None:
    for number in range(3):
        ann.claim(str(number))
    ann.undo()
    claims = [
        Claim.create(f"new {number}", "fact", "health").to_dict() | {"claim_number": number}
        for number in (2, 3, 7, 7, 0)
    ]
    import_data(ann.db, ANN, payload(claims=claims))
    numbered = sorted((claim.claim_number, claim.statement) for claim in ann.claims.list())
    kept, anew = [(1, "0"), (2, "1"), (7, "new 7")], [(8, "new 2"), (9, "new 3"), (10, "new 7"), (11, "new 0")]
    assert numbered == kept + anew
    assert ann.claim("later").claim_number == 12


@pytest.mark.parametrize("number", [-1, 2**70, "5", None, True, 2.5])
def test_a_number_that_is_none_is_given_anew(ann: Person, number: object) -> None:
    import_data(ann.db, ANN, payload(claims=[Claim.create("x", "fact", "health").to_dict() | {"claim_number": number}]))
    assert [claim.claim_number for claim in ann.claims.list()] == [1]


def test_readable_ids_are_kept_where_free_and_well_formed(ann: Person) -> None:
    taken = ann.claim("I run at dawn", friendly_id="run_dawn_a1b2")
    wanted = ["RUN_dawn_a1b2", "my-own", "bad id!", "ends_in_tag", "twice_it", "twice_it", ""]
    claims = [Claim.create("I swim fast", "fact", "health", friendly_id=name).to_dict() for name in wanted]
    import_data(ann.db, ANN, payload(claims=claims))
    names = [claim.friendly_id for claim in ann.claims.list() if claim.claim_id != taken.claim_id]
    assert len(set(names)) == len(wanted)
    assert {"my-own", "twice_it"} < set(names)
    assert sum(name.startswith("swim_fast_") for name in names) == 5


LEAK = {"claim_id": "c-1", "statement": "The parser leaks", "claim_type": "fact", "context_domain": "work"}


def test_an_id_that_could_not_be_kept_leads_to_its_claim(ann: Person) -> None:
    api = StructuredAPI(ann.db, {}, ann.db.config, ANN)
    result = api.import_data(payload(claims=[LEAK | {"friendly_id": "memory_leak_parser_a3f2"}]))
    (claim,) = ann.claims.list()
    renamed = {"kind": "claim", "former": "memory_leak_parser_a3f2", "friendly_id": claim.friendly_id, "leads": True}
    assert (result.metadata["renamed"], result.warnings) == ([renamed], [])
    assert claim.friendly_id != "memory_leak_parser_a3f2"
    for name in ("memory_leak_parser_a3f2", "@Memory_Leak_Parser_a3f2"):
        assert api.resolve_reference(name).object_id == "c-1"
        assert api.resolve_claim_identifier(name) == claim
        assert api.get_claim_by_friendly_id(name).data == claim
    again = api.import_data(payload(claims=[LEAK | {"friendly_id": "memory_leak_parser_a3f2"}]))
    assert (again.metadata["renamed"], again.metadata.get("audit_id")) == ([renamed], None)
    assert api.undo(result.metadata["audit_id"]).success
    assert not api.resolve_reference("memory_leak_parser_a3f2").success
    assert ann.db.select("SELECT * FROM aliases") == []


@pytest.mark.parametrize(
    "former",
    [
        "claim_7",
        "agent_bo",
        "memory",
        "conversation_react_a3f2_message_3",
        "health_domain",
        "bad id!",
        "run_dawn_a1b2",
        "Alpha",
        "sea_context",
    ],
)
def test_an_id_that_means_something_else_is_named_with_the_new_one(ann: Person, former: str) -> None:
    ann.claim("I run at dawn", friendly_id="run_dawn_a1b2")
    ann.contexts.add(Context.create("Alpha", friendly_id="sea_context"))
    ann.context("Alpha Centauri")
    api = StructuredAPI(ann.db, {}, ann.db.config, ANN)
    given = {"tags": [Tag.create("fit", friendly_id="alpha").to_dict()]} if former == "Alpha" else {}
    result = api.import_data(payload(claims=[LEAK | {"friendly_id": former}], **given))
    claim = ann.claims.get("c-1")
    assert claim is not None
    (renamed,) = result.metadata["renamed"]
    assert (renamed["former"], renamed["friendly_id"], renamed["leads"]) == (former, claim.friendly_id, False)
    assert result.warnings == [
        f"What was @{former} is @{claim.friendly_id} here. @{former} doesn't lead to it: write @{claim.friendly_id}."
    ]
    assert api.resolve_reference(former).object_id != "c-1"


def test_an_id_of_a_conversation_that_is_not_there_leads_on(ann: Person) -> None:
    result = import_data(ann.db, ANN, payload(claims=[LEAK | {"friendly_id": "conversation_rules_a1b2"}]))
    assert [each.leads for each in result["renamed"]] == [True]


def test_a_claim_gets_another_id_than_a_context_of_the_import(ann: Person) -> None:
    tables = {
        "contexts": [Context.create("Swimming", friendly_id="morning_sport").to_dict()],
        "claims": [LEAK | {"friendly_id": "Morning_Sport"}],
    }
    result = import_data(ann.db, ANN, payload(**tables))
    assert ann.contexts.get_by_friendly_id("morning_sport") is not None
    assert [(each.kind, each.former, each.leads) for each in result["renamed"]] == [("claim", "Morning_Sport", False)]


def test_the_id_of_a_group_leads_to_the_one_of_that_name_that_is_here(ann: Person) -> None:
    tag = ann.tag("fitness")
    given = payload(tags=[Tag.create("Fitness", friendly_id="get_fit_tag").to_dict()])
    result = import_data(ann.db, ANN, given)
    assert result["renamed"] == [("tag", "get_fit_tag", "fitness_tag", True)]
    api = StructuredAPI(ann.db, {}, ann.db.config, ANN)
    assert api.resolve_reference("@get_fit_tag").object_id == tag.tag_id


def test_aliases_come_along_and_lead_to_what_the_things_are_here(filled: Person, ben: Person) -> None:
    data = exported(filled)
    running = filled.tags.find_by_name("running")[0]
    assert data["data"]["aliases"] == [{"kind": "tag", "alias": "jogging", "thing_id": running.tag_id}]
    import_data(ben.db, BEN, data)
    api = StructuredAPI(ben.db, {}, ben.db.config, BEN)
    assert api.resolve_reference("@jogging").object_id == ben.tags.find_by_name("running")[0].tag_id
    lost = [{"kind": "tag", "alias": "x", "thing_id": "nothing"}]
    result = import_data(ben.db, BEN, payload(aliases=lost))
    assert (result["counts"]["aliases"], result["skipped"]["aliases"], result["audit_id"]) == (0, 1, None)


def test_groups_get_the_ids_that_groups_have(ann: Person) -> None:
    tables = {
        "entities": [Entity.create("John Smith", "person").to_dict()],
        "tags": [Tag.create("fitness").to_dict()],
        "contexts": [Context.create("Goals").to_dict(), Context.create("goals").to_dict()],
    }
    import_data(ann.db, ANN, payload(**tables))
    assert ann.entities.get_by_friendly_id("john_smith_person_entity") is not None
    assert ann.tags.get_by_friendly_id("fitness_tag") is not None
    assert ann.contexts.get_by_friendly_id("goals_context") is not None
    assert [entry.context.friendly_id.endswith("_context") for entry in ann.contexts.list_all()] == [True, True]


def test_what_has_the_same_name_in_the_same_place_is_the_same_thing(filled: Person, elsewhere: PKBDatabase) -> None:
    other = Person(elsewhere, ANN)
    john, health, alpha = other.entity("JOHN smith"), other.tag("Health"), other.context("project alpha")
    project, running = other.entity("John Smith", "project"), other.tag("running")
    import_data(elsewhere, ANN, exported(filled))
    assert other.entities.list() == [john, project]
    assert [claim.statement for claim in other.entities.resolve_claims(john.entity_id)] == ["John reviews code"]
    assert {other.tags.get_full_path(tag.tag_id) for tag in other.tags.list()} == {
        "Health",
        "Health/running",
        "running",
    }
    assert [claim.statement for claim in other.tags.resolve_claims(health.tag_id)] == ["I run at dawn"]
    assert other.tags.resolve_claims(running.tag_id) == []
    assert [context.name for context in other.contexts.get_children(alpha.context_id)] == ["Backend"]
    assert len(other.contexts.resolve_claims(alpha.context_id)) == 2
    assert set(import_data(elsewhere, ANN, exported(filled))["counts"].values()) == {0}


def test_what_is_there_already_stays_as_it_is(filled: Person) -> None:
    data = exported(filled)
    claim = filled.claims.list()[0]
    filled.claims.edit(claim.claim_id, {"statement": "I know better now"})
    import_data(filled.db, ANN, data)
    edited = filled.claims.get(claim.claim_id)
    assert edited is not None
    assert edited.statement == "I know better now"


def test_an_import_is_one_change_that_can_be_taken_back(filled: Person, ben: Person, stored: Stored) -> None:
    before = stored()
    result = import_data(ben.db, BEN, exported(filled))
    entry = ben.last_change()
    assert (entry["action"], entry["audit_id"]) == ("import", result["audit_id"])
    assert json.loads(entry["detail"]) == {"counts": result["counts"], "skipped": result["skipped"]}
    assert ben.db.select("SELECT COUNT(*) FROM audit_log WHERE user_email = ?", [BEN])[0][0] == 1
    ben.undo()
    assert stored() == before


def test_a_users_own_types_and_domains_come_along(filled: Person, elsewhere: PKBDatabase) -> None:
    TypeCatalog(elsewhere, ANN).add("quote", "My own label")
    rows = [*exported(filled)["data"]["catalogs"], {"kind": "type", "name": "fact", "display_name": "Mine"}]
    assert import_data(elsewhere, ANN, payload(catalogs=rows))["counts"]["catalogs"] == 1
    assert ("quote", "My own label", 0) in TypeCatalog(elsewhere, ANN).list()
    assert ("fact", "Fact", 0) in TypeCatalog(elsewhere, ANN).list()
    assert ("garden", "Garden", 0) in DomainCatalog(elsewhere, ANN).list()


def test_rows_that_lead_nowhere_are_left_out_and_counted(ann: Person) -> None:
    claim = Claim.create("x", "fact", "health").to_dict()
    one, both = claim["claim_id"], {"created_at": None, "link_type": "supersedes"}
    links = [
        {"link_id": "a", "from_claim_id": one, "to_claim_id": "nothing", **both},
        {"link_id": "b", "from_claim_id": one, "to_claim_id": one, **both},
    ]
    ties = [{"claim_id": one, "tag_id": "nothing"}]
    contexts = [Context.create("Orphan", None, "nothing").to_dict()]
    result = import_data(
        ann.db, ANN, payload(claims=[claim, claim], claim_links=links, claim_tags=ties, contexts=contexts)
    )
    assert (result["counts"]["claims"], result["counts"]["contexts"]) == (1, 1)
    skipped = {table: number for table, number in result["skipped"].items() if number}
    assert skipped == {"claims": 1, "claim_links": 2, "claim_tags": 1}
    assert [context.name for context in ann.contexts.get_children()] == ["Orphan"]


def test_times_are_stored_as_times_are_here(ann: Person) -> None:
    row = Claim.create("x", "fact", "health").to_dict() | {
        "created_at": "2024-05-01T12:00:00+02:00",
        "updated_at": "2024-05-02",
    }
    import_data(ann.db, ANN, payload(claims=[row]))
    claim = ann.claims.list()[0]
    assert (claim.created_at, claim.updated_at) == ("2024-05-01T10:00:00.000000Z", "2024-05-02T00:00:00.000000Z")


def test_columns_that_nobody_knows_and_those_that_are_missing_do_no_harm(ann: Person) -> None:
    claim = {"claim_id": "c-1", "statement": "x", "claim_type": "fact", "context_domain": "health", "mood": "good"}
    import_data(ann.db, "ann@example.org", {"data": {"claims": [claim], "moods": [1], "notes": None}})
    stored = ann.claims.get("c-1")
    assert stored is not None
    assert (stored.status, stored.all_types, stored.all_domains) == ("active", ["fact"], ["health"])


GOOD = {"claim_id": "c", "statement": "x", "claim_type": "fact", "context_domain": "health"}
ONE, TWO = ({"tag_id": "1", "name": "a", "parent_tag_id": "2"}, {"tag_id": "2", "name": "b", "parent_tag_id": "1"})
MALFORMED: list[tuple[Any, str]] = [
    (None, '"data" is missing'),
    ([], '"data" is missing'),
    ("{}", '"data" is missing'),
    ({}, '"data" is missing'),
    ({"data": []}, '"data" is missing'),
    ({"pkb_export_version": 2, "data": {}}, "version 2"),
    (payload(claims={}), '"data.claims" is no list'),  # type: ignore[arg-type]
    (payload(claims=[GOOD, 5]), r'"data.claims\[1\]" is no object'),
    (payload(claims=[GOOD | {"claim_id": None}]), "claim_id is empty"),
    (payload(claims=[GOOD | {"claim_id": 5}]), "claim_id is empty"),
    (payload(claims=[GOOD | {"statement": " "}]), r'"data.claims\[0\]": The statement is empty'),
    (payload(claims=[GOOD | {"statement": {}}]), "statement"),
    (payload(claims=[GOOD | {"claim_type": "a b c!"}]), "type"),
    (payload(claims=[GOOD | {"claim_types": "nonsense"}]), "types"),
    (payload(claims=[GOOD | {"status": "gone"}]), "status"),
    (payload(claims=[GOOD | {"confidence": 7}]), "confidence"),
    (payload(claims=[GOOD | {"meta_json": "[1]"}]), "JSON object"),
    (payload(claims=[GOOD | {"created_at": "yesterday"}]), "yesterday"),
    (payload(claims=[GOOD | {"created_at": "0001-01-01T00:00:00+14:00"}]), "time"),
    (payload(claims=[GOOD | {"friendly_id": ["x"]}]), "friendly_id"),
    (payload(aliases=[{"kind": "note", "alias": "x", "thing_id": "n"}]), "has aliases"),
    (payload(aliases=[{"kind": "tag", "alias": " ", "thing_id": "t"}]), "alias is empty"),
    (payload(claims=[GOOD | {"source_activity_id": 5}]), "source"),
    (payload(notes=[{"note_id": "n", "body": ""}]), r"data.notes\[0\]"),
    (payload(entities=[{"entity_id": "e", "name": "x"}]), r"data.entities\[0\]"),
    (payload(tags=[{"tag_id": "t", "name": "x" * 300}]), r"data.tags\[0\]"),
    (payload(tags=[ONE, TWO]), "data.tags.*below themselves"),
    (payload(contexts=[{"context_id": "c", "name": "x", "description": 5}]), r"data.contexts\[0\]"),
    (payload(claim_tags=[{"claim_id": "c"}]), "tag_id is empty"),
    (payload(claim_entities=[{"claim_id": "c", "entity_id": "e", "role": "<b>"}]), "no role"),
    (payload(claim_links=[{"link_id": "l", "from_claim_id": "a", "to_claim_id": "b"}]), "kind of link is empty"),
    (payload(conflict_sets=[{"conflict_set_id": "s", "status": "lost"}]), "status"),
    (payload(catalogs=[{"kind": "mood", "name": "good"}]), "mood"),
    (payload(catalogs=[{"kind": "type", "display_name": "Good"}]), "type is empty"),
]


@pytest.mark.parametrize(("given", "problem"), MALFORMED)
def test_what_is_malformed_is_named_and_nothing_is_stored(
    ann: Person, stored: Stored, given: Any, problem: str
) -> None:
    before = stored()
    if isinstance(given, dict) and isinstance(given.get("data"), dict):
        given["data"].setdefault("notes", [{"note_id": "fine", "body": "fine"}])
    with pytest.raises(InvalidKnowledgeError, match=problem):
        import_data(ann.db, ANN, given)
    assert stored() == before
    assert ann.last_change() is None


def test_there_is_one_way_to_import(ann: Person) -> None:
    with pytest.raises(InvalidKnowledgeError, match="replace"):
        import_data(ann.db, ANN, payload(), mode="replace")


def test_a_large_import_takes_no_more_statements_than_a_small_one(db: PKBDatabase) -> None:
    def statements(user: str, count: int) -> int:
        rows = [Claim.create(f"statement {number}", "fact", "health").to_dict() for number in range(count)]
        tags = [Tag.create(f"tag {number}").to_dict() for number in range(count)]
        ties = [{"claim_id": row["claim_id"], "tag_id": tag["tag_id"]} for row, tag in zip(rows, tags, strict=True)]
        before = db.statements
        assert import_data(db, user, payload(claims=rows, tags=tags, claim_tags=ties))["counts"]["claim_tags"] == count
        return db.statements - before

    # A readable id made anew may by chance be taken, which costs one statement more.
    assert statements(ANN, 2000) <= statements(BEN, 2) + 3
