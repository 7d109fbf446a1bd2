"""The layers and owners that documentation/architecture.md names hold: this file reads the code itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Highest first; a module may import from its own part and from layers below. Parts of one layer are strangers,
# but for SIDEWAYS.
LAYERS = (
    ("server",),
    ("endpoints", "commands"),
    ("Conversation",),
    ("chat.agents", "chat.tools"),
    ("chat", "portability"),
    ("attachments", "vault", "activity", "truth_management_system"),
    ("search",),
    ("database", "language_models"),
    ("conversation_reference_utils", "settings"),
    ("sentences", "tracing", "version"),
)
RANK = {part: number for number, layer in enumerate(LAYERS) for part in layer}
TOP_LEVEL = {part.partition(".")[0] for part in RANK}

# Within a layer: commands work in the same scope as requests, bundles hold messages as the chat knows them.
SIDEWAYS = {("commands", "endpoints"), ("portability", "chat")}

# Who may import what comes from outside.
OWNERS = {
    "flask": ("server", "endpoints", "commands"),
    "click": ("commands",),
    "rich": ("commands",),
    "uvicorn": ("endpoints",),
    "sqlalchemy": ("database", "search", "truth_management_system", "vault.search"),
    "sqlite3": ("database",),
    "psycopg": ("database.engine.pipeline", "database.engine.postgresql"),
    "dill": ("portability.bundles",),
    "aiohttp": ("language_models",),
    "anthropic": ("language_models.anthropic",),
    "opentelemetry": ("tracing",),
    "xllamacpp": ("language_models",),
    "onnxruntime": ("language_models",),
    "tokenizers": ("language_models",),
    "httpx2": ("chat.tools.foreign", "endpoints.accounts.openid", "language_models.anthropic.client"),
    "authlib": ("endpoints.accounts.openid",),
    "joserfc": ("endpoints.accounts.openid",),
    "mcp": ("endpoints.mcp", "commands.mcp", "chat.tools.foreign"),
    "uuid_utils": ("database.activities.storing",),
    "Stemmer": ("search.language", "truth_management_system.schema.sqlite"),
    "re2": ("search.patterns",),
    "argon2": ("database.accounts.passwords",),
    "dotenv": ("settings",),
    "pypdfium2": ("attachments.reading_child",),
    "PIL": ("attachments.reading_child",),
    "pi_heif": ("attachments.reading_child",),
    "docx": ("attachments.reading_child",),
    "openpyxl": ("attachments.reading_child",),
    "lxml": ("attachments.reading_child",),
    "chardet": ("attachments.text_encodings",),
}
SQL = re.compile(
    r"\s*(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX))\s", re.S
)
SQL_OWNERS = OWNERS["sqlalchemy"]
# Text that only one engine understands. Old migrations and checks of the file are SQLite's alone.
SQLITE_TEXT = re.compile(
    r"\bPRAGMA\s|sqlite_(master|schema|stat)|json_each|json_extract|\browid\b|\bGLOB\b|\bfts5|_fts\s+MATCH|"
    r"\bINSERT OR |COLLATE NOCASE|julianday|BEGIN IMMEDIATE"
)
POSTGRESQL_TEXT = re.compile(r"\bpg_\w+\(|tsvector|tsquery|\bILIKE\b|REPEATABLE READ|search_path|::\w+")
ENGINE_TEXT_OWNERS = {
    SQLITE_TEXT: (
        "database.engine.sqlite",
        "database.migrations",
        "database.maintenance",
        "database.search",
        "search.sqlite",
        "truth_management_system.schema.sqlite",
        "truth_management_system.schema.fulltext",
        "truth_management_system.database.verification",
    ),
    POSTGRESQL_TEXT: (
        "database.engine.postgresql",
        "database.search.postgresql",
        "database.transfer.postgresql",
        "search.postgresql",
        "truth_management_system.schema.postgresql",
    ),
}

# Imported when first needed: a server without them starts faster and takes less memory.
HEAVY = (
    "numpy",
    "onnxruntime",
    "tokenizers",
    "xllamacpp",
    "aiohttp",
    "anthropic",
    "playwright",
    "re2",
    "redis",
    "benchmarks",
    "rich",
    "psycopg",
    "mcp",
    "authlib",
    "httpx2",
    "opentelemetry",
)


@cache
def modules() -> dict[str, ast.Module]:
    """Syntax tree of each product module, by dotted name."""
    files = [ROOT / f"{part}.py" for part in TOP_LEVEL] + [
        file for part in TOP_LEVEL for file in sorted((ROOT / part).rglob("*.py"))
    ]
    return {module_name(file): ast.parse(file.read_text(encoding="utf-8")) for file in files if file.exists()}


def module_name(file: Path) -> str:
    """`chat.exchange.events` for chat/exchange/events.py, `chat` for chat/__init__.py."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def part_of(module: str) -> str | None:
    """The longest part of the layers that `module` lies in; None for what is not ours."""
    inside = [part for part in RANK if module == part or module.startswith(f"{part}.")]
    return max(inside, key=len, default=None)


@cache
def imports(module: str) -> tuple[str, ...]:
    """Dotted names that `module` imports, wherever in it, `if TYPE_CHECKING` included."""
    return tuple(_imports(module))


def _imports(module: str) -> Iterator[str]:
    package = module if is_package(module) else module.rpartition(".")[0]
    for node in ast.walk(modules()[module]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def is_package(module: str) -> bool:
    """Whether `module` is a folder."""
    return (ROOT / module.replace(".", "/")).is_dir()


def within(module: str, owners: tuple[str, ...]) -> bool:
    """Whether `module` is one of `owners` or inside one."""
    return any(module == owner or module.startswith(f"{owner}.") for owner in owners)


def test_imports_only_point_down():
    wrong = set()
    for module in modules():
        here = part_of(module)
        for name in imports(module):
            there = part_of(name)
            if here and there and here != there and RANK[there] <= RANK[here] and (here, there) not in SIDEWAYS:
                wrong.add(f"{module} imports {name}")
    assert sorted(wrong) == []


def test_a_migration_knows_nothing_of_today():
    wrong = {
        f"{module} imports {name}"
        for module in modules()
        if module.startswith("database.migrations.")
        for name in imports(module)
        if part_of(name) is not None
    }
    assert sorted(wrong) == []


def test_server_alone_is_where_everything_comes_together():
    assert [module for module in modules() if "server" in imports(module)] == []


@pytest.mark.parametrize("library", sorted(OWNERS))
def test_a_library_is_imported_by_its_owners_alone(library):
    users = {module for module in modules() for name in imports(module) if name.split(".")[0] == library}
    assert sorted(user for user in users if not within(user, OWNERS[library])) == []


def test_sql_is_written_in_the_stores_alone():
    wrong = [
        f"{module}:{node.lineno}"
        for module, tree in modules().items()
        if not within(module, SQL_OWNERS)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value)
    ]
    assert wrong == []


@pytest.mark.parametrize("words", ENGINE_TEXT_OWNERS)
def test_sql_that_one_engine_alone_understands_is_written_in_its_modules_alone(words):
    wrong = [
        f"{module}:{node.lineno}"
        for module, tree in modules().items()
        if within(module, SQL_OWNERS) and not within(module, ENGINE_TEXT_OWNERS[words])
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and words.search(node.value)
        if node.lineno not in docstring_lines(tree)
    ]
    assert wrong == []


def docstring_lines(tree):
    """The first lines of the docstrings of a module, which may name what they like."""
    documented = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    return {node.value.lineno for node in documented if isinstance(node.value, ast.Constant)}


def test_one_module_alone_reads_the_session_and_g_of_flask():
    names = {"flask.session", "flask.g"}
    assert {module for module in modules() if names & set(imports(module))} <= {"endpoints.http.scope"}


def test_a_folder_is_flushed_to_disk_by_one_module_alone():
    def flushes(call: ast.AST) -> bool:
        return (
            isinstance(call, ast.Call)
            and ast.unparse(call.func) == "os.fsync"
            and not ast.unparse(call.args[0]).endswith(".fileno()")
        )

    flushing = [module for module, tree in modules().items() if any(map(flushes, ast.walk(tree)))]
    assert flushing == ["database.engine.durability"]


def test_conversation_stays_readable():
    assert len((ROOT / "Conversation.py").read_text(encoding="utf-8").splitlines()) < 400


def test_no_module_has_grown_beyond_one_job():
    sizes = {name: len(ast.unparse(tree).splitlines()) for name, tree in modules().items() if name != "Conversation"}
    assert {name: size for name, size in sizes.items() if size > 400} == {}


def test_everything_public_says_what_it_does():
    silent = [
        f"{module}.{node.name}"
        for module, tree in modules().items()
        for node in public_definitions(tree)
        if not ast.get_docstring(node)
    ]
    assert silent == []


def public_definitions(
    tree: ast.Module | ast.ClassDef,
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Public functions, classes and methods; a method with @override or a setter inherits its text."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        if not any(ast.unparse(each).endswith((".setter", "override", "overload")) for each in node.decorator_list):
            yield node
        if isinstance(node, ast.ClassDef):
            yield from public_definitions(node)


def test_a_function_that_touches_a_persons_data_asks_whose():
    """Every public function of the stores that takes an id of a person's thing also takes `user_email`."""
    ids = {"conversation_id", "message_id", "workspace_id"}
    careless = [
        f"{module}.{node.name}"
        for module, tree in modules().items()
        if within(module, ("database",)) and not within(module, ("database.migrations",))
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        for names in [{argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}]
        if "database" in names and names & ids and "user_email" not in names
    ]
    assert careless == []


def test_importing_the_server_loads_nothing_heavy():
    script = f"import sys, server; print([name for name in {HEAVY!r} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.stdout.strip() == "[]", answer.stderr


def imported_by(module: str) -> Iterator[str]:
    """Modules of ours that `module` imports, also inside its functions; not those that only type checkers import."""
    package = module if is_package(module) else module.rpartition(".")[0]
    tree = modules()[module]
    for_types = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    unused = {id(node) for block in for_types for node in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in unused:
            continue
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield from (each for each in (name if name in modules() else base,) if each in modules())
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())


def test_no_module_imports_itself_by_way_of_others():
    imported = {module: set(imported_by(module)) - {module} for module in modules()}
    reached: set[str] = set()

    def circle(module: str, way: tuple[str, ...]) -> tuple[str, ...] | None:
        if module in way:
            return (*way[way.index(module) :], module)
        if module in reached:
            return None
        for name in imported[module]:
            if found := circle(name, (*way, module)):
                return found
        reached.add(module)
        return None

    assert [found for module in modules() if (found := circle(module, ()))] == []


def folder_of(module: str) -> str:
    """`chat.turns` for chat/turns/runner.py and chat/turns/__init__.py; a module at the top is a folder of its own."""
    return module if is_package(module) else module.rpartition(".")[0] or module


@cache
def imports_between_folders() -> dict[str, dict[str, set[str]]]:
    """By importing and imported folder, the imports. An `__init__` may show what its package holds."""
    between: dict[str, dict[str, set[str]]] = {folder_of(module): {} for module in modules()}
    for module in modules():
        for name in imports(module):
            if name not in modules() or (is_package(module) and name.startswith(f"{module}.")):
                continue
            here, there = folder_of(module), folder_of(name)
            if here != there:
                between[here].setdefault(there, set()).add(f"{module} imports {name}")
    return between


def circles_of_folders() -> set[frozenset[str]]:
    """The largest groups of folders of which each reaches each other one."""
    between = imports_between_folders()

    def reached_from(folder: str) -> set[str]:
        reached: set[str] = set()
        ahead = [folder]
        while ahead:
            new = between[ahead.pop()].keys() - reached
            reached |= new
            ahead += new
        return reached

    reached = {folder: reached_from(folder) for folder in between}
    return {
        frozenset(other for other in reached[folder] if folder in reached[other])
        for folder in between
        if folder in reached[folder]
    }


def test_folders_import_from_each_other_in_one_direction():
    between = imports_between_folders()
    wrong = {
        name
        for circle in circles_of_folders()
        for here in circle
        for there in circle
        for name in between[here].get(there, ())
    }
    assert sorted(wrong) == []


# A street without house numbers is as hard to walk as one with a house for each room.
MOST_MODULES_OF_A_FOLDER = 15
LARGER_FOLDERS = {
    "database.migrations": 1_000,  # one module for each change of the schema, frozen for ever
    "endpoints.http": 18,
}


def test_a_folder_holds_a_handful_of_modules():
    sizes = Counter(name.rpartition(".")[0] for name in modules() if "." in name and not is_package(name))
    wrong = {
        folder: size for folder, size in sizes.items() if size >= LARGER_FOLDERS.get(folder, MOST_MODULES_OF_A_FOLDER)
    }
    assert wrong == {}


def test_a_folder_of_the_page_holds_a_handful_of_files():
    page = ROOT / "interface" / "static" / "page"
    files = [file.relative_to(page) for file in page.rglob("*") if file.suffix in (".js", ".css")]
    # Of its words, each language has one file for each area.
    sizes = Counter(file.parent.as_posix() for file in files if file.parts[0] != "strings")
    assert len(sizes) > 1
    assert {folder: size for folder, size in sizes.items() if size > MOST_MODULES_OF_A_FOLDER} == {}


def test_no_module_is_a_piece_of_another():
    pieces = re.compile(r"_(parts|shapes|rows|marks|helpers|misc)$")
    allowed = {"database.migrations.m0012_message_parts"}  # named after its table
    assert [name for name in modules() if pieces.search(name) and name not in allowed] == []
