"""The page's modules joined into a few files by esbuild: `interface/static/built`.

`main.js` with `common.js` is what the page starts with, `later.js` every part that it loads when it is first needed.
The other pages are one file each. Style sheets have the same names as where they come from: those below `page` are
minified, and `vendor/bootstrap.min.css` has the rules for classes that a module or a template names. `manifest.json`
tells the server which modules and style sheets all these were made of.

Modules import the words that people read from `page/strings/en`. Each other language has the same files in a folder of
its own, joined with the words of `page/strings/<language>`: a page loads one language. The English words that a
translation begins with stay out, since each translation is complete (`tests/js/languages.test.mjs`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import style_sheet
from environment import SetupError
from stamps import ROOT, WORK, fingerprint, is_current, remember, remove
from style_sheet import named_classes, only_used

STATIC = ROOT / "interface" / "static"
BUILT = STATIC / "built"
ESBUILD = WORK / "bin" / "esbuild"
PAGE = "page/app/main.js"
OTHER_PAGES = ("page/app/settings.js", "page/app/shared.js")
# What these modules load when they need it is joined with their page.
ANOTHER_PAGES_FOLDER = "settings"
STYLES = "vendor/bootstrap.min.css"
OPTIONS = ("--minify", "--charset=utf8", "--log-level=warning")
JOINED = ("--bundle", "--format=esm", "--target=es2022", "--entry-names=[name]")
_ENGLISH = "en"
_WORDS = re.compile(r"(?<=/strings/)en(?=/(\w+\.js)')")
_ENGLISH_WORDS = re.compile(r"^import \{ \w+ as english \} from '\.\./en/\w+\.js';\n", re.MULTILINE)
_FILLED = re.compile(r"\bfill\(english, (?=\{)")
_IMPORT = re.compile(r"\bimport\('(\.[^']+\.js)'\)")
_COMMENT = ("*", "/*", "//")


def is_joined_page_current() -> bool:
    """Whether the page's modules and style sheets were joined as they are now."""
    return is_current(BUILT, "page", _mark(_sources()))


def prepare_joined_page() -> None:
    """Join the page's modules and minify its style sheets, unless that is done already.

    Needs what `prepare_assets` prepares, and no network.
    """
    if is_joined_page_current():
        return
    sources = _sources()
    mark = _mark(sources)
    WORK.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="page-", dir=WORK) as name:
        draft = Path(name) / "built"
        for language in _languages():
            _join_page(Path(name) / language, draft if language == _ENGLISH else draft / language, language)
        _trim_styles(draft / STYLES)
        _minify_styles(draft)
        made_of = {path.relative_to(STATIC).as_posix(): _hash(path) for path in sources}
        (draft / "manifest.json").write_text(json.dumps({"made_of": made_of}), encoding="utf-8")
        remember(draft, "page", mark)
        remove(BUILT)
        draft.rename(BUILT)


def _sources() -> list[Path]:
    files = (path for folder in ("page", "vendor") for path in (STATIC / folder).rglob("*.*"))
    return sorted(path for path in files if path.suffix in {".js", ".mjs", ".css"})


def _pages_sources() -> list[Path]:
    """Where the classes of elements are written down: modules, except those with the words, and templates."""
    modules = (path for path in (STATIC / "page").rglob("*.js") if "strings" not in path.parts)
    pages = (path for folder in (STATIC, STATIC.parent / "templates") for path in folder.rglob("*.html"))
    return sorted([*modules, *pages])


def _trim_styles(target: Path) -> None:
    used = named_classes(path.read_text(encoding="utf-8") for path in _pages_sources())
    sheet = (STATIC / STYLES).read_text(encoding="utf-8")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(only_used(sheet, used), encoding="utf-8")


def _minify_styles(target: Path) -> None:
    sheets = sorted((STATIC / "page").rglob("*.css"))
    _esbuild(target, f"--outbase={STATIC}", *sheets)


def _languages() -> list[str]:
    return sorted({_ENGLISH} | {folder.name for folder in (STATIC / "page" / "strings").glob("*/")})


def _mark(sources: list[Path]) -> str:
    names = " ".join(path.relative_to(STATIC).as_posix() for path in sources)
    programs = (Path(__file__), Path(style_sheet.__file__), ROOT / "interface" / "package-lock.json")
    return fingerprint(*programs, *sources, *_pages_sources()) + names


def _join_page(copy: Path, target: Path, language: str) -> None:
    """Join the pages in a copy of the modules; parts that `PAGE` loads later come from one file."""
    shutil.copytree(STATIC / "page", copy / "page")
    (copy / "vendor").symlink_to(STATIC / "vendor")
    folder = copy / "page"
    if language != _ENGLISH:
        _translate(folder, language)
    _esbuild(target, *JOINED, *(copy / entry for entry in OTHER_PAGES))
    modules = (path for path in folder.rglob("*.js") if not path.is_relative_to(folder / ANOTHER_PAGES_FOLDER))
    later = sorted({part for path in modules for part in _take_from_later(path, folder)})
    lines = [f"import * as part{number} from './{part}';" for number, part in enumerate(later)]
    lines += ["export const modules = {", *(f"  '{part}': part{number}," for number, part in enumerate(later)), "};"]
    (folder / "later.js").write_text("\n".join(lines), encoding="utf-8")
    _esbuild(target, *JOINED, copy / PAGE, folder / "later.js", "--splitting", "--chunk-names=common")


def _translate(folder: Path, language: str) -> None:
    """Make modules import their words in `language`, and its words do without the English ones."""
    strings = folder / "strings"
    for path in (strings / language).glob("*.js"):
        text = path.read_text(encoding="utf-8")
        path.write_text(_ENGLISH_WORDS.sub("", _FILLED.sub("(", text)), encoding="utf-8")
    for path in folder.rglob("*.js"):
        if not path.is_relative_to(strings):
            text = path.read_text(encoding="utf-8")
            path.write_text(
                _WORDS.sub(lambda found: language if (strings / language / found[1]).exists() else _ENGLISH, text),
                encoding="utf-8",
            )


def _take_from_later(path: Path, folder: Path) -> set[str]:
    """Make a module take its parts from the joined file. Returns the names of the parts, below `folder`."""
    parts = set[str]()

    def taken(found: re.Match[str]) -> str:
        part = Path(os.path.normpath(path.parent / found[1])).relative_to(folder).as_posix()
        parts.add(part)
        return f"later('{part}')"

    lines = path.read_text(encoding="utf-8").split("\n")
    joined = [line if line.lstrip().startswith(_COMMENT) else _IMPORT.sub(taken, line) for line in lines]
    if parts:
        source = Path(os.path.relpath(folder / "ui" / "later.js", path.parent)).as_posix()
        # After the last line: no other line changes its number.
        joined.append(f"import {{ later }} from './{source}';")
        path.write_text("\n".join(joined), encoding="utf-8")
    return parts


def _esbuild(target: Path, *arguments: Path | str) -> None:
    command = [str(ESBUILD), *OPTIONS, f"--outdir={target}", *map(str, arguments)]
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
        raise SetupError("The page's modules and style sheets could not be joined; esbuild's messages are above.")


def _hash(path: Path) -> str:
    # As the server hashes the files that it serves: endpoints/http/assets.py.
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
