"""Wikilinks: where they are in a text, and which document they name, by the table of the documentation."""

from __future__ import annotations

import random
import re
import unicodedata

import pytest

from vault.content.markdown import parsed
from vault.content.resolution import Resolution, by_key, names_of, resolve
from vault.content.wikilinks import find_wikilinks, parse_wikilink
from vault.documents import graph_of

FILES = {
    "note.md": "# Note",
    "deep/er/Plan.md": "",
    "er/plan.md": "",
    "garden/beds/roses.md": "",
    "house/roses.md": "",
    "résumé.md": "",
    "Case.md": "",
    "x/case.md": "",
    "list.txt": "",
    "old.markdown": "",
    "named.md": "---\naliases: [Nick, other name]\ntitle: The Title\n---\n# First heading\n# Second heading",
    "second.md": "# Only heading",
}


@pytest.mark.parametrize(
    ("link", "path"),
    [
        ("[[note]]", "note.md"),
        ("[[note.md]]", "note.md"),
        ("[[ note ]]", "note.md"),
        ("[[NOTE]]", "note.md"),
        ("[[NOTE.MD]]", "note.md"),
        ("[[list]]", "list.txt"),
        ("[[old.markdown]]", "old.markdown"),
        (f"[[{unicodedata.normalize('NFD', 'résumé')}]]", "résumé.md"),
        ("[[beds/roses]]", "garden/beds/roses.md"),
        ("[[garden/beds/roses.md]]", "garden/beds/roses.md"),
        ("[[eds/roses]]", None),
        ("[[er/Plan]]", "deep/er/Plan.md"),
        ("[[note|a note]]", "note.md"),
        (r"[[note\|a note]]", "note.md"),
        ("[[note#nowhere]]", "note.md"),
        ("[[note#^block]]", "note.md"),
        ("[[Nick]]", "named.md"),
        ("[[other NAME]]", "named.md"),
        ("[[the title]]", "named.md"),
        ("[[First heading]]", "named.md"),
        ("[[Second heading]]", None),
        ("[[Only heading]]", "second.md"),
        ("![[note]]", "note.md"),
        ("[[nothing]]", None),
        ("[[]]", None),
        ("[[#h]]", None),
        ("[[no\nte]]", None),
        ("[[../note]]", None),
        ("[[/etc/passwd]]", None),
    ],
)
def test_a_link_leads_where_the_table_says(link, path):
    assert resolved([link], FILES)[0].path == path


@pytest.mark.parametrize(
    ("link", "source", "path"),
    [
        ("[[./note]]", "", None),
        ("[[./note]]", "plan.md", "note.md"),
        ("[[./note]]", "garden/plan.md", None),
        ("[[../note]]", "garden/plan.md", "note.md"),
        ("[[../NOTE.md#part|x]]", "garden/plan.md", "note.md"),
        ("[[../../note]]", "garden/plan.md", None),
        ("[[../../../note]]", "garden/beds/roses.md", None),
        ("[[./beds/roses]]", "garden/plan.md", "garden/beds/roses.md"),
        ("[[../beds/./roses]]", "garden/x/plan.md", "garden/beds/roses.md"),
        ("[[../../note]]", "garden/beds/roses.md", "note.md"),
        ("[[./roses]]", "plan.md", None),
        ("[[..]]", "garden/plan.md", None),
        ("[[./]]", "garden/plan.md", None),
        ("[[../the title]]", "garden/plan.md", None),
    ],
)
def test_a_relative_link_begins_in_the_folder_of_its_document(link, source, path):
    assert resolved([link], FILES, source=source)[0].path == path


def test_links_of_a_vault_are_relative_to_their_documents(vault, put):
    put({"a.md": "", "x/a.md": "", "x/y/b.md": "[[../a]] [[../../a]] [[./a]]"})
    assert [link.target for link in vault.links_of(vault.read("x/y/b.md"))] == ["x/a.md", "a.md", None]
    assert [link.wikilink for link in vault.backlinks("a.md")] == ["[[../../a]]"]
    assert [link.wikilink for link in graph_of(vault).broken] == ["[[./a]]"]


def test_pictures_and_other_files_are_no_broken_links(vault, put):
    files = "![[picture.png]] ![[x/Scan 1.JPG|300]] [[../paper.pdf#page=3]] [[./voice.m4a]] ![[plan.canvas]]"
    put({"a.md": f"{files} [[gone]] [[2.5]] [[.png]] [[shot.png.md]] [[kept.png]]", "kept.png.md": ""})
    links = vault.links_of(vault.read("a.md"))
    assert [link.is_file for link in links] == [True] * 5 + [False] * 5
    broken = ["[[gone]]", "[[2.5]]", "[[.png]]", "[[shot.png.md]]"]
    assert [(link.wikilink, link.target) for link in links[5:]] == [
        *((wikilink, None) for wikilink in broken),
        ("[[kept.png]]", "kept.png.md"),
    ]
    assert [link.wikilink for link in links if link.is_broken] == broken
    assert [link.wikilink for link in graph_of(vault).broken] == broken


@pytest.mark.contract
def test_a_vault_resolves_by_the_same_rules(vault, put):
    put(FILES)
    links = [
        "[[NOTE]]",
        "[[beds/roses]]",
        "[[other NAME]]",
        "[[the title]]",
        "[[Only heading]]",
        "[[case]]",
        "[[../x]]",
    ]
    assert vault.resolve_many(links) == resolved(links, FILES)


def resolved(links, files, source=""):
    """What links lead to in a vault of these files, without a store."""
    documents = [parsed(path, text.encode(), modified_ns=0) for path, text in files.items()]
    names = by_key(name for document in documents for name in names_of(document))
    parsed_links = [parse_wikilink(link) for link in links]
    return [Resolution() if link is None else resolve(link, names, source=source) for link in parsed_links]


def test_anchor_and_alias_are_kept(vault, put):
    put(FILES)
    found = vault.resolve(r"[[note#^b1\|shown as]]")
    assert (found.path, found.anchor, found.alias) == ("note.md", "^b1", "shown as")


def test_of_several_the_exact_case_goes_first_then_fewest_segments_then_the_alphabet(vault, put):
    put({**FILES, "b/c/two.md": "", "z/two.md": "", "y/two.md": ""})
    assert vault.resolve("[[case]]").candidates == ("x/case.md", "Case.md")
    found = vault.resolve("[[two]]")
    assert found.candidates == ("y/two.md", "z/two.md", "b/c/two.md")
    assert found.ambiguous
    assert not vault.resolve("[[note]]").ambiguous


def test_an_extension_that_the_link_names_decides(vault, put):
    put({"a.md": "", "deep/a.txt": ""})
    assert vault.resolve("[[deep/a]]").path == "deep/a.txt"
    assert vault.resolve("[[a.txt]]").path == "deep/a.txt"


def test_any_number_of_links_is_resolved_with_one_statement(vault, put, statements):
    put(FILES)
    with statements() as seen:
        found = vault.resolve_many(["[[note]]", "[[nothing]]", "[[beds/roses]]", "no [[ link", "[[Nick]]"] * 10)
    assert len(seen) == 1
    assert [each.path for each in found[:5]] == ["note.md", None, "garden/beds/roses.md", None, "named.md"]


def test_another_persons_documents_are_no_targets(vaults, vault, put):
    put(FILES)
    assert vaults.of("eve@example.org").resolve("[[note]]").path is None


def test_links_are_found_in_text_and_not_in_code():
    text = "a [[one]] `[[no]]` ![[two|x]]\n```\n[[no]]\n```\n[[#h]] [[]] [[ ]] [[no\nlink]] [[three#part]]"
    assert [(link.raw, link.target) for link in find_wikilinks(text)] == [
        ("[[one]]", "one"),
        ("[[two|x]]", "two"),
        ("[[three#part]]", "three"),
    ]
    assert all(text[link.start : link.end] == link.raw for link in find_wikilinks(text))


def test_links_stand_where_the_pattern_of_the_documentation_finds_them():
    chance = random.Random(7)
    for _ in range(500):
        text = "".join(chance.choices("[]ab|#", k=chance.randint(0, 30)))
        expected = [match for match in re.findall(r"\[\[([^\]]+)\]\]", text) if parse_wikilink(f"[[{match}]]")]
        assert [link.raw[2:-2] for link in find_wikilinks(text)] == expected


@pytest.mark.parametrize("hostile", ["[" * 300_000, "[[" * 200_000 + "]x", "[[a]" * 100_000, "[[a]] " * 50_000])
def test_hostile_brackets_take_no_longer_than_their_length(hostile):
    assert len(find_wikilinks(hostile)) <= 50_000


def test_generated_vaults_agree_with_a_plain_model():
    for seed in range(200):
        chance = random.Random(seed)
        files = dict(made_up(chance))
        names = {path: model_of(text) for path, text in files.items()}
        links = [made_up_target(chance) for _ in range(12)]
        for link, found in zip(links, resolved([f"[[{link}]]" for link in links], files), strict=True):
            assert list(found.candidates) == plainly_resolved(link, names), (seed, link)


WORDS = ("a", "A", "b", "B", "c.d", "ä", "Ä", "e f")


def made_up(chance):
    for _ in range(chance.randint(1, 8)):
        folder = "/".join(chance.choices(WORDS, k=chance.choice((0, 0, 1, 2))))
        name = chance.choice(WORDS) + chance.choice((".md", ".md", ".txt"))
        lines = ["---"]
        if chance.random() < 0.3:
            lines.append(f"aliases: ['{chance.choice(WORDS)}', 'nick']")
        if chance.random() < 0.3:
            lines.append(f"title: '{chance.choice(WORDS)}'")
        lines += ["---", f"# {chance.choice(WORDS)}"] if chance.random() < 0.7 else ["---"]
        yield (f"{folder}/{name}" if folder else name), "\n".join(lines)


def made_up_target(chance):
    target = "/".join(chance.choices((*WORDS, "nick", "x"), k=chance.choice((1, 1, 2, 3))))
    return target + chance.choice(("", "", ".md", ".txt"))


def model_of(text):
    """All names of a document, as a person would read them off."""
    aliases, title, heading = [], None, None
    for line in text.splitlines():
        if line.startswith("aliases"):
            aliases = re.findall(r"'([^']*)'", line)
        elif line.startswith("title"):
            title = re.findall(r"'([^']*)'", line)[0]
        elif line.startswith("# ") and heading is None:
            heading = line[2:]
    return aliases, title, heading


def plainly_resolved(target, names):
    def without(name):
        return re.sub(r"\.(md|txt)$", "", name)

    def ranked(paths):
        return [path for _, _, path in sorted((not exact, path.count("/"), path) for path, exact in paths.items())]

    wanted = without(target)
    files = {
        path: ("/" + without(path)).endswith("/" + wanted)
        for path in names
        if ("/" + without(path).lower()).endswith("/" + wanted.lower())
    }
    extension = target[len(wanted) :]
    if extension and any(path.endswith(extension) for path in files):
        files = {path: exact for path, exact in files.items() if path.endswith(extension)}
    if files:
        return ranked(files)
    for pick in (lambda name: name[0], lambda name: [name[1]], lambda name: [name[2]]):
        found = {
            path: target in pick(name)
            for path, name in names.items()
            if target.lower() in [each.lower() for each in pick(name) if each is not None]
        }
        if found:
            return ranked(found)
    return []
