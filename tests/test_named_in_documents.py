"""What documents and docstrings name is there: modules, files, settings, packages, folders of tests."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from settings import SETTINGS_TABLE
from tests.test_architecture import LAYERS

ROOT = Path(__file__).resolve().parent.parent
HISTORY = {"CHANGELOG.md"}
"""Documents of what was: they name what is gone as well."""
DATED = re.compile(r"\b20\d\d-\d\d-\d\d\b")
"""A paragraph with a date tells of that day."""
MADE = {"common.js"}
"""Files that the set-up makes."""
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w-]+\.(py|js|mjs)")
DATA_FILE = re.compile(r"[\w-]+\.(lock|json|toml|sqlite|db|md|txt|sh)")
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+(\(\))?")
PATH = re.compile(r"[\w.@*-]+(/[\w.@*-]+)+/?")
IDENTIFIER = re.compile(r"[a-z]+(_[a-z]+)+|[A-Z][a-z]+([A-Z][a-z]+)+")
SETTING_WITH_DEFAULT = re.compile(r"`(ANAPHORA_\w+)`(?:, | \()(\d+)\b")
OUTSIDE = {"examples", "tests"}


@cache
def files() -> frozenset[str]:
    """Every file of the repository, by its path."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return frozenset(path for path in listed.stdout.splitlines() if (ROOT / path).exists())


@cache
def endings() -> frozenset[str]:
    """Every path that ends where a file or a folder of the repository does, such as `pkb/claims.py`."""
    whole = files() | {str(folder) for path in files() for folder in PurePosixPath(path).parents}
    return frozenset("/".join(PurePosixPath(path).parts[at:]) for path in whole for at in range(path.count("/") + 1))


@cache
def packages() -> tuple[str, ...]:
    """Every package of the product, by its path."""
    found = (str(PurePosixPath(path).parent) for path in files() if path.endswith("/__init__.py"))
    return tuple(sorted(each for each in found if each.partition("/")[0] not in OUTSIDE))


@cache
def top_level() -> frozenset[str]:
    """The first parts of the names of our modules."""
    return frozenset(path.partition("/")[0].removesuffix(".py") for path in files() if path.endswith(".py"))


@cache
def folders() -> frozenset[str]:
    """The folders in the root."""
    return frozenset(path.partition("/")[0] for path in files() if "/" in path)


@cache
def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def names_in(path: str) -> frozenset[str]:
    """What a module defines, assigns or imports, wherever in it."""
    found = set[str]()
    for node in ast.walk(ast.parse(text_of(path))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add(other or name.partition(".")[0])
    return frozenset(found)


def is_there(name: str) -> bool:
    """Whether a dotted name leads to a module, or to what a module has."""
    parts = name.removesuffix("()").split(".")
    if "*" in name:
        return any(PurePosixPath(path).match("/".join(parts) + ".py") for path in files())
    for count in range(len(parts), 0, -1):
        base = "/".join(parts[:count])
        for path in (f"{base}.py", f"{base}/__init__.py"):
            if path in files():
                return set(parts[count:]) <= names_in(path)
    return base in endings() and len(parts) == 1


@cache
def is_ignored(path: str) -> bool:
    """Whether git leaves a path out, as it does with what is made when the product is set up or runs."""
    asked = subprocess.run(["git", "check-ignore", path, f"{path}/any"], cwd=ROOT, capture_output=True, check=False)
    return asked.returncode == 0


def path_is_there(path: str) -> bool:
    """Whether a path is one of the repository, from its root or from some folder of it."""
    bare = path.rstrip("/")
    if "*" in bare:
        return any(PurePosixPath(each).match(bare) for each in files())
    return bare in endings() or is_ignored(bare)


def is_ours(path: str) -> bool:
    """Whether a path reads like one of the repository."""
    return path.partition("/")[0] in folders() or FILE.fullmatch(path.rpartition("/")[2]) is not None


def wrong_names(text: str) -> Iterator[str]:
    """What stands in backticks, reads like a module or a file of ours, and is none."""
    for quoted in QUOTED.findall(FENCE.sub("", text)):
        for word in (each.strip(",;:()") for each in quoted.split()):
            if FILE.fullmatch(word):
                missing = word not in endings() | MADE
            elif PATH.fullmatch(word):
                missing = is_ours(word) and not path_is_there(word)
            else:
                is_name = DOTTED.fullmatch(word) and not DATA_FILE.fullmatch(word)
                missing = bool(is_name) and word.partition(".")[0] in top_level() and not is_there(word)
            if missing:
                yield word


def words_in(path: str) -> set[str]:
    """The words of a file's code; of a module, without what it says of itself."""
    return set(re.findall(r"\w+", DOCSTRING.sub("", text_of(path)) if path.endswith(".py") else text_of(path)))


def documents() -> list[str]:
    return sorted(path for path in files() if path.endswith(".md") and path not in HISTORY)


@cache
def docstrings() -> dict[str, str]:
    """What each module says of itself, by its path."""
    found = {path: DOCSTRING.match(text_of(path)) for path in files() if path.endswith(".py")}
    return {path: match[1] for path, match in found.items() if match}


def of_today(document: str) -> str:
    """A document without its dated paragraphs."""
    paragraphs = text_of(document).split("\n\n")
    return "\n\n".join(each for each in paragraphs if not DATED.search(each))


def test_every_module_and_file_that_a_document_names_is_there() -> None:
    found = {document: sorted(set(wrong_names(of_today(document)))) for document in documents()}
    assert {document: names for document, names in found.items() if names} == {}


def test_every_module_and_file_that_a_module_names_is_there() -> None:
    found = {path: sorted(set(wrong_names(text))) for path, text in docstrings().items()}
    assert {path: names for path, names in found.items() if names} == {}


def test_every_name_in_the_docstring_of_a_module_is_one_in_the_code() -> None:
    said = {path: set(filter(IDENTIFIER.fullmatch, QUOTED.findall(text))) for path, text in docstrings().items()}
    sources = [path for path in files() if path.endswith((".py", ".js", ".mjs", ".sql", ".toml", ".html", ".j2"))]
    known = {PurePosixPath(path).stem for path in endings()}.union(*map(words_in, sources))
    assert {path: sorted(words - known) for path, words in said.items() if words - known} == {}


def test_a_number_behind_a_setting_is_its_default() -> None:
    defaults = {row.name: row.default for row in SETTINGS_TABLE}
    said = [
        (document, *found) for document in documents() for found in SETTING_WITH_DEFAULT.findall(of_today(document))
    ]
    assert len(said) > 3
    assert [each for each in said if defaults[each[1]] != each[2]] == []


def test_the_way_to_contribute_names_every_layer() -> None:
    text = text_of("CONTRIBUTING.md")
    layers = re.search(r"Layers import downwards only: (.*?)\.\n", text, re.DOTALL)
    assert layers is not None
    assert tuple(tuple(QUOTED.findall(layer)) for layer in layers[1].split("→")) == LAYERS


def test_the_tree_in_the_architecture_names_every_package() -> None:
    text = text_of("documentation/architecture.md")
    tree = re.search(r"^```text\n(server\.py .*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert tree is not None
    entries = {entry.partition("/")[0]: entry for entry in re.split(r"\n(?=\S)", tree[1])}
    missing = [
        package
        for package in packages()
        if "/" in package and not re.search(rf"\b{package.rpartition('/')[2]}\b", entries[package.partition("/")[0]])
    ]
    assert missing == []


@cache
def rows_of_tests() -> tuple[tuple[str, str], ...]:
    """The rows of `tests/README.md`: modules, and where their tests are."""
    text = text_of("tests/README.md").partition("# What tests share")[0]
    found = re.findall(r"^\| (?!Modules|---)(.*?) \| (.*) \|$", text, re.MULTILINE)
    assert len(found) > 40
    return tuple(found)


class TestTheTableOfTests:
    """`tests/README.md` says where the tests of a module are."""

    def test_every_module_in_it_is_there(self) -> None:
        named = [name for modules, _ in rows_of_tests() for name in _modules_of(modules)]
        assert [name for name in named if name.partition(".")[0] in top_level() and not is_there(name)] == []

    def test_every_file_of_tests_in_it_is_there(self) -> None:
        named = [path for _, tests in rows_of_tests() for path in _files_of(tests)]
        there = [PurePosixPath(path) for path in endings() if path.startswith("tests/")]
        assert [path for path in named if not any(each.match(path) for each in there)] == []

    def test_every_package_has_a_folder_of_tests_or_a_row(self) -> None:
        named = {name for modules, _ in rows_of_tests() for name in _modules_of(modules)}
        tested = {str(PurePosixPath(path).parent) for path in files() if re.search(r"^tests/.*/test_\w+\.py$", path)}
        tested |= {str(parent) for path in tested for parent in PurePosixPath(path).parents}
        without = [
            package
            for package in packages()
            if f"tests/{package}" not in tested
            and not any(f"{name}.".startswith(f"{package.replace('/', '.')}.") for name in named)
        ]
        assert without == []


def _modules_of(cell: str) -> Iterator[str]:
    """The dotted names of a cell such as "`chat.turns`: `steps`, `history`; `search.query`, `.ranking`"."""
    for part in cell.split(";"):
        package, colon, _ = part.partition(":")
        before = ""
        for number, name in enumerate(QUOTED.findall(part)):
            if name.startswith("."):
                name = before.rpartition(".")[0] + name
            elif number and colon and package.strip().startswith("`"):
                name = f"{QUOTED.findall(package)[0]}.{name}"
            before = name
            yield name


def _files_of(cell: str) -> Iterator[str]:
    """The paths of a cell such as "`activity/test_erasing.py`, `test_posting.py`", with a folder of each."""
    folder = ""
    for name in QUOTED.findall(cell):
        if "/" in name:
            folder = name.rpartition("/")[0]
            yield f"tests/{name}"
        elif name.endswith((".py", ".mjs")):
            yield f"tests/{folder}/{name}" if folder else name
