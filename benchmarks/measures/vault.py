"""What documents cost: indexed by words and links, followed while another program writes, embedded, put into a turn.

Those of one person are measured alone and among many, on both engines.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.made_up.documents import document_text, make_documents
from benchmarks.made_up.words import TextMaker
from chat.exchange.documents import DocumentLinks, documents_in, referenced_block
from database.accounts.users import create_user
from database.connection import close_store, open_database, open_store
from database.transfer.copying import renew_statistics
from database.vault.documents import Progress
from search.embedding import Embedder
from tests.live_server import PASSWORD
from vault.documents import Vault, Vaults
from vault.upkeep import VaultWatcher

from ..figures import Figure, of_samples, timed
from ..seeded import EMAIL, Bench
from .engines import WARM, Work, alone_and_among_many
from .knowledge import packaged_model

CHARACTERS = 3_000
FULL_CROWD, QUICK_CROWD = (100, 200), (20, 40)
"""People, and documents of each."""
_FEW_CHARACTERS = 1_000
_SEED = 20260209
_LINKS = 20
_CHANGES = 20
_SAMPLE_SECONDS = 60.0
_PATIENCE = 60.0
_WARM_TEXTS = ["warm"]
# Another program: it writes, renames or deletes one file each time it is told to.
_WRITER = """
import sys
from pathlib import Path
for line in sys.stdin:
    action, source, target = line.rstrip("\\n").split("\\t")
    if action == "write": Path(target).write_bytes(Path(source).read_bytes())
    if action == "rename": Path(source).rename(target)
    if action == "delete": Path(source).unlink()
"""


def vault(bench: Bench) -> Iterator[Figure]:
    """A vault of as many documents as the size says, of 3,000 characters each."""
    users_dir = bench.scratch("vault") / "users"
    users_dir.mkdir()
    database = open_store(str(users_dir))
    create_user(database=database, user_email=EMAIL, password=PASSWORD)
    model = packaged_model(bench)
    vaults = Vaults(database=database, embedding=lambda: model)
    own = vaults.of(EMAIL)
    paths = make_documents(own.root, documents=bench.size.documents, characters=CHARACTERS)
    yield from _indexing(own, len(paths))
    yield from _following(vaults, own, paths)
    yield from _finding(bench, own, paths)
    yield from _linking(bench, own, paths)
    yield from _embedding(vaults, own)
    close_store(str(users_dir))


def among_many(bench: Bench) -> Iterator[Figure]:
    """The documents of one person alone and among many who have as many, on both engines, in turn with each other."""
    people, count = QUICK_CROWD if bench.size.name == "quick" else FULL_CROWD
    clocks = dict.fromkeys(("SQLite", "PostgreSQL"), time.perf_counter)
    with ExitStack() as opened:

        def prepare(folder: Path, url: str | None, people: int) -> dict[str, list[Work]]:
            database = open_database(folder / "users", database_url=url)
            opened.callback(database.close)
            vaults = Vaults(database=database, embedding=lambda: None)
            owned = [_written(vaults, f"person-{each}@example.org", documents=count) for each in range(people)]
            renew_statistics(database)
            return _of_a_turn(*owned[people // 2], times=WARM + bench.times)

        among = f"{people * count:,} of {people}"
        yield from alone_and_among_many(bench, people=people, among=among, prepare=prepare, clocks=clocks)


def _written(vaults: Vaults, user_email: str, *, documents: int) -> tuple[Vault, list[str]]:
    """The vault of a new person, indexed, and the paths of its documents."""
    create_user(database=vaults.database, user_email=user_email, password=PASSWORD)
    own = vaults.of(user_email)
    paths = make_documents(own.root, documents=documents, characters=_FEW_CHARACTERS)
    for _ in own.refresh():
        pass
    return own, paths


def _of_a_turn(own: Vault, paths: list[str], *, times: int) -> dict[str, list[Work]]:
    """What a turn may ask of documents, by name: one piece of work for each sample."""
    random = Random(_SEED)
    some = [[f"[[{Path(path).stem}]]" for path in random.sample(paths, _LINKS)] for _ in range(times)]
    asked = [" ".join(random.sample(own.read(random.choice(paths)).text.split(), 2)) for _ in range(times)]
    return {
        f"{_LINKS} links resolved and put into a turn": [partial(_put, own, links, False) for links in some],
        "excerpts for two words": [partial(own.find_excerpts, query) for query in asked],
    }


def _indexing(own: Vault, count: int) -> Iterator[Figure]:
    begun = time.perf_counter()
    for _ in own.refresh():
        pass
    seconds = time.perf_counter() - begun
    assert own.progress() == Progress(documents=count, embedded=0)
    yield Figure(name=f"{count:,} documents found by words and linked", value=seconds, unit="s", budget=60.0)
    unchanged = timed(lambda: list(own.refresh()), times=5, warm=1)
    yield of_samples(f"{count:,} documents found unchanged", unchanged)
    yield of_samples("all links resolved, with broken ones", timed(own.links, times=5, warm=1))


def _following(vaults: Vaults, own: Vault, paths: list[str]) -> Iterator[Figure]:
    """From the write of another program until the index shows it; the watcher waits 0.2 s for further changes."""
    watcher = VaultWatcher(vaults)
    watcher.look()
    random = Random(_SEED)
    maker = TextMaker(random)
    lags = {"write": list[float](), "rename": list[float](), "delete": list[float]()}
    with subprocess.Popen([sys.executable, "-c", _WRITER], stdin=subprocess.PIPE, text=True, bufsize=1) as writer:
        assert writer.stdin is not None
        for number in range(_CHANGES):
            word = f"zucchini{number}"
            draft = own.root / ".trash" / f"{word}.md"
            draft.write_text(
                document_text(word, [Path(paths[0]).stem], random, maker, characters=CHARACTERS), encoding="utf-8"
            )
            old, new = own.root / f"inbox/{word}.md", own.root / f"people/{word} renamed.md"
            for action, source, target, shown in (
                ("write", draft, old, f"inbox/{word}.md"),
                ("rename", old, new, f"people/{word} renamed.md"),
                ("delete", new, new, None),
            ):
                writer.stdin.write(f"{action}\t{source}\t{target}\n")
                lags[action].append(_until(watcher, lambda: _is_shown(own, word, shown)))  # noqa: B023 - called at once
    for action, samples in lags.items():
        yield of_samples(f"another program's {action} found", samples)


def _is_shown(own: Vault, word: str, path: str | None) -> bool:
    return [excerpt.path for excerpt in own.find_documents(word, n=1)] == ([] if path is None else [path])


def _until(watcher: VaultWatcher, is_done: Callable[[], bool]) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    while not is_done():
        watcher.look()
        assert time.perf_counter() - begun < _PATIENCE, "the change was never found"
    return (time.perf_counter() - begun) * 1_000


def _finding(bench: Bench, own: Vault, paths: list[str]) -> Iterator[Figure]:
    random = Random(_SEED)
    asked = [" ".join(random.sample(own.read(path).text.split(), 2)) for path in random.choices(paths, k=bench.times)]
    queries = iter([*asked[:3], *asked])
    yield of_samples("excerpts for two words", timed(lambda: own.find_excerpts(next(queries)), times=len(asked)))


def _linking(bench: Bench, own: Vault, paths: list[str]) -> Iterator[Figure]:
    """The links of a message, resolved and put into the prompt: as lines for a model with tools, else whole."""
    links = [f"[[{Path(path).stem}]]" for path in Random(_SEED).sample(paths, _LINKS)]
    for word_for_word, how in ((False, "as lines"), (True, "word for word")):
        name = f"{_LINKS} links resolved and put into a turn, {how}"
        put = partial(_put, own, links, word_for_word)
        yield of_samples(name, timed(put, times=bench.times), budget=100.0)


def _put(own: Vault, links: list[str], word_for_word: bool) -> None:
    resolver = DocumentLinks(open_vault=lambda: own, word_for_word=word_for_word)
    found = resolver.resolve(links)
    block = referenced_block(documents_in(each.entry for each in found))
    assert block.count("\n- [[") == len(links)
    assert all(each.items for each in found) == word_for_word


def _embedding(vaults: Vaults, own: Vault) -> Iterator[Figure]:
    """Vectors of a sample by the embedded model, and how long all would take at that speed."""
    model = vaults.vectors.model()
    assert model is not None
    Embedder(model).embed(_WARM_TEXTS)
    begun = time.perf_counter()
    made = vaults.vectors.embed_pending(budget_seconds=_SAMPLE_SECONDS)
    seconds = time.perf_counter() - begun
    documents, embedded = own.progress()
    assert made == embedded
    speed = made / seconds
    yield Figure(name=f"documents embedded (a sample of {made})", value=speed, unit="documents/s")
    yield Figure(name=f"vectors of {documents:,} documents, extrapolated", value=documents / speed / 60, unit="min")
