"""Nothing is lost by a server that dies, however often and wherever in an answer it does."""

from __future__ import annotations

import pytest

from tests.fakes import RecordingModel
from tests.live_server import LiveServer
from tests.load.crash import CrashTest
from tests.scaled import is_scaled
from tests.tiers import KILLS

pytestmark = pytest.mark.live
OF_ALL_PROCESSES = 4
"""So many kills of two processes and their supervisor are one of the short tier."""


def test_kills_in_mid_answer_lose_nothing_and_double_nothing(
    live_server: LiveServer, recording_model: RecordingModel, request: pytest.FixtureRequest
) -> None:
    test = CrashTest(live_server, recording_model, seed=20)
    kills = KILLS // OF_ALL_PROCESSES if is_scaled(request.config) else KILLS
    test.run(kills=kills)
    assert test.outcomes["interrupted"] > kills
    assert test.outcomes["seen whole"] > kills
