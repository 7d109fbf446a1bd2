"""The embedded embedding model: what it makes of texts, and what happens while it is not there."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from language_models.download.catalogue import CatalogueEntry, HubSource, entry_named
from language_models.embedded import embeddings
from language_models.embedded.embeddings import EmbeddedEmbeddingModel
from language_models.errors import ModelFailedError, ModelUnavailableError
from settings import load_settings
from tests.language_models.download.model_sources import CONTENT, Publisher, entry_with

NOBODY = HubSource(url="http://127.0.0.1:9/tiny.onnx")
ENTRY = entry_named("", work="embedding")
WORDS = [
    "dogs",
    "bark",
    "at",
    "the",
    "moon",
    "while",
    "taxes",
    "rise",
    "and",
    "bread",
    "bakes",
    "slowly",
    "in",
    "ovens",
]


def sentences(count: int) -> list[str]:
    """Texts of 1 to 60 words, always the same."""
    chance = random.Random(3)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 60))) for _ in range(count)]


@pytest.fixture(scope="module")
def model() -> EmbeddedEmbeddingModel:
    """The real one, from the folder of fetched models."""
    return EmbeddedEmbeddingModel(ENTRY, folder=load_settings().model_dir)


@pytest.fixture
def unusable(tmp_path: Path) -> Iterator[Callable[..., EmbeddedEmbeddingModel]]:
    """Makes models whose files are no models; those that nobody delivers, where no source is given."""
    made: list[EmbeddedEmbeddingModel] = []

    def make(source: HubSource = NOBODY) -> EmbeddedEmbeddingModel:
        tokenizer = dataclasses.replace(entry_with(source), name="tiny-tokenizer", file="tiny-tokenizer.json")
        entry = dataclasses.replace(entry_with(source), companions=(tokenizer,))
        made.append(EmbeddedEmbeddingModel(entry, folder=tmp_path))
        return made[-1]

    yield make
    for each in made:
        asyncio.run(each.aclose())


def until(condition: Callable[[], bool]) -> None:
    """Return when it holds."""
    late = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < late, "it never came"
        time.sleep(0.01)


@pytest.mark.embedded
def test_each_text_becomes_a_vector_of_length_one(model: EmbeddedEmbeddingModel) -> None:
    vectors = model.embed(["a dog", "a puppy", "tax law"])
    assert (vectors.shape, vectors.dtype) == ((3, model.dimensions), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert model.state().phase == "ready"


@pytest.mark.embedded
def test_what_means_the_same_is_near(model: EmbeddedEmbeddingModel) -> None:
    dog, puppy, law = model.embed(["a dog", "a puppy", "tax law"])
    assert dog @ puppy > dog @ law + 0.3
    tea, coffee, table = model.embed(["I never drink coffee", "No coffee for me, please", "React tables are slow"])
    assert tea @ coffee > tea @ table + 0.3


@pytest.mark.embedded
def test_the_same_text_has_the_same_vector_alone_and_among_others(model: EmbeddedEmbeddingModel) -> None:
    texts = sentences(70)
    together = model.embed(texts)
    assert np.array_equal(together, model.embed(texts))
    alone = np.concatenate([model.embed([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-3


@pytest.mark.embedded
def test_no_texts_are_no_vectors(model: EmbeddedEmbeddingModel) -> None:
    assert model.embed([]).shape == (0, model.dimensions)


@pytest.mark.embedded
@pytest.mark.parametrize(
    "text", ["", " ", "\0", "\ud800", "naïve 日本語 مرحبا 👩\u200d👧", "x" * 10_000, "and so on " * 1_000]
)
def test_any_text_has_a_vector(model: EmbeddedEmbeddingModel, text: str) -> None:
    (vector,) = model.embed([text])
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.embedded
def test_of_a_long_text_the_beginning_counts(model: EmbeddedEmbeddingModel) -> None:
    beginning = "Dogs bark at the moon. " * 60
    short, longer, other = model.embed([beginning, beginning + "Tax law is dry. " * 500, "Tax law is dry. " * 500])
    assert short @ longer > 0.999
    assert short @ other < 0.5


@pytest.mark.embedded
def test_threads_that_ask_first_at_the_same_time_share_one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    real = embeddings.SentenceEncoder

    def count(**files: Path) -> object:
        loaded.append(files)
        return real(**files)

    monkeypatch.setattr(embeddings, "SentenceEncoder", count)
    model = EmbeddedEmbeddingModel(ENTRY, folder=load_settings().model_dir)
    together = threading.Barrier(2)

    def ask(texts: list[str]) -> object:
        together.wait(60)
        return model.embed(texts)

    texts = sentences(40)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(ask, [texts, texts])
    assert len(loaded) == 1
    assert np.array_equal(first, second)


@pytest.mark.embedded
def test_a_damaged_copy_of_the_real_model_is_never_loaded(tmp_path: Path) -> None:
    for part in ENTRY.parts:
        shutil.copy(load_settings().model_dir / part.file, tmp_path)
    with (tmp_path / ENTRY.file).open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"\0" * 64)
    without_sources = dataclasses.replace(ENTRY, sources=(NOBODY,))
    model = EmbeddedEmbeddingModel(without_sources, folder=tmp_path)
    with pytest.raises(ModelUnavailableError):
        model.embed(["a dog"])
    until(lambda: model.state().phase == "failed")
    asyncio.run(model.aclose())


def test_while_it_is_not_there_it_says_so_and_is_fetched(unusable: Callable[..., EmbeddedEmbeddingModel]) -> None:
    with Publisher().serving() as publisher:
        publisher.is_silent = True
        model = unusable(publisher.source)
        assert model.state().phase == "waiting"
        with pytest.raises(ModelUnavailableError, match="is being fetched"):
            model.embed(["a dog"])
        until(lambda: bool(publisher.ranges))
        assert model.state().phase == "fetching"
        asyncio.run(model.aclose())


def test_one_that_nobody_delivers_says_what_to_do_and_is_not_asked_for_all_day(
    unusable: Callable[..., EmbeddedEmbeddingModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = unusable()
    model.start()
    until(lambda: model.state().phase == "failed")
    assert "Check the network, or put the file at" in model.state().detail
    asked = 0

    def count(_entry: CatalogueEntry, **_how: object) -> None:
        nonlocal asked
        asked += 1

    monkeypatch.setattr(embeddings.fetch, "fetch", count)
    with pytest.raises(ModelUnavailableError, match="Check the network"):
        model.embed(["a dog"])
    assert asked == 0
    monkeypatch.setattr(embeddings, "_RETRY_SECONDS", 0.0)
    model.start()
    until(lambda: model.state().phase == "waiting")
    assert asked == 1


def test_a_damaged_file_is_refused_and_fetched_again(
    unusable: Callable[..., EmbeddedEmbeddingModel], tmp_path: Path
) -> None:
    with Publisher().serving() as publisher:
        model = unusable(publisher.source)
        (tmp_path / "tiny-tokenizer.json").write_bytes(CONTENT)
        (tmp_path / "tiny.gguf").write_bytes(CONTENT[::-1])
        with pytest.raises(ModelUnavailableError, match="is being fetched"):
            model.embed(["a dog"])
        until(lambda: model.state().phase == "waiting")
        assert (tmp_path / "tiny.gguf").read_bytes() == CONTENT
        assert publisher.ranges == [""]


def test_files_that_are_no_model_are_said_not_to_load(
    unusable: Callable[..., EmbeddedEmbeddingModel], tmp_path: Path
) -> None:
    for name in ("tiny-tokenizer.json", "tiny.gguf"):
        (tmp_path / name).write_bytes(CONTENT)
    model = unusable()
    with pytest.raises(ModelUnavailableError, match="can't be loaded: is there memory enough"):
        model.embed(["a dog"])
    assert model.state().phase == "failed"


def test_without_its_packages_it_says_which_is_missing(
    unusable: Callable[..., EmbeddedEmbeddingModel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(**_files: Path) -> None:
        raise ModuleNotFoundError("No module named 'onnxruntime'")

    monkeypatch.setattr(embeddings, "SentenceEncoder", missing)
    for name in ("tiny-tokenizer.json", "tiny.gguf"):
        (tmp_path / name).write_bytes(CONTENT)
    with pytest.raises(ModelUnavailableError, match=r"requirements\.txt.*onnxruntime"):
        unusable().embed(["a dog"])


def test_a_runtime_that_stumbles_raises_a_typed_error(
    unusable: Callable[..., EmbeddedEmbeddingModel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stumbling:
        def __init__(self, **_files: Path) -> None:
            pass

        def encode(self, _texts: list[str]) -> None:
            raise RuntimeError("no memory")

    monkeypatch.setattr(embeddings, "SentenceEncoder", Stumbling)
    for name in ("tiny-tokenizer.json", "tiny.gguf"):
        (tmp_path / name).write_bytes(CONTENT)
    with pytest.raises(ModelFailedError, match="could not embed: no memory"):
        unusable().embed(["a dog"])


def test_a_folder_that_can_t_be_read_is_named(
    unusable: Callable[..., EmbeddedEmbeddingModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_args: object, **_how: object) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(embeddings.fetch, "is_whole", refused)
    with pytest.raises(ModelUnavailableError, match="can't be read: Permission denied"):
        unusable().embed(["a dog"])
