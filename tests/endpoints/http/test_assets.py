"""Static files: an address changes with its file, and a build of the page is served only while it is current."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from endpoints.http.assets import Assets

MAIN, SETTINGS = "page/app/main.js", "page/app/settings.js"
BASE = "joined/base.css"
FILES = (
    "built/common.js",
    "built/later.js",
    "built/main.js",
    "built/page/composer/composer.css",
    "built/page/conversation/find/find.css",
    "built/page/conversation/transcript/transcript.css",
    "built/page/markdown/markdown.css",
    "built/page/memories/memories.css",
    "built/page/references/references.css",
    "built/page/sidebar/sidebar.css",
    "built/page/ui/base.css",
    "built/page/ui/theme.css",
    "built/settings.js",
    "built/vendor/bootstrap.min.css",
    "img/mark.svg",
    "page/app/main.js",
    "page/app/settings.js",
    "page/composer/composer.css",
    "page/conversation/find/find.css",
    "page/conversation/transcript/transcript.css",
    "page/markdown/markdown.css",
    "page/memories/memories.css",
    "page/references/references.css",
    "page/sidebar/sidebar.css",
    "page/ui/base.css",
    "page/ui/theme.css",
    "vendor/bootstrap.min.css",
    "vendor/icons.svg",
    "vendor/jquery.min.js",
    "vendor/jstree.min.js",
    "vendor/mermaid.min.js",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small page, with a build that set-up made of it."""
    for name in FILES:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"/* {name} */\n")
    (tmp_path / "frame.html").write_text('<script src="vendor/mermaid.min.js"></script>')
    sources = (
        tmp_path / name for name in FILES if name.startswith(("page/", "vendor/")) and name.endswith((".js", ".css"))
    )
    made_of = {
        file.relative_to(tmp_path).as_posix(): hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
        for file in sources
    }
    (tmp_path / "built" / "manifest.json").write_text(json.dumps({"made_of": made_of}))
    return tmp_path


def addresses(folder: Path, *, joined: bool) -> dict[str, str]:
    """The address of each file, as a server that starts now gives it."""
    assets = Assets(folder, joined=joined)
    return {name: assets.address(name) for name in (*FILES, BASE)}


def changed_by(folder: Path, name: str, *, joined: bool = True) -> set[str]:
    """The files that have another address once `name` has other content."""
    before = addresses(folder, joined=joined)
    (folder / name).write_text("/* other */\n")
    after = addresses(folder, joined=joined)
    return {each for each in before if before[each] != after[each]}


def test_an_address_changes_with_its_own_file_alone(folder: Path) -> None:
    memories, base = "page/memories/memories.css", "page/ui/base.css"
    assert changed_by(folder, "img/mark.svg") == {"img/mark.svg"}
    assert changed_by(folder, memories, joined=False) == {memories}
    assert changed_by(folder, base, joined=False) == {base, BASE}


def test_files_that_find_each_other_by_relative_addresses_change_theirs_together(folder: Path) -> None:
    built = {name for name in FILES if name.startswith("built/") and name.endswith(".js")}
    assert changed_by(folder, "built/common.js") == built
    # The libraries keep their addresses: what a page needs of Bootstrap changes often.
    assert changed_by(folder, "built/vendor/bootstrap.min.css") == {"built/vendor/bootstrap.min.css", BASE}
    assert changed_by(folder, MAIN, joined=False) == {MAIN, SETTINGS}
    vendored = {name for name in FILES if name.startswith("vendor/")}
    assert changed_by(folder, "vendor/mermaid.min.js", joined=False) == vendored


def test_the_version_and_the_address_of_a_page_among_the_files_change_with_all_that_it_loads(folder: Path) -> None:
    before = Assets(folder)
    assert before["frame.html"].content.decode() == f'<script src="{before.address("vendor/mermaid.min.js")}"></script>'
    (folder / "vendor/mermaid.min.js").write_text("other")
    after = Assets(folder)
    assert after.version != before.version
    assert after.address("frame.html") != before.address("frame.html")


def test_the_page_is_served_joined_while_the_build_is_of_its_modules(folder: Path) -> None:
    assets = Assets(folder)
    assert assets.entry(MAIN) == [assets.address("built/common.js"), assets.address("built/main.js")]
    assert assets.entry(SETTINGS) == [assets.address("built/settings.js")]
    assert assets.loaded_later()["built/later.js"] == assets.address("built/later.js")
    assert assets[BASE].content.startswith(b"/* built/vendor/bootstrap.min.css */")
    assert assets["page/memories/memories.css"].content == b"/* built/page/memories/memories.css */\n"
    single = Assets(folder, joined=False)
    assert single[BASE].content.startswith(b"/* vendor/bootstrap.min.css */")
    assert single["page/memories/memories.css"].content == b"/* page/memories/memories.css */\n"


def test_a_page_in_another_language_has_modules_of_its_own(folder: Path) -> None:
    assets = Assets(folder)
    version = assets.address("built/main.js").split("/")[2]
    assert assets.entry(SETTINGS, language="de") == [f"/static/{version}/built/de/settings.js"]
    assert assets.loaded_later(language="de")["built/later.js"] == f"/static/{version}/built/de/later.js"
    assert assets.loaded_later(language="de")["vendor/icons.svg"] == assets.address("vendor/icons.svg")
    single = Assets(folder, joined=False)
    version = single.address(MAIN).split("/")[2]
    assert single.entry(MAIN, language="de") == [f"/static/{version}.de/{MAIN}"]


def test_a_single_module_imports_the_words_of_its_language_where_they_are_translated(folder: Path) -> None:
    for name in ("en/panel.js", "en/other.js", "de/panel.js"):
        file = folder / "page/strings" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("import { words } from '../en/panel.js';")
    (folder / MAIN).write_text("import '../strings/en/panel.js';\nimport '../strings/en/other.js';")
    assets = Assets(folder, joined=False)
    assert assets.translated(MAIN, "de") == b"import '../strings/de/panel.js';\nimport '../strings/en/other.js';"
    # A translation begins with the English words.
    assert assets.translated("page/strings/de/panel.js", "de") == assets["page/strings/de/panel.js"].content


CHANGED = {"changed": MAIN, "changed styles": "page/memories/memories.css", "added": "page/search/panel.js"}


@pytest.mark.parametrize("change", [*CHANGED, "removed", "never built", "built without styles"])
def test_a_build_of_other_files_is_not_served(folder: Path, change: str) -> None:
    if change == "never built":
        (folder / "built" / "manifest.json").unlink()
    elif change == "built without styles":
        (folder / "built/page/ui/base.css").unlink()
    elif change == "removed":
        (folder / SETTINGS).unlink()
    else:
        file = folder / CHANGED[change]
        file.parent.mkdir(exist_ok=True)
        file.write_text("changed()")
    assets = Assets(folder)
    assert assets.entry(MAIN) == [assets.address(MAIN)]
    assert assets[BASE].content.startswith(b"/* vendor/bootstrap.min.css */")


def test_single_modules_can_be_asked_for(folder: Path) -> None:
    assets = Assets(folder, joined=False)
    assert assets.entry(MAIN) == [assets.address(MAIN)]


def test_a_file_that_was_replaced_since_the_start_is_not_what_its_address_says(folder: Path) -> None:
    assets = Assets(folder)
    (folder / "img/mark.svg").write_text("replaced")
    assert not assets["img/mark.svg"].is_listed
    assert assets[BASE].is_listed


def test_styles_that_are_not_joined_are_among_what_modules_load_later(folder: Path) -> None:
    later = Assets(folder).loaded_later()
    assert "page/memories/memories.css" in later
    assert "page/sidebar/sidebar.css" not in later


def test_links_lead_nowhere_outside_of_the_folder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("secret")
    (folder / "img" / "secret.txt").symlink_to(outside / "secret.txt")
    (folder / "elsewhere").symlink_to(outside)
    (folder / "img" / "same.svg").symlink_to(folder / "img" / "mark.svg")
    assets = Assets(folder)
    assert assets["img/same.svg"].content == b"/* img/mark.svg */\n"
    for name in ("img/secret.txt", "elsewhere/secret.txt"):
        with pytest.raises(KeyError):
            assets[name]
