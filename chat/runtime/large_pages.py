"""The memory of the interpreter in large pages, where Linux has them.

A turn now and then touches thousands of small pages, whose addresses the processor has forgotten since the turn before;
on a virtual machine it takes several reads of memory to find each again. In pages of 2 MB there are a few dozen.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

_PAGE = 2 * 1024 * 1024
_COLLAPSE = 25
"""MADV_COLLAPSE of Linux 6.1; older ones refuse it, and all stays as it was."""
_MAPPED = Path("/proc/self/smaps")
_FULL_ENOUGH = 0.75
"""Of a region: what lies in small pages, and is not used, would take memory in a large one."""
_SETTLED_AFTER = (1.0, 60.0)
"""Seconds from the first call of `settle_memory` on: the second time, for what the first minute has made."""


@cache
def settle_memory() -> None:
    """Have the memory of this process in large pages soon, once it has what it needs; a no-op from the second call on.

    Called on the server's loop; the work is done in a thread.
    """
    loop = asyncio.get_running_loop()
    for seconds in _SETTLED_AFTER:
        loop.call_later(seconds, loop.run_in_executor, None, use_large_pages)


def use_large_pages() -> int:
    """Have what this process has in memory moved into large pages; how many bytes may lie in such pages now.

    Nothing changes for a program but the time that it takes. 0 where the system has no large pages or gives none.
    """
    if sys.platform != "linux" or not _MAPPED.exists():
        return 0
    advise = ctypes.CDLL(None, use_errno=True).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    moved = 0
    for start, end in full_regions(_MAPPED.read_text(encoding="utf-8", errors="replace").splitlines()):
        if advise(start, end - start, _COLLAPSE) == 0:
            moved += end - start
    return moved


def full_regions(lines: Iterable[str]) -> Iterator[tuple[int, int]]:
    """The regions of a listing like `/proc/self/smaps` that large pages fit into: private, of no file, well filled.

    The bounds are those of whole large pages.
    """
    start = end = 0
    for line in lines:
        words = line.split()
        if not words[0].endswith(":"):
            start, end = (int(bound, 16) for bound in words[0].split("-"))
            is_memory = words[1] == "rw-p" and (len(words) == 5 or words[5] == "[heap]")
            end = end if is_memory else start
        elif words[0] == "Rss:" and end > start and int(words[1]) * 1024 >= _FULL_ENOUGH * (end - start):
            first, last = -(-start // _PAGE) * _PAGE, end // _PAGE * _PAGE
            if last > first:
                yield first, last
