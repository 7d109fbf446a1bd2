"""A made-up vault for measuring: Markdown as Obsidian keeps it, the same from the same seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from .words import TextMaker

_SEED = 20260208
_FOLDERS = ("daily", "projects/garden", "projects/house", "people", "reading", "recipes", "travel", "inbox")
_PARAGRAPH = 350


def make_documents(root: Path, *, documents: int, characters: int) -> list[str]:
    """Write so many documents of about so many characters below `root`; their paths.

    Each has front matter, headings, and links to others: plain, with an alias, with a heading, and to a document that
    is not there. Beside them lie folders that a vault passes over.
    """
    random = Random(_SEED)
    maker = TextMaker(random)
    names = [f"{maker.title()} {number}" for number in range(documents)]
    paths = [f"{random.choice(_FOLDERS)}/{name}.md" for name in names]
    for hidden in (".obsidian", ".trash"):
        (root / hidden).mkdir(parents=True, exist_ok=True)
        (root / hidden / "workspace.md").write_text("Passed over.", encoding="utf-8")
    for path, name in zip(paths, names, strict=True):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(document_text(name, names, random, maker, characters=characters), encoding="utf-8")
    return paths


def document_text(name: str, names: Sequence[str], random: Random, maker: TextMaker, *, characters: int) -> str:
    """A document called `name` with links to some of `names`."""
    front = f"---\naliases: [{name.lower()}]\ntags: [{random.choice(_FOLDERS)}]\n---\n\n# {name}\n\n"
    paragraphs, links = [front], _links(names, random)
    while sum(map(len, paragraphs)) < characters:
        heading = f"## {maker.title()}\n\n" if len(paragraphs) % 3 == 0 else ""
        paragraphs.append(f"{heading}{maker.text(_PARAGRAPH)} See {next(links)}.\n\n")
    return "".join(paragraphs)


def _links(names: Sequence[str], random: Random) -> Iterator[str]:
    while True:
        name = random.choice(names)
        yield random.choice((f"[[{name}]]", f"[[{name}|there]]", f"[[{name}#{name}]]", f"[[{name} that never was]]"))
