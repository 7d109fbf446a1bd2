"""The three tiers of tests: `make check`, `make test` and `make proofs`; the variable TEST_TIER says which one runs.

A plain `pytest` runs in the tier of `make test`. The higher the tier, the more examples and kills. Markers choose the
tests: `live` ones start processes, `thorough` ones take long for what an everyday change risks (attacks, load, old
stores): both are left out of `make check`. `proof` ones run in `make proofs` alone.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TIER = os.environ.get("TEST_TIER", "test")
KILLS = {"check": 12, "test": 12, "proofs": 200}[TIER]

_EXAMPLES = {"check": 0.25, "test": 0.5, "proofs": 20}[TIER]
_USUAL_EXAMPLES = 100
_ROOT = Path(__file__).resolve().parent.parent
# Folders and modules whose tests are left out of `make check`: they try what an everyday change hardly touches, start
# other programs, or wait for what fails to be tried again. Modules elsewhere say `pytestmark = pytest.mark.thorough`.
_THOROUGH = (
    "tests/attachments/test_extraction.py",
    "tests/attack/",
    "tests/benchmarks/",
    "tests/chat/context/test_memories_failing.py",
    "tests/chat/processes/",
    "tests/chat/context/test_knowledge.py",
    "tests/chat/runtime/test_upkeep.py",
    "tests/chat/tools/foreign/",
    "tests/chat/turns/test_following.py",
    "tests/commands/test_data.py",
    "tests/commands/test_mcp_servers.py",
    "tests/commands/test_migrate.py",
    "tests/commands/test_shell.py",
    "tests/database/engine/test_postgresql.py",
    "tests/database/maintenance/",
    "tests/database/test_many_people.py",
    "tests/deploy/",
    "tests/endpoints/accounts/test_account_deletion.py",
    "tests/endpoints/accounts/test_openid_login.py",
    "tests/endpoints/attachments/",
    "tests/endpoints/export/",
    "tests/endpoints/imports/",
    "tests/endpoints/tool_servers/",
    "tests/language_models/download/",
    "tests/language_models/embedded/",
    "tests/language_models/openai/test_chat.py",
    "tests/load/",
    "tests/portability/",
    "tests/search/things/test_files.py",
    "tests/test_documentation.py",
    "tests/test_tracing.py",
    "tests/truth_management_system/test_postgresql.py",
    "tests/vault/test_upkeep.py",
)
# Folders and modules whose tests say nothing of the packages that coverage is measured of, or what other tests of those
# packages say, too: coverage is a lower bound.
_UNMEASURED = (
    "tests/attachments/",
    "tests/attack/",
    "tests/benchmarks/",
    "tests/commands/test_activity.py",
    "tests/commands/test_agents.py",
    "tests/commands/test_answering.py",
    "tests/commands/test_chat.py",
    "tests/commands/test_imports.py",
    "tests/commands/test_inbox.py",
    "tests/commands/test_mcp.py",
    "tests/commands/test_mcp_servers.py",
    "tests/commands/test_migrate.py",
    "tests/commands/test_models.py",
    "tests/commands/test_shell.py",
    "tests/database/",
    "tests/deploy/",
    "tests/endpoints/export/test_files_taken_along.py",
    "tests/endpoints/export/test_longer_export_imported.py",
    "tests/endpoints/http/test_query_plans.py",
    "tests/language_models/",
    "tests/load/",
    "tests/mutations/",
    "tests/portability/",
    "tests/search/",
    "tests/test_architecture.py",
    "tests/test_documentation.py",
    "tests/test_knowledge_questions.py",
    "tests/test_named_in_documents.py",
    "tests/test_requirements.py",
    "tests/test_screens.py",
    "tests/test_sentences.py",
    "tests/test_settings.py",
    "tests/test_setup.py",
    "tests/test_tracing.py",
    "tests/truth_management_system/crud/test_ownership.py",
    "tests/truth_management_system/interface/test_undoing.py",
    "tests/truth_management_system/test_query_counts.py",
)
# Contracts above stores whose own tests (`tests/database`, `tests/search`, `tests/truth_management_system`) say on both
# engines what differs between them. PostgreSQL's half of those above runs in `make proofs`.
_ABOVE_CONTRACTS = (
    "tests/activity/",
    "tests/benchmarks/",
    "tests/chat/",
    "tests/endpoints/",
    "tests/portability/",
    "tests/vault/",
)
# Those about races, and those that are the only tests of what they store or count.
_KEPT_ON_BOTH = (
    "test_account_deletion.py",
    "test_account_round_trip.py",
    "test_added_once.py",
    "test_created_once.py",
    "test_events.py",
    "test_idempotency.py",
    "test_inbox.py",
    "test_index.py",
    "test_invitations.py",
    "test_posting.py",
    "test_quotas.py",
    "test_runner.py",
    "test_settings.py",
    "test_short_ids.py",
    "test_tags.py",
)
# Whoever asks for one of these fixtures starts a server, a browser, or pip.
_STARTS_PROCESSES = frozenset({"start_server", "live_server", "shared_server", "browser", "pip_links"})
# What says in the text of a module that a test of it may have a marker.
_NAMED_BY = {
    "browser": r"mark\.browser\b",
    "contract": r"mark\.contract\b",
    "embedded": r"mark\.embedded\b",
    "live": rf"mark\.(live|browser|embedded)\b|\b({'|'.join(sorted(_STARTS_PROCESSES))})\b",
}


def examples(count: int = _USUAL_EXAMPLES, *, steps: int = 50) -> settings:
    """Hypothesis settings with `count` examples in `make test` and more or fewer in other tiers.

    steps: how long a run of a state machine is at most.
    Examples share the fixtures of their test, so such a test must not depend on what earlier examples left behind.
    """
    return settings(
        max_examples=max(5, round(count * _EXAMPLES)),
        stateful_step_count=steps,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


def load_hypothesis_profile() -> None:
    """No example has a deadline: machines are slow at times. Below the proofs every run tries the same examples."""
    settings.register_profile(
        TIER,
        deadline=None,
        derandomize=TIER != "proofs",
        max_examples=round(_USUAL_EXAMPLES * _EXAMPLES),
        print_blob=True,
    )
    settings.load_profile(TIER)


def on_postgresql(nodeid: str) -> pytest.ParameterSet | str:
    """PostgreSQL's half of a contract; one that `make test` leaves to `make proofs` has that marker."""
    module = nodeid.partition("::")[0]
    is_said_below = module.startswith(_ABOVE_CONTRACTS) and not module.endswith(_KEPT_ON_BOTH)
    return pytest.param("postgresql", marks=pytest.mark.proof) if is_said_below else "postgresql"


def names_marker(module: Path, name: str) -> bool:
    """Whether a test of `module` may have the marker, by the text of the module: importing all of them takes long.

    "measured", which is no marker, is what `unmeasured` ones are not.
    """
    if name in ("measured", "unmeasured"):
        is_below = module.relative_to(_ROOT).as_posix().startswith(_UNMEASURED)
        return not is_below if name == "measured" else is_below or names_marker(module, "contract")
    return re.search(_NAMED_BY[name], module.read_text(encoding="utf-8")) is not None


def require_named_markers(items: list[pytest.Item]) -> None:
    """Raises pytest.UsageError where a test has a marker that its module does not name: `--naming` would miss it."""
    for name in _NAMED_BY:
        for path in {item.path for item in items if item.get_closest_marker(name)}:
            if not names_marker(path, name):
                raise pytest.UsageError(f"{path}: a test is marked `{name}`, which its module does not say")


def mark_by_fixtures(items: list[pytest.Item]) -> None:
    """Mark what starts a server, a browser or pip, or asks the embedded model, as `live`; and what is `thorough`."""
    for item in items:
        if item.nodeid.startswith(_THOROUGH):
            item.add_marker("thorough")
        fixtures = _STARTS_PROCESSES.intersection(getattr(item, "fixturenames", ()))
        if fixtures or item.get_closest_marker("browser") or item.get_closest_marker("embedded"):
            item.add_marker("live")


def mark_unmeasured(items: list[pytest.Item]) -> None:
    """Mark as `unmeasured` what `.ci/run others` runs: coverage slows it, and tells nothing that other tests don't.

    These are the tests of packages that stand below the measured ones or beside them, and what both engines do alike on
    PostgreSQL, but for `chat`, which asks which engine it has. They run apart: where measuring stops for single tests,
    it has stopped for good in the threads that live on.
    """
    for item in items:
        call = getattr(item, "callspec", None)
        on_postgresql = call is not None and call.params.get("database_url") == "postgresql"
        if item.nodeid.startswith(_UNMEASURED) or (on_postgresql and not item.nodeid.startswith("tests/chat/")):
            item.add_marker("unmeasured")
