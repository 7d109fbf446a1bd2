"""The one writer takes jobs in order of urgency."""

from __future__ import annotations

import threading

from database.connection import open_store
from database.store import Urgency


def test_what_was_begun_comes_before_what_begins_and_indexing_comes_last(users_dir: str) -> None:
    store, order, gate = open_store(users_dir), list[str](), threading.Event()
    blocking = store.submit(lambda _: gate.wait(10))
    jobs = [
        store.submit(lambda _, urgency=urgency: order.append(urgency.name), urgency=urgency)
        for urgency in (Urgency.INDEX, Urgency.CHANGE, Urgency.ACCEPT, Urgency.STREAM, Urgency.ACCEPT)
    ]
    gate.set()
    assert blocking.result(10)
    for job in jobs:
        job.result(10)
    assert order == ["STREAM", "ACCEPT", "ACCEPT", "CHANGE", "INDEX"]
