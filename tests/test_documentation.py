"""The documents say what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from database.connection import close_store
from documentation.generate import documented_app, outdated
from settings import load_settings

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


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example, tmp_path):
    environ = {"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)}
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr


def test_every_document_is_in_the_index():
    index = (ROOT / "documentation" / "README.md").read_text(encoding="utf-8")
    missing = [
        str(file.relative_to(ROOT / "documentation"))
        for file in DOCUMENTS
        if file.is_relative_to(ROOT / "documentation") and file.name != "README.md"
        if str(file.relative_to(ROOT / "documentation")) not in index
    ]
    assert missing == []
