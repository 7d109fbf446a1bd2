"""The seeder makes whole histories, and the same ones again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.made_up.groups import ENTITY, TAG, TREE
from benchmarks.made_up.history import SeedPlan, seed
from benchmarks.made_up.knowledge import DOMAIN, KnowledgePlan, seed_knowledge
from conversation_reference_utils import unique_message_short_hash
from database.accounts.users import get_user
from database.connection import close_store, open_store
from database.conversations.friendly_ids import backfill_friendly_ids
from database.conversations.listing import list_conversations
from database.engine.errors import InvalidChangeError, UserNotFoundError
from database.history.reading import list_messages
from database.search.indexing import index_pending
from database.turns.turns import accept_turn, finish_turn
from database.workspaces.repository import load_workspaces
from search.messages import search_conversation
from server import create_app
from settings import load_settings
from truth_management_system import PKBDatabase, StructuredAPI, get_memory_database
from truth_management_system.errors import InvalidKnowledgeError
from vault.documents import Vaults

EMAIL = "bench@example.org"
NEIGHBOUR = f"neighbour.{EMAIL}"
PLAN = SeedPlan(conversations=12, messages=400, chars=80, workspaces=5)
MEMORIES = KnowledgePlan(claims=2_000)


def seeded(folder: Path, plan: SeedPlan = PLAN) -> dict[str, str]:
    """Seed a store at `folder`; whose it is, as the functions of the store take it."""
    own = {"database": open_store(str(folder)), "user_email": EMAIL}
    assert list(seed(**own, plan=plan))[-1] == plan.messages
    return own


def everything(own: dict[str, str]) -> list[object]:
    """All conversations of an account with all their messages."""
    rows, _ = list_conversations(**own, domain="assistant")
    return [(row, list_messages(**own, conversation_id=row.conversation_id)) for row in rows]


@pytest.fixture(autouse=True)
def closed_stores(tmp_path):
    yield
    for folder in tmp_path.iterdir():
        close_store(folder)


def test_the_same_plan_makes_the_same_history(tmp_path):
    assert everything(seeded(tmp_path / "one")) == everything(seeded(tmp_path / "other"))


def test_as_many_are_made_as_were_asked_for(tmp_path):
    own = seeded(tmp_path / "users")
    rows, _ = list_conversations(**own, domain="assistant")
    assert sorted(row.message_count for row in rows) == [10] + [28] * 5 + [30] * 5 + [100]
    assert [len(list_messages(**own, conversation_id=row.conversation_id)) for row in rows] == [
        row.message_count for row in rows
    ]


def test_messages_have_the_length_that_was_asked_for(tmp_path):
    own = seeded(tmp_path / "users")
    rows, _ = list_conversations(**own, domain="assistant")
    assert {len(message.text) for message in list_messages(**own, conversation_id=rows[0].conversation_id)} == {80}


def test_folders_nest_and_one_of_them_is_full(tmp_path):
    own = seeded(tmp_path / "users")
    folders = load_workspaces(**own, domain="assistant")
    assert len(folders) == 6
    assert {folder["workspace_name"] for folder in folders if folder["parent_workspace_id"]} == {
        f"Folder {number}" for number in range(2, 6)
    }
    assert max(folder["conversation_count"] for folder in folders) >= 4
    assert sum(folder["conversation_count"] for folder in folders) == 12


def test_hashes_and_friendly_ids_are_those_that_a_life_would_have_given(tmp_path):
    own = seeded(tmp_path / "users")
    rows, _ = list_conversations(**own, domain="assistant")
    assert len({row.conversation_friendly_id for row in rows}) == 12
    for row in rows:
        taken: set[str] = set()
        for message in list_messages(**own, conversation_id=row.conversation_id):
            expected = unique_message_short_hash(row.conversation_friendly_id, message.text, taken)
            assert message.message_short_hash == expected
            taken.add(expected)


def test_a_seeded_conversation_goes_on_like_any_other(tmp_path):
    own = seeded(tmp_path / "users")
    rows, _ = list_conversations(**own, domain="assistant")
    where = own | {"conversation_id": rows[0].conversation_id}
    accepted = accept_turn(**where, text="And then?", config={})
    assert accepted.user_message_index == rows[0].message_count + 1
    finish_turn(
        **where, response_message_id=accepted.response_message_id, text="Then this.", status="complete", config={}
    )
    messages = list_messages(**where)
    assert [message.ordinal for message in messages] == list(range(1, rows[0].message_count + 3))


def test_seeded_messages_can_be_searched(tmp_path):
    own = seeded(tmp_path / "users")
    index_pending(database=open_store(own["database"].folder))
    rows, _ = list_conversations(**own, domain="assistant")
    message = list_messages(**own, conversation_id=rows[0].conversation_id)[3]
    found = search_conversation(**own, conversation_id=rows[0].conversation_id, q=message.text, limit=5)
    assert message.message_id in {row.message_id for row in found}


def test_a_store_of_before_friendly_ids_is_named_later(tmp_path):
    own = seeded(tmp_path / "users", SeedPlan(conversations=12, messages=120, chars=80, named=False))
    rows, _ = list_conversations(**own, domain="assistant")
    assert {row.conversation_friendly_id for row in rows} == {None}
    assert backfill_friendly_ids(**own, domain="assistant", all_messages=True) == 12
    rows, _ = list_conversations(**own, domain="assistant")
    assert len({row.conversation_friendly_id for row in rows} - {None}) == 12


def test_a_plan_without_a_message_for_each_conversation_is_refused(tmp_path):
    with pytest.raises(InvalidChangeError):
        list(
            seed(
                database=open_store(str(tmp_path / "users")),
                user_email=EMAIL,
                plan=SeedPlan(conversations=10, messages=12),
            )
        )


def test_a_plan_that_is_refused_leaves_no_account_behind(tmp_path):
    environ = {"ANAPHORA_DATA_DIR": str(tmp_path), "ANAPHORA_MAIN_MODEL": "none", "ANAPHORA_CHEAP_MODEL": "none"}
    settings = load_settings(environ, env_file=tmp_path / "none")
    command = ["bench", "seed", "--conversations", "10", "--messages", "12"]
    result = create_app(settings).test_cli_runner().invoke(args=command)
    assert result.exit_code == 1
    assert "too few" in result.output
    with pytest.raises(UserNotFoundError):
        get_user(database=open_store(settings.users_dir), user_email=EMAIL)


def test_an_account_with_conversations_is_left_alone(tmp_path):
    own = seeded(tmp_path / "users")
    with pytest.raises(InvalidChangeError):
        list(seed(**own, plan=PLAN))
    assert len(everything(own)) == 12


def test_the_command_seeds_the_store_of_its_settings(tmp_path):
    environ = {"ANAPHORA_DATA_DIR": str(tmp_path), "ANAPHORA_MAIN_MODEL": "none", "ANAPHORA_CHEAP_MODEL": "none"}
    settings = load_settings(environ, env_file=tmp_path / "none")
    app = create_app(settings, serves=False)
    command = ["bench", "seed", "--conversations", "12", "--messages", "400", "--chars", "80", "--workspaces", "5"]
    result = app.test_cli_runner().invoke(args=command)
    assert result.exit_code == 0, result.output
    assert "12 conversations with 400 messages" in result.output
    assert len(everything({"database": open_store(settings.users_dir), "user_email": EMAIL})) == 12
    again = app.test_cli_runner().invoke(args=command)
    assert again.exit_code == 1
    assert "has conversations already" in again.output


def test_the_command_seeds_documents_too(tmp_path):
    environ = {"ANAPHORA_DATA_DIR": str(tmp_path), "ANAPHORA_MAIN_MODEL": "none", "ANAPHORA_CHEAP_MODEL": "none"}
    settings = load_settings(environ, env_file=tmp_path / "none")
    command = ["bench", "seed", "--conversations", "0", "--documents", "12"]
    result = create_app(settings, serves=False).test_cli_runner().invoke(args=command)
    assert result.exit_code == 0, result.output
    assert "12 documents are bench@example.org's." in result.output
    own = Vaults(database=open_store(settings.users_dir)).of(EMAIL)
    assert own.progress().documents == 12


def test_without_the_folder_of_benchmarks_the_command_says_where_to_run_it(tmp_path, monkeypatch):
    """As in the container image, which does not have it."""
    environ = {"ANAPHORA_DATA_DIR": str(tmp_path), "ANAPHORA_MAIN_MODEL": "none", "ANAPHORA_CHEAP_MODEL": "none"}
    settings = load_settings(environ, env_file=tmp_path / "none")
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_WithoutBenchmarks(), *sys.meta_path])
    result = create_app(settings, serves=False).test_cli_runner().invoke(args=["bench", "seed"])
    assert (result.exit_code, type(result.exception)) == (1, SystemExit)
    assert "the folder `benchmarks` of the source code" in " ".join(result.output.split())
    with pytest.raises(UserNotFoundError):
        get_user(database=open_store(settings.users_dir), user_email=EMAIL)


class _WithoutBenchmarks:
    """Finds no package of this name, as where its folder is missing."""

    def find_spec(self, name, path=None, target=None):
        del path, target
        if name.partition(".")[0] == "benchmarks":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.fixture(scope="module")
def remembered() -> Iterator[PKBDatabase]:
    """A knowledge base with 2,000 claims."""
    with get_memory_database() as db:
        assert list(seed_knowledge(db, user_email=EMAIL, plan=MEMORIES))[-1] == 2_000
        yield db


def of(db: PKBDatabase, user_email: str) -> StructuredAPI:
    return StructuredAPI(db, {}, db.config, user_email)


def test_the_same_plan_makes_the_same_memories(remembered):
    with get_memory_database() as other:
        list(seed_knowledge(other, user_email=EMAIL, plan=MEMORIES))
        assert of(other, EMAIL).export_data().data["data"] == of(remembered, EMAIL).export_data().data["data"]


def test_a_thousandth_of_all_memories_is_a_neighbours(remembered):
    assert (of(remembered, EMAIL).claims.count(), of(remembered, NEIGHBOUR).claims.count()) == (1_998, 2)


@pytest.mark.parametrize(("reference", "count"), [(TREE, 400), (TAG, 200), (ENTITY, 200), (f"{DOMAIN}_domain", 200)])
def test_a_measured_group_holds_exactly_as_many_claims_as_it_should(remembered, reference, count):
    claims = of(remembered, EMAIL).resolve_reference(reference).data["claims"]
    assert len({claim.claim_id for claim in claims}) == count
    assert sorted(claim.claim_number for claim in claims)[-1] - min(claim.claim_number for claim in claims) > 1_900


def test_the_measured_tree_has_111_contexts(remembered):
    contexts = of(remembered, EMAIL).contexts
    root = contexts.get_by_friendly_id(TREE)
    branches = contexts.get_children(root.context_id)
    twigs = [twig for branch in branches for twig in contexts.get_children(branch.context_id)]
    assert 1 + len(branches) + len(twigs) == 111
    assert all(contexts.claim_counts([twig.context_id])[twig.context_id] for twig in twigs)


def test_the_largest_plan_measures_2000_claims_in_the_tree_and_200_in_each_group():
    plan = KnowledgePlan(claims=100_000)
    assert (plan.own, plan.neighbours, plan.tree, plan.group) == (99_900, 100, 2_000, 200)


def test_seeded_claims_are_numbered_named_and_varied(remembered):
    claims = of(remembered, EMAIL).claims.list(limit=-1, order_by="claim_number")
    assert [claim.claim_number for claim in claims] == list(range(1, 1_999))
    assert len({claim.friendly_id for claim in claims}) == 1_998
    assert len({claim.statement for claim in claims}) > 1_900
    assert len({claim.claim_type for claim in claims}) == 8
    assert {claim.status for claim in claims} == {"active", "superseded", "retracted", "historical"}


def test_a_superseded_claim_names_its_successor(remembered):
    api = of(remembered, EMAIL)
    old = next(claim for claim in api.claims.list({"status": "superseded"}, order_by="claim_number"))
    assert api.describe_claims([old])[0]["superseded_by"] is not None


def test_a_seeded_knowledge_base_goes_on_like_any_other():
    with get_memory_database() as db:
        list(seed_knowledge(db, user_email=EMAIL, plan=KnowledgePlan(claims=30)))
        api = of(db, EMAIL)
        added = api.add_claim("I keep bees", "fact", "personal", tags=["Bees"], auto_extract=False).data
        assert added.claim_number == 31
        assert api.search("keep bees", strategy="fts").data[0].claim == added


def test_an_account_with_memories_is_left_alone(remembered):
    with pytest.raises(InvalidKnowledgeError):
        list(seed_knowledge(remembered, user_email=EMAIL, plan=MEMORIES))
    assert of(remembered, EMAIL).claims.count() == 1_998


def test_the_command_seeds_memories_alone_where_no_conversations_are_wanted(tmp_path):
    environ = {"ANAPHORA_DATA_DIR": str(tmp_path), "ANAPHORA_MAIN_MODEL": "none", "ANAPHORA_CHEAP_MODEL": "none"}
    settings = load_settings(environ, env_file=tmp_path / "none")
    app = create_app(settings, serves=False)
    command = ["bench", "seed", "--conversations", "0", "--claims", "1000"]
    result = app.test_cli_runner().invoke(args=command)
    assert result.exit_code == 0, result.output
    assert f"999 memories are {EMAIL}'s, 1 a neighbour's" in result.output
    again = app.test_cli_runner().invoke(args=command)
    assert again.exit_code == 1
    assert "has memories already" in again.output
    app.extensions["anaphora"].knowledge.close()
