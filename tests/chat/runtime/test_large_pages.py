"""The memory of the interpreter in large pages."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from chat.runtime.large_pages import full_regions, settle_memory, use_large_pages

_FILLED = """
from chat.runtime.large_pages import use_large_pages
kept = [bytes([n % 256]) * 500 for n in range(60_000)]
assert use_large_pages() >= 0
assert all(text == bytes([n % 256]) * 500 for n, text in enumerate(kept))
kept += [bytes([n % 256]) * 500 for n in range(60_000)]
assert use_large_pages() >= 0
assert kept[:60_000] == kept[60_000:]
"""
_LISTED = """\
7f0000100000-7f0000a00000 rw-p 00000000 00:00 0
Size:               9216 kB
Rss:                8192 kB
7f0001000000-7f0001800000 rw-p 00000000 00:00 0
Size:               8192 kB
Rss:                 100 kB
7f0002000000-7f0002400000 r-xp 00000000 fe:00 77   /usr/lib/libpython3.11.so
Rss:                4096 kB
7f0003000000-7f0003400000 rw-p 00000000 fe:00 77   /usr/lib/libpython3.11.so
Rss:                4096 kB
7f0004000000-7f0004400000 rw-s 00000000 00:00 0
Rss:                4096 kB
7f0005000000-7f0005100000 rw-p 00000000 00:00 0
Rss:                1024 kB
7f0006000000-7f0006400000 rw-p 00000000 00:00 0    [heap]
Rss:                4096 kB
7f0007000000-7f0007400000 rw-p 00000000 00:00 0    [stack]
Rss:                4096 kB
"""


def test_large_pages_are_asked_for_where_memory_of_no_file_is_well_filled() -> None:
    assert list(full_regions(_LISTED.splitlines())) == [
        (0x7F0000200000, 0x7F0000A00000),
        (0x7F0006000000, 0x7F0006400000),
    ]


def test_what_lies_in_memory_is_the_same_afterwards_in_large_pages_and_small_ones() -> None:
    # How much of it lies in large pages is the system's matter: it may have none left the second time.
    ran = subprocess.run([sys.executable, "-c", _FILLED], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_memory_is_settled_once_in_a_process_soon_and_again_after_a_minute() -> None:
    scheduled: list[float] = []

    async def answer_twice() -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        at, call_at = loop.call_at, scheduled.append
        loop.call_at = lambda when, *rest, **more: (call_at(when - begun), at(when, *rest, **more))[1]  # type: ignore[method-assign]
        settle_memory()
        settle_memory()

    settle_memory.cache_clear()
    asyncio.run(answer_twice())
    settle_memory.cache_clear()
    assert [round(seconds) for seconds in scheduled] == [1, 60]


def test_a_system_without_large_pages_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert use_large_pages() == 0
