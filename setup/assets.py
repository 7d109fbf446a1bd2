"""Third-party files of the front end: fetched by the lock file, those in use copied to `interface/static/vendor`."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from environment import SetupError
from node import Node, find_node, forget_packaged_node, link_node
from stamps import ROOT, WORK, fingerprint, forget, is_current, remember, remove

INTERFACE = ROOT / "interface"
VENDOR = INTERFACE / "static" / "vendor"
PACKAGES = INTERFACE / "node_modules"
ICONS = INTERFACE / "icons.txt"
ESBUILD = WORK / "bin" / "esbuild"
LOCK = ("package.json", "package-lock.json", ".npmrc")

# The copied files, as a pattern below node_modules, and their folder in VENDOR, or their name there.
USED = (
    # Without AJAX and effects: jsTree uses these only where it fetches nodes itself, or is told to animate.
    ("jquery/dist/jquery.slim.min.js", "jquery.min.js"),
    ("bootstrap/dist/css/bootstrap.min.css", "."),
    ("marked/lib/marked.esm.js", "."),
    ("dompurify/dist/purify.es.mjs", "."),
    ("@highlightjs/cdn-assets/es/highlight.min.js", "."),
    ("katex/dist/katex.mjs", "katex"),
    ("katex/dist/katex.min.css", "katex"),
    ("katex/dist/fonts/*.woff2", "katex/fonts"),
    ("mermaid/dist/mermaid.min.js", "."),
)
# Modules that import others by their packages' names, which browsers don't know: each becomes one file in VENDOR.
JOINED = (("@floating-ui/dom/dist/floating-ui.dom.mjs", "floating-ui.mjs"),)
# Scripts one behind the other: the tree, with those of its plugins alone that the sidebar uses.
SCRIPTS = (
    (
        tuple(f"jstree/src/jstree{plugin}.js" for plugin in ("", ".types", ".wholerow", ".contextmenu", ".dnd")),
        "jstree.min.js",
    ),
)
# The program that joins the page's modules, below node_modules: one for each kind of machine, of which one is fetched.
JOINER = "@esbuild/*/bin/esbuild"


def prepare_assets(*, dev: bool) -> None:
    """Fill `interface/static/vendor`, unless that is done already.

    With `dev`, `interface/node_modules` stays, with ESLint and axe in it, and `.anaphora/bin/node` to run them.
    Otherwise the fetched packages, and a fetched Node, are deleted afterwards. `.anaphora/bin/esbuild` stays.
    """
    if dev:
        _prepare_packages()
    if is_current(VENDOR, "assets", _mark()) and ESBUILD.exists():
        return
    if dev:
        _copy_used(PACKAGES)
    else:
        _build_apart()


def _mark() -> str:
    return fingerprint(*(INTERFACE / name for name in LOCK), ICONS, Path(__file__))


def _prepare_packages() -> None:
    mark = fingerprint(*(INTERFACE / name for name in LOCK))
    fetched = is_current(PACKAGES, "packages", mark)
    if fetched and (WORK / "bin" / "node").exists():
        return
    node = find_node()
    link_node(node)
    if not fetched:
        forget(PACKAGES, "packages")
        _install(INTERFACE, node)
        remember(PACKAGES, "packages", mark)


def _build_apart() -> None:
    WORK.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="npm-", dir=WORK) as name:
        for file in LOCK:
            shutil.copy(INTERFACE / file, name)
        _install(Path(name), find_node(), "--omit=dev")
        _copy_used(Path(name) / "node_modules")
    if not (WORK / "bin" / "node").exists():
        forget_packaged_node()


def _install(folder: Path, node: Node, *options: str) -> None:
    print("Fetching the front end's packages …", flush=True)
    command = [*node.npm, "ci", "--no-progress", "--loglevel=error", *options]
    if subprocess.run(command, cwd=folder, check=False).returncode:
        raise SetupError("npm could not fetch the front end's packages; its messages are above.")


def _copy_used(packages: Path) -> None:
    draft = WORK / "vendor"
    remove(draft)
    for pattern, target in USED:
        found = sorted(packages.glob(pattern))
        if not found:
            raise SetupError(f"{pattern} is not in the fetched packages.")
        place = draft / target
        (place.parent if place.suffix else place).mkdir(parents=True, exist_ok=True)
        for file in found:
            shutil.copy(file, place)
    _keep_esbuild(packages)
    _join_libraries(packages, draft)
    (draft / "icons.svg").write_text(sprite(ICONS, packages / "bootstrap-icons" / "icons"), encoding="utf-8")
    remember(draft, "assets", _mark())
    remove(VENDOR)
    VENDOR.parent.mkdir(parents=True, exist_ok=True)
    draft.rename(VENDOR)


def _join_libraries(packages: Path, draft: Path) -> None:
    for module, name in JOINED:
        _esbuild(draft / name, "--bundle", "--format=esm", str(packages / module))
    for scripts, name in SCRIPTS:
        whole = "\n".join((packages / script).read_text(encoding="utf-8") for script in scripts)
        (draft / name).write_text(whole, encoding="utf-8")
        _esbuild(draft / name, "--minify", "--allow-overwrite", str(draft / name))


def _esbuild(target: Path, *options: str) -> None:
    command = [str(ESBUILD), *options, "--target=es2022", "--log-level=warning", f"--outfile={target}"]
    if subprocess.run(command, check=False).returncode:
        raise SetupError(f"{target.name} could not be made; esbuild's messages are above.")


def _keep_esbuild(packages: Path) -> None:
    [program] = packages.glob(JOINER)
    ESBUILD.parent.mkdir(parents=True, exist_ok=True)
    ESBUILD.unlink(missing_ok=True)
    shutil.copy(program, ESBUILD)


def sprite(names: Path, icons: Path) -> str:
    """One SVG with a `<symbol>` for each icon that `names` lists, one a line; `#` begins a comment."""
    symbols = []
    for line in names.read_text(encoding="utf-8").splitlines():
        name = line.partition("#")[0].strip()
        if not name:
            continue
        file = icons / f"{name}.svg"
        found = (
            re.search(r'viewBox="([^"]+)"[^>]*>(.*)</svg>', file.read_text("utf-8"), re.S) if file.exists() else None
        )
        if found is None:
            raise SetupError(f"{names.name} lists {name!r}, which is no icon of bootstrap-icons.")
        shapes = re.sub(r"\s*\n\s*", "", found[2])
        symbols.append(f'<symbol id="{name}" viewBox="{found[1]}" fill="currentColor">{shapes}</symbol>')
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(symbols)}</svg>\n'
