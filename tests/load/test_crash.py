"""Nothing is lost by a server that dies, however often and wherever in an answer it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes import RecordingModel
from tests.live_server import LiveServer
from tests.load.crash import CrashTest
from tests.tiers import KILLS

pytestmark = pytest.mark.live


def test_kills_in_mid_answer_lose_nothing_and_double_nothing(tmp_path: Path, recording_model: RecordingModel) -> None:
    server = LiveServer(tmp_path / "server", recording_model.environ, is_preloaded=True)
    test = CrashTest(server, recording_model, seed=20)
    try:
        test.run(kills=KILLS)
    finally:
        server.kill()
    assert test.outcomes["interrupted"] > KILLS
    assert test.outcomes["seen whole"] > KILLS
