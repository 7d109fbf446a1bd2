"""Announcements within one process reach whoever subscribed, and nobody else."""

from __future__ import annotations

import pytest

from chat.processes.announcements import LocalAnnouncements


def test_subscribers_hear_their_topic_until_they_end_it() -> None:
    announcements, heard = LocalAnnouncements(), list[bytes]()
    end = announcements.subscribe("turns", heard.append)
    announcements.announce("turns", b"one")
    announcements.announce("changes", b"another topic")
    end()
    end()
    announcements.announce("turns", b"too late")
    assert heard == [b"one"]


def test_a_subscriber_that_fails_is_logged_and_keeps_nobody_from_hearing(caplog: pytest.LogCaptureFixture) -> None:
    announcements, heard = LocalAnnouncements(), list[bytes]()

    def fail(_payload: bytes) -> None:
        raise RuntimeError("broken")

    announcements.subscribe("turns", fail)
    announcements.subscribe("turns", heard.append)
    announcements.announce("turns", b"one")
    assert heard == [b"one"]
    assert "a subscriber of turns failed" in caplog.text
