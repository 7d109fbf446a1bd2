"""What is known of the texts that Claude writes: little more than each message wrote, however many there are."""

from __future__ import annotations

import tracemalloc

from portability.importers.reading.imported import ImportedToolCall
from portability.importers.reading.written_texts import Artifacts

_MESSAGES = 1_500


def made(path: str) -> ImportedToolCall:
    return ImportedToolCall("create_file", {"path": path, "file_text": "calm"})


def changed(path: str) -> ImportedToolCall:
    return ImportedToolCall("str_replace", {"path": path, "old_str": "calm", "new_str": "storm"})


def test_many_messages_that_each_write_a_file_need_little_memory():
    artifacts = Artifacts()
    tracemalloc.start()
    try:
        for number in range(_MESSAGES):
            artifacts.written(str(number), str(number - 1), [made(f"{number}.txt")])
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < _MESSAGES * 2_000


def test_a_change_finds_what_was_written_some_messages_before_and_looks_no_farther():
    artifacts = Artifacts()
    artifacts.written("0", None, [made("log.txt")])
    for number in range(1, 400):
        artifacts.written(str(number), str(number - 1), [made("other.txt")] if number % 2 else [])

    assert [each.text for each in artifacts.written("near", "390", [changed("log.txt")])] == ["storm"]
    for number in range(400, 500):
        artifacts.written(str(number), str(number - 1), [made("other.txt")])
    assert artifacts.written("far", "499", [changed("log.txt")]) == []


def test_a_message_that_follows_itself_or_a_later_one_knows_nothing_of_it():
    artifacts = Artifacts()
    artifacts.written("a", "b", [made("a.txt")])
    artifacts.written("b", "a", [made("b.txt")])

    assert artifacts.written("c", "c", [changed("a.txt")]) == []
    assert artifacts.written("d", "a", [changed("b.txt")]) == []
    assert [each.text for each in artifacts.written("e", "b", [changed("a.txt")])] == ["storm"]
