"""Plans wait for their user's word, and for nobody else's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.truth_management_system.ingestion.conftest import BEN, MakeApi
from truth_management_system import PKBConfig, PKBDatabase, StructuredAPI, TextIngestionDistiller, get_database
from truth_management_system.errors import PlanNotFoundError
from truth_management_system.ingestion.plans import PlanExecutedError, PlanStore, purge_plans

pytestmark = pytest.mark.contract

TEXT = "I am allergic to peanuts. My wife Anna likes tea."


def test_a_plan_survives_a_restart(tmp_path: Path) -> None:
    config = PKBConfig(db_path=tmp_path / "kept.sqlite")
    with get_database(config) as db:
        known = StructuredAPI(db, {}, config).add_claim("My wife Anna likes tea", auto_extract=False).data
        plan = TextIngestionDistiller(StructuredAPI(db, {}, config)).ingest_and_propose(TEXT)
    with get_database(config) as db:
        again = PlanStore(db).get(plan.plan_id)
        assert again.proposals == plan.proposals
        assert again.proposals[1].existing_claim == known
        assert (again.raw_text, again.expires_at, again.warnings) == (plan.raw_text, plan.expires_at, plan.warnings)
        result = TextIngestionDistiller(StructuredAPI(db, {}, config)).execute_plan(plan.plan_id)
    assert (result.added_count, result.skipped_count) == (1, 1)


def test_another_user_s_plan_is_none(make_api: MakeApi) -> None:
    plan = TextIngestionDistiller(make_api()).ingest_and_propose(TEXT)
    stranger = make_api(user_email=BEN)
    for given in (plan.plan_id, plan):
        with pytest.raises(PlanNotFoundError):
            TextIngestionDistiller(stranger).execute_plan(given)
    assert stranger.claims.count() == 0


def test_a_plan_expires_and_is_forgotten(make_api: MakeApi, db: PKBDatabase) -> None:
    short = TextIngestionDistiller(make_api(plan_ttl_hours=0.0))
    plan = short.ingest_and_propose(TEXT)
    with pytest.raises(PlanNotFoundError):
        short.execute_plan(plan.plan_id)
    short.ingest_and_propose("Another text is here.")
    assert db.select("SELECT COUNT(*) FROM plans WHERE plan_id = ?", [plan.plan_id])[0][0] == 0


def test_expired_plans_go_without_their_owner_coming_back(make_api: MakeApi, db: PKBDatabase) -> None:
    TextIngestionDistiller(make_api(plan_ttl_hours=0.0)).ingest_and_propose(TEXT)
    waiting = TextIngestionDistiller(make_api(user_email=BEN)).ingest_and_propose(TEXT)
    assert purge_plans(db) == 1
    assert db.select("SELECT plan_id FROM plans") == [(waiting.plan_id,)]
    assert purge_plans(db) == 0


def test_a_plan_is_carried_out_once(api: StructuredAPI) -> None:
    distiller = TextIngestionDistiller(api)
    plan = distiller.ingest_and_propose(TEXT)
    assert distiller.execute_plan(plan, "all").added_count == 2
    with pytest.raises(PlanExecutedError, match="carried out already"):
        distiller.execute_plan(plan, "all")
    assert api.claims.count() == 2


def test_a_plan_of_which_nothing_could_be_done_stays_open(api: StructuredAPI) -> None:
    distiller = TextIngestionDistiller(api)
    plan = distiller.ingest_and_propose(TEXT)
    nothing = distiller.execute_plan(plan, [{"index": 7}])
    assert (nothing.failed_count, nothing.audit_id) == (1, None)
    assert distiller.execute_plan(plan, [{"index": 0}]).added_count == 1
