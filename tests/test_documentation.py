"""The documents say what the code does."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import click
import pytest

from benchmarks.__main__ import BENCHMARKS
from benchmarks.proofs import PARTS
from database.connection import close_store
from documentation.generate import documented_app, outdated
from documentation.public_api import meaning_of, members_of, public_names
from settings import SETTINGS_TABLE, load_settings
from tests.fakes import RecordingModel
from tests.live_server import LiveServer

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "documentation").rglob("*.md")])
LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# An example marked so is a whole program, run in an empty folder.
EXAMPLE = re.compile(r"^```python run\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(found[1], id=f"{file.relative_to(ROOT)}:{number}")
    for file in DOCUMENTS
    for number, found in enumerate(EXAMPLE.finditer(file.read_text(encoding="utf-8")), 1)
]
# A page of steps: each block goes on where the one before it ended, and what it prints stands below it.
TUTORIAL = ROOT / "documentation" / "features" / "truth_management_system" / "tutorial.md"
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HTTP_API = ROOT / "documentation" / "http_api.md"
# Bytes.
LARGEST_PICTURE = 150_000
END_OF_STEP = "--- end of step ---"


def steps(file: Path, language: str) -> list[tuple[str, str]]:
    """The blocks of one language in a page of steps, each with what it is to print."""
    found = [(match[1], match[2]) for match in BLOCK.finditer(file.read_text(encoding="utf-8"))]
    following = [*found[1:], ("", "")]
    return [
        (source, text if kind == "text" else "")
        for (written_in, source), (kind, text) in zip(found, following, strict=True)
        if written_in == language
    ]


def prints(expected: str, printed: str) -> bool:
    """Whether that is what was to be printed; `...` stands for anything."""
    return doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS)


def anchors(file: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", file.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_generated_tables_are_up_to_date(tmp_path):
    app = documented_app(str(tmp_path))
    try:
        assert [str(file.relative_to(ROOT)) for file in outdated(app)] == []
    finally:
        close_store(load_settings({"ANAPHORA_DATA_DIR": str(tmp_path)}, "no.env").users_dir)


def test_each_part_of_the_http_api_has_a_heading_of_its_own():
    headings = re.findall(r"(?m)^#+ (.+)$", (ROOT / "documentation" / "http_api.md").read_text(encoding="utf-8"))
    assert sorted(headings) == sorted(set(headings))
    assert {"Accounts", "Conversations", "PKB: claims"} <= set(headings)


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(file):
    broken = []
    for link in LINK.findall(FENCE.sub("", file.read_text(encoding="utf-8"))):
        path, _, anchor = unquote(link).partition("#")
        target = (file.parent / path) if path else file
        if re.match(r"[a-z]+:", link):
            continue
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_picture_is_in_a_document_and_small():
    pictures = sorted((ROOT / "documentation" / "images").iterdir())
    named = {
        (file.parent / unquote(link)).resolve() for file in DOCUMENTS for link in LINK.findall(file.read_text("utf-8"))
    }
    assert [picture.name for picture in pictures if picture not in named] == []
    assert [picture.name for picture in pictures if picture.stat().st_size > LARGEST_PICTURE] == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example, tmp_path):
    installed = os.pathsep.join(map(str, [ROOT, *sorted((ROOT / "examples").iterdir())]))
    environ = {"PYTHONPATH": installed, "PATH": "", "HOME": str(tmp_path)}
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr


def test_each_step_of_the_tutorial_prints_what_stands_below_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for source, expected in steps(TUTORIAL, "python"):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(TUTORIAL), "exec"), namespace)
        assert prints(expected, printed.getvalue()), f"{source}\nprinted\n{printed.getvalue()}"


@pytest.mark.parametrize("page", [TUTORIAL, HTTP_API], ids=lambda page: page.name)
def test_the_shell_steps_of_a_page_work_with_a_real_server(
    page: Path, start_server: Callable[..., LiveServer], recording_model: RecordingModel, tmp_path: Path
):
    server = start_server(**({} if page == TUTORIAL else recording_model.environ))
    server.sign_up("ada@example.org")
    source, expected = zip(*steps(page, "sh"), strict=True)
    script = "set -eu\n" + "".join(f"{step}\nprintf '\\n%s\\n' '{END_OF_STEP}'\n" for step in source)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {"PATH": path, "PYTHONPATH": str(ROOT), "SERVER": server.url, "ANAPHORA_DATA_DIR": str(server.data_dir)}
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split(END_OF_STEP)
    for text, wanted in zip(printed, expected, strict=False):
        assert prints(wanted.strip(), text.strip()), f"{wanted}\nwas to be printed, and it was\n{text}"
    assert len(printed) == len(expected) + 1


def test_everything_public_of_the_knowledge_base_says_what_it_is():
    page = (TUTORIAL.parent / "public_api.md").read_text(encoding="utf-8")
    undocumented = [
        f"{module}.{name}" for module, name, public in public_names() if callable(public) and not meaning_of(public)
    ]
    undocumented += [
        f"{module}.{name}.{member}"
        for module, name, public in public_names()
        if isinstance(public, type)
        for member, meaning in members_of(public)
        if not meaning
    ]
    assert undocumented == []
    assert [name for _, name, _ in public_names() if f"### {name}\n" not in page] == []


def test_every_document_is_in_the_index():
    index = (ROOT / "documentation" / "README.md").read_text(encoding="utf-8")
    missing = [
        str(file.relative_to(ROOT / "documentation"))
        for file in DOCUMENTS
        if file.is_relative_to(ROOT / "documentation") and file.name != "README.md"
        if str(file.relative_to(ROOT / "documentation")) not in index
    ]
    assert missing == []


def test_the_user_guide_names_things_as_the_page_does():
    interface = ROOT / "interface"
    shown = [
        *(interface / "static" / "page").rglob("*.js"),
        *(interface / "templates").glob("*.html"),
        ROOT / "chat" / "welcome.toml",
    ]
    catalogues = "".join(file.read_text(encoding="utf-8") for file in shown)
    guide = (ROOT / "documentation" / "user_guide.md").read_text(encoding="utf-8")
    names = {" ".join(name.split()) for name in re.findall(r"(?<![*\w])\*([^*]+)\*(?!\*)", guide)}
    unknown = [name for name in names if not re.search(rf"""['"`>}}]\s*{re.escape(name)}\s*['"`<]""", catalogues)]
    assert names
    assert unknown == []


def named_in_documents(pattern: str) -> dict[str, set[str]]:
    """What matches in the documents, each with the documents; the log of changes tells of what is gone, too."""
    found: dict[str, set[str]] = {}
    for file in DOCUMENTS:
        if file.name == "CHANGELOG.md":
            continue
        for match in re.finditer(pattern, file.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(" ".join(filter(None, match.groups())), set()).add(str(file.relative_to(ROOT)))
    return found


def missing(named: dict[str, set[str]], is_there: Callable[[str], object]) -> dict[str, set[str]]:
    """What is named and not there, after checking that something is named at all."""
    assert named
    return {name: files for name, files in named.items() if not is_there(name)}


def test_people_log_in_and_out_everywhere():
    """The page, the documents and what the API says use one word for it."""
    said = [
        ROOT / "sentences.py",
        ROOT / "settings.py",
        *(ROOT / "interface" / "static" / "page" / "strings").rglob("*.js"),
    ]
    shown = [*(ROOT / "interface" / "templates").glob("*.html"), *(ROOT / "interface" / "strings").glob("*.json")]
    told = [
        *(ROOT / "documentation").rglob("*.md"),
        ROOT / "README.md",
        *(ROOT / "endpoints").rglob("*.py"),
        *(ROOT / "chat").rglob("*.py"),
    ]
    other = re.compile(r"(?<!for )(?<!if )\bsign(?:ed|s|ing)?[ -](?:in|out)\b", re.IGNORECASE)
    assert [
        (file.name, found)
        for file in (*said, *shown, *told)
        for found in other.findall(file.read_text(encoding="utf-8"))
    ] == []


def test_the_commands_that_documents_name_are_there(tmp_path):
    app = documented_app(str(tmp_path))
    try:
        context = click.Context(app.cli)

        def is_command(words: str) -> bool:
            first, _, second = words.partition(" ")
            command = {"run": app.cli}.get(first) or app.cli.get_command(context, first)
            has_others = isinstance(command, click.Group) and not command.invoke_without_command
            return command is not None and (
                not has_others or not second or command.get_command(context, second) is not None
            )

        assert (
            missing(named_in_documents(r"\bflask (?:--app server )?([a-z][\w-]*)(?: ([a-z][\w-]*))?"), is_command) == {}
        )
    finally:
        close_store(load_settings({"ANAPHORA_DATA_DIR": str(tmp_path)}, "no.env").users_dir)


def test_the_programs_that_documents_name_are_there():
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    def is_module(name: str) -> bool:
        path = ROOT.joinpath(*name.split("."))
        return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file() or name in ("flask", "pytest")

    assert missing(named_in_documents(r"python -m ([\w.]+)"), is_module) == {}
    assert missing(named_in_documents(r"`make ([a-z][\w-]*)"), targets.__contains__) == {}
    assert missing(named_in_documents(r"\.ci/run ([a-z]+)"), lambda step: re.search(rf"\b{step}\b", steps)) == {}
    assert missing(named_in_documents(r"`make proofs ARGS=\"?([\w-]+)"), PARTS.__contains__) == {}
    measured = named_in_documents(r"`(?:python -m )?benchmarks ((?:[a-z_]+ ?)+)")
    assert missing(measured, lambda names: set(names.split()) <= BENCHMARKS.keys()) == {}
    proved = named_in_documents(r"python -m benchmarks\.proofs ([a-z][\w-]*)")
    assert missing(proved, PARTS.__contains__) == {}


def test_the_files_and_settings_that_documents_name_are_there():
    # Made by a run, or by whoever installs.
    made = ("benchmarks/data", "benchmarks/results.json", "deploy/.env", "deploy/secrets", "tests/browser/screenshots")
    folders = "|".join(sorted(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")))
    named = named_in_documents(rf"`((?:{folders})/[\w./*-]*)`")
    assert missing(named, lambda name: name.startswith(made) or any(ROOT.glob(name.rstrip("/")))) == {}
    # Of benchmarks, of composing, of the programs that activities speak with.
    others = {"ANAPHORA_BENCH_CROWD", "ANAPHORA_DOMAIN", "ANAPHORA_SERVERS", "ANAPHORA_TOKEN", "ANAPHORA_USER"}
    known = {row.name for row in SETTINGS_TABLE} | others
    assert missing(named_in_documents(r"\b(ANAPHORA_[A-Z_]*[A-Z])\b"), known.__contains__) == {}
