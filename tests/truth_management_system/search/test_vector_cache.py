"""The vectors that searches compare with: in memory or in a file, and as new as the store."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.truth_management_system.search.conftest import ANN, BEN, Person
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system.database import PKBDatabase, get_memory_database
from truth_management_system.interface.erasure import erase_user
from truth_management_system.search import vector_cache
from truth_management_system.search.vector_cache import VectorCache, VectorSet, remove_files, sweep_files, vectors_of
from truth_management_system.search.vectors import EmbeddingIndexer


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written for few vectors already, and may lag behind by one."""
    monkeypatch.setattr(vector_cache, "WORTH_A_FILE", 3)
    monkeypatch.setattr(vector_cache, "slack", lambda count: 1)


def remember(person: Person, model: WordVectors, *statements: str) -> None:
    for statement in statements:
        person.claim(statement)
    EmbeddingIndexer(person.db, model).index_pending()


def vectors(person: Person, model: WordVectors) -> VectorSet:
    return VectorSet(db=person.db, user_email=person.email, model=model.name, dimensions=model.dimensions)


def nearest(cache: VectorCache, person: Person, model: WordVectors, text: str) -> str:
    """The statement whose vector is nearest to `text`."""
    (query,) = model.embed([text])
    seqs, similarities = cache.similarities(vectors(person, model), query)
    sql = "SELECT statement FROM claims JOIN claim_embeddings USING (claim_rowid) WHERE embedding_seq = ?"
    return str(person.db.select(sql, [int(seqs[int(np.argmax(similarities))])])[0][0])


def files(db: PKBDatabase) -> list[Path]:
    return sorted(db.config.path.with_suffix(".vectors").glob("*"))


def test_similarities_are_exact_cosines(ann: Person, model: WordVectors):
    remember(ann, model, "Tea in the morning", "Coffee at night")
    (query,) = model.embed(["Tea at night"])
    _, similarities = VectorCache().similarities(vectors(ann, model), query)
    expected = model.embed(["Coffee at night", "Tea in the morning"]) @ query
    assert np.allclose(np.sort(similarities), np.sort(expected), atol=2e-3)


def test_what_was_embedded_since_is_seen_at_once(ann: Person, model: WordVectors):
    cache = VectorCache()
    remember(ann, model, "Tea", "Coffee")
    assert nearest(cache, ann, model, "Zebra") in {"Tea", "Coffee"}
    remember(ann, model, "Zebra")
    assert nearest(cache, ann, model, "Zebra") == "Zebra"


def test_each_user_has_her_own(ann: Person, ben: Person, model: WordVectors):
    cache = VectorCache()
    remember(ann, model, "Tea")
    remember(ben, model, "Coffee", "Cake")
    (query,) = model.embed(["Tea"])
    assert len(cache.similarities(vectors(ann, model), query)[0]) == 1
    assert len(cache.similarities(vectors(ben, model), query)[0]) == 2


def test_few_vectors_need_no_file(ann: Person, model: WordVectors):
    remember(ann, model, "Tea", "Coffee")
    nearest(VectorCache(), ann, model, "Tea")
    assert files(ann.db) == []


@pytest.mark.usefixtures("small_files")
def test_many_vectors_lie_in_one_file_that_the_next_process_maps(ann: Person, model: WordVectors):
    remember(ann, model, "Tea", "Coffee", "Cake", "Bread")
    assert nearest(VectorCache(), ann, model, "Cake") == "Cake"
    (file,) = files(ann.db)
    written = file.stat().st_mtime_ns
    assert isinstance(vector_cache.load(vectors(ann, model)), np.memmap)
    assert nearest(VectorCache(), ann, model, "Bread") == "Bread"
    assert files(ann.db) == [file]
    assert file.stat().st_mtime_ns == written
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("small_files")
def test_a_file_that_lags_too_far_behind_is_written_anew(ann: Person, model: WordVectors):
    cache = VectorCache()
    remember(ann, model, "Tea", "Coffee", "Cake")
    assert nearest(cache, ann, model, "Tea") == "Tea"
    (file,) = files(ann.db)
    before = file.stat().st_size
    remember(ann, model, "Bread", "Butter", "Jam")
    assert nearest(cache, ann, model, "Jam") == "Jam"
    assert nearest(cache, ann, model, "Jam") == "Jam"
    assert file.stat().st_size > before


@pytest.mark.usefixtures("small_files")
def test_a_file_whose_vectors_are_gone_from_the_store_is_written_anew(ann: Person, model: WordVectors):
    remember(ann, model, "Tea", "Coffee", "Cake", "Bread")
    nearest(VectorCache(), ann, model, "Tea")
    before = files(ann.db)[0].stat().st_size
    ann.db.execute("DELETE FROM claim_embeddings WHERE embedding_seq <= 2")
    remaining = ann.db.select("SELECT COUNT(*) FROM claim_embeddings")[0][0]
    remember(ann, model)
    ann.db.execute("DELETE FROM claims WHERE statement = 'Tea'")
    assert remaining == 2
    assert nearest(VectorCache(), ann, model, "Cake") == "Cake"
    assert files(ann.db)[0].stat().st_size < before


@pytest.mark.usefixtures("small_files")
def test_a_store_that_was_put_back_and_went_another_way_gets_a_new_file(ann: Person, model: WordVectors):
    remember(ann, model, "Tea", "Coffee", "Cake")
    nearest(VectorCache(), ann, model, "Tea")
    other = {row[0]: model.embed([f"Other {row[0]}"])[0] for row in ann.db.select("SELECT claim_rowid FROM claims")}
    for rowid, vector in other.items():
        ann.db.execute(
            "UPDATE claim_embeddings SET vector = ? WHERE claim_rowid = ?", [vector.astype("<f2").tobytes(), rowid]
        )
    loaded = vector_cache.load(vectors(ann, model))
    assert np.allclose(np.sort(loaded["vector"][:, 0]), np.sort([each[0] for each in other.values()]), atol=1e-3)


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00"], ids=["empty", "text", "cut off"])
def test_a_damaged_file_is_written_anew(ann: Person, model: WordVectors, content: bytes):
    remember(ann, model, "Tea", "Coffee", "Cake")
    nearest(VectorCache(), ann, model, "Tea")
    (file,) = files(ann.db)
    file.write_bytes(content)
    assert nearest(VectorCache(), ann, model, "Tea") == "Tea"
    assert files(ann.db) == [file]
    assert file.stat().st_size > 700


@pytest.mark.usefixtures("small_files")
def test_where_no_file_can_be_written_the_vectors_stay_in_memory(
    ann: Person, model: WordVectors, caplog: pytest.LogCaptureFixture
):
    ann.db.config.path.with_suffix(".vectors").write_text("in the way")
    remember(ann, model, "Tea", "Coffee", "Cake")
    assert nearest(VectorCache(), ann, model, "Cake") == "Cake"
    assert "stay in memory" in caplog.text


@pytest.mark.usefixtures("small_files")
def test_a_write_that_breaks_off_leaves_nothing_behind(
    ann: Person, model: WordVectors, monkeypatch: pytest.MonkeyPatch
):
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    remember(ann, model, "Tea", "Coffee", "Cake")
    monkeypatch.setattr(np, "save", full)
    assert nearest(VectorCache(), ann, model, "Cake") == "Cake"
    assert files(ann.db) == []


@pytest.mark.contract
@pytest.mark.usefixtures("small_files")
def test_files_that_nothing_names_are_swept_once_they_are_old(ann: Person, model: WordVectors):
    remember(ann, model, "Tea", "Coffee", "Cake")
    nearest(VectorCache(), ann, model, "Cake")
    (used,) = files(ann.db)
    former, left, young = (used.with_name(name) for name in ("0123-former.npy", "tmp1.part", "tmp2.part"))
    for file in (former, left, young):
        file.touch()
    for file in (used, former, left):
        os.utime(file, (1, 1))
    assert sweep_files(ann.db) == 2
    assert files(ann.db) == sorted([used, young])


@pytest.mark.usefixtures("small_files")
def test_a_write_that_was_killed_leaves_nothing_of_an_erased_account(
    ann: Person, model: WordVectors, monkeypatch: pytest.MonkeyPatch
):
    remember(ann, model, "Tea", "Coffee", "Cake")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *_: None)  # what a kill leaves
        nearest(VectorCache(), ann, model, "Cake")
    assert [file.suffix for file in files(ann.db)] == [".part"]
    remove_files(ann.db, ANN)
    assert files(ann.db) == []


@pytest.mark.usefixtures("small_files")
def test_no_file_is_left_of_a_user_who_was_erased_while_it_was_written(
    ann: Person, model: WordVectors, monkeypatch: pytest.MonkeyPatch
):
    def erased_before(*args: object, **kwargs: object) -> None:
        erase_user(ann.db, ann.email)
        save(*args, **kwargs)

    remember(ann, model, "Tea", "Coffee", "Cake")
    save = np.save
    monkeypatch.setattr(np, "save", erased_before)
    assert len(vector_cache.load(vectors(ann, model))) == 3
    assert files(ann.db) == []


@pytest.mark.usefixtures("small_files")
def test_a_knowledge_base_in_memory_has_no_files(model: WordVectors):
    with get_memory_database() as database:
        ann = Person(database, ANN)
        remember(ann, model, "Tea", "Coffee", "Cake")
        assert nearest(VectorCache(), ann, model, "Cake") == "Cake"
        assert vectors(ann, model).path() is None


def test_vectors_of_another_length_do_not_count(ann: Person, model: WordVectors):
    remember(ann, model, "Tea", "Coffee")
    longer = WordVectors(name=model.name, dimensions=2 * model.dimensions)
    (query,) = longer.embed(["Tea"])
    assert len(VectorCache().similarities(vectors(ann, longer), query)[0]) == 0


def test_only_the_users_who_searched_last_are_kept(ann: Person, model: WordVectors, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vector_cache, "_USERS", 1)
    cache = VectorCache()
    ben = Person(ann.db, BEN)
    remember(ann, model, "Tea")
    remember(ben, model, "Coffee")
    assert nearest(cache, ann, model, "Tea") == "Tea"
    assert nearest(cache, ben, model, "Tea") == "Coffee"
    loaded: list[VectorSet] = []
    load = vector_cache.load
    monkeypatch.setattr(vector_cache, "load", lambda wanted: loaded.append(wanted) or load(wanted))
    nearest(cache, ben, model, "Tea")
    nearest(cache, ann, model, "Tea")
    assert [each.user_email for each in loaded] == [ANN]


def test_all_searches_of_one_knowledge_base_share_their_vectors(db: PKBDatabase):
    assert vectors_of(db) is vectors_of(db)
    with get_memory_database() as other:
        assert vectors_of(other) is not vectors_of(db)


def test_threads_that_search_while_others_prepare_see_whole_vectors(ann: Person, model: WordVectors):
    remember(ann, model, *(f"Tea {number}" for number in range(20)))
    cache, (query,) = VectorCache(), model.embed(["Tea 7"])

    def search(_: int) -> tuple[int, float]:
        seqs, similarities = cache.similarities(vectors(ann, model), query)
        assert len(set(seqs.tolist())) == len(seqs) == len(similarities)
        return len(seqs), float(similarities.max())

    def prepare(number: int) -> None:
        remember(ann, model, f"Coffee {number}")

    with ThreadPoolExecutor(6) as pool:
        prepared = [pool.submit(prepare, number) for number in range(10)]
        searched = list(pool.map(search, range(40)))
        assert [job.result() for job in prepared] == [None] * 10
    assert all(count >= 20 and best > 0.99 for count, best in searched)
    assert search(0)[0] == 30
