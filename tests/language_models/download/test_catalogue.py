"""The catalogue of embedded models."""

from __future__ import annotations

import re

import pytest

from language_models.download.catalogue import CatalogueEntry, HubSource, PackageSource, entries, entry_named


def test_without_a_name_the_larger_model_is_meant() -> None:
    assert entry_named("").name == "qwen2.5-coder-1.5b-instruct"
    assert entry_named("", work="chat").name == "qwen2.5-coder-1.5b-instruct"


def test_a_model_is_found_among_those_that_do_its_work() -> None:
    assert entry_named("", work="embedding").name == "all-minilm-l6-v2"
    assert entry_named("embedding").name == "all-minilm-l6-v2"
    with pytest.raises(ValueError, match=r"'small' is not in the catalogue; there are all-minilm-l6-v2 \(embedding\)$"):
        entry_named("small", work="embedding")
    with pytest.raises(ValueError, match=r"give the path of a \.gguf file"):
        entry_named("embedding", work="chat")


@pytest.mark.parametrize("name", ["small", "SMALL", "0.5b", "qwen2.5-coder-0.5b-instruct"])
def test_a_model_is_found_by_name_and_by_alias(name: str) -> None:
    assert entry_named(name).name == "qwen2.5-coder-0.5b-instruct"


def test_an_unknown_name_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"'huge' is not in the catalogue.*1\.5b-instruct.*small"):
        entry_named("huge")


def test_no_two_models_share_a_name_or_a_file() -> None:
    names = [name for entry in entries() for name in (entry.name, *entry.aliases)]
    assert len(names) == len(set(names))
    assert len({entry.file for entry in entries()}) == len(entries())


PARTS = [part for entry in entries() for part in entry.parts]


@pytest.mark.parametrize("entry", PARTS, ids=lambda entry: entry.name)
def test_each_file_can_be_had_as_packages_and_is_checked(entry: CatalogueEntry) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256)
    assert entry.size > 0
    assert entry.licence == "Apache-2.0"
    packages = entry.sources[-1]
    assert isinstance(packages, PackageSource)
    assert re.fullmatch(r"[\w-]+==[\d.]+", packages.requirement(1).replace("{number}", ""))


def test_files_do_not_share_what_is_noted_beside_them() -> None:
    assert len({part.file.rpartition(".")[0] for part in PARTS}) == len(PARTS)


CHAT = [entry for entry in entries() if entry.work == "chat"]


@pytest.mark.parametrize("entry", CHAT, ids=lambda entry: entry.name)
def test_a_model_that_answers_can_be_had_from_its_publisher(entry: CatalogueEntry) -> None:
    assert entry.file.endswith(".gguf")
    hub, packages = entry.sources
    assert isinstance(hub, HubSource)
    assert hub.url.startswith("https://")
    assert hub.url.endswith(entry.file)
    assert isinstance(packages, PackageSource)


def test_a_package_source_pins_each_of_its_parts() -> None:
    source = PackageSource(package="some-part{number}", version="1.2", count=12)
    assert [source.requirement(number) for number in (1, 12)] == ["some-part1==1.2", "some-part12==1.2"]
