"""Set-up can be broken off and what it made can be deleted at any point: the next run makes it whole."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

import assets
import browser
import environment
import joined_page
import node
import stamps

# Each makes virtual environments.
pytestmark = pytest.mark.live

TINY = "tiny-1.0.dist-info"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh clone that needs one package, which lies beside it."""
    wheel = tmp_path / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{TINY}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr(f"{TINY}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny.py", "")
        archive.writestr(f"{TINY}/RECORD", f"tiny.py,,\n{TINY}/METADATA,,\n{TINY}/WHEEL,,\n{TINY}/RECORD,,\n")
    root = tmp_path / "clone"
    root.mkdir()
    (root / "requirements.txt").write_text(f"{wheel}\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(environment, "ROOT", root)
    monkeypatch.setattr(environment, "VENV", root / ".venv")
    monkeypatch.setattr(stamps, "WORK", root / ".anaphora")
    return root


def make_environment(folder: Path, *, parts_of_pip: tuple[str, ...] = ("pip", "dist-info")) -> None:
    """As set-up makes it, but quickly: with a copy of the pip that these tests have."""
    venv.create(folder, symlinks=True)
    ours = Path(str(distribution("pip").locate_file("")))
    [packages] = folder.glob("lib/python*/site-packages")
    for part in parts_of_pip:
        [source] = ours.glob("pip" if part == "pip" else f"pip-*.{part}")
        shutil.copytree(source, packages / source.name)


def has_tiny(root: Path) -> bool:
    return subprocess.run([root / ".venv" / "bin" / "python", "-c", "import tiny"], check=False).returncode == 0


def test_a_deleted_environment_is_filled_again(clone: Path) -> None:
    for _ in range(2):
        make_environment(clone / ".venv")
        environment.prepare_environment(dev=False)
        assert len(list(clone.glob(".venv/lib/python*/site-packages/__pycache__/tiny.*.pyc"))) == 1
        assert has_tiny(clone)
        shutil.rmtree(clone / ".venv")


@pytest.mark.parametrize("parts_of_pip", [(), ("pip",)])
def test_an_environment_whose_making_was_broken_off_is_made_anew(
    parts_of_pip: tuple[str, ...], clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        stamps.remove(folder)
        make_environment(folder)

    make_environment(clone / ".venv", parts_of_pip=parts_of_pip)
    monkeypatch.setattr(environment, "make_venv", make)
    environment.prepare_environment(dev=False)
    assert has_tiny(clone)
    environment.prepare_environment(dev=False)
    assert made == [clone / ".venv"]


def test_a_package_whose_installing_was_broken_off_is_installed_again(clone: Path) -> None:
    make_environment(clone / ".venv")
    [packages] = clone.glob(".venv/lib/python*/site-packages")
    (packages / TINY).mkdir()
    (packages / TINY / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    environment.prepare_environment(dev=False)
    assert has_tiny(clone)


def test_an_environment_can_be_made_anew_by_its_own_interpreter(clone: Path) -> None:
    make_environment(clone / ".venv")
    shutil.copytree(Path(environment.__file__).parent, clone / "setup", ignore=shutil.ignore_patterns("__pycache__"))
    code = "import environment; environment.make_venv(environment.VENV); print(environment._has_pip(environment.VENV))"
    command = [clone / ".venv" / "bin" / "python", "-c", code]
    output = subprocess.run(command, cwd=clone / "setup", capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == "True"


def uv_of(script: str, tmp_path: Path) -> str:
    """A wheel whose `uv` is a script; `$real` is the uv that these tests have."""
    wheel, info = tmp_path / "uv-1.0-py3-none-any.whl", "uv-1.0.dist-info"
    program = zipfile.ZipInfo("uv-1.0.data/scripts/uv")
    program.external_attr = (stat.S_IFREG | 0o755) << 16
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: uv\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(program, f"#!/bin/sh\nreal={Path(sys.prefix) / 'bin' / 'uv'}\n{script}\n")
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in archive.namelist()))
    return str(wheel)


def installer_of_tiny(clone: Path) -> str:
    [installer] = clone.glob(f".venv/lib/python*/site-packages/{TINY}/INSTALLER")
    return installer.read_text().strip()


def test_uv_installs_the_packages(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.UV in Path("requirements-dev.txt").read_text().splitlines()
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setattr(environment, "UV", uv_of('exec $real "$@"', tmp_path))
    make_environment(clone / ".venv")
    environment.prepare_environment(dev=False)
    assert has_tiny(clone)
    assert installer_of_tiny(clone) == "uv"


@pytest.mark.parametrize("broken", [False, True])
def test_where_uv_can_not_install_them_pip_does(
    broken: bool, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Because there is no uv for this machine, or because it ended with half of a package installed."""
    monkeypatch.delenv("PIP_NO_INDEX")
    half = f'for place in "$(dirname $0)"/../lib/python*/site-packages; do mkdir $place/{TINY}; done; exit 1'
    monkeypatch.setattr(environment, "UV", uv_of(half, tmp_path) if broken else str(tmp_path / "uv-none.whl"))
    make_environment(clone / ".venv")
    environment.prepare_environment(dev=False)
    assert has_tiny(clone)
    assert installer_of_tiny(clone) == "pip"


def test_pip_installs_the_packages_where_it_has_an_index_of_its_own(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "mirror").as_uri())
    monkeypatch.setattr(environment, "UV", uv_of('exec $real "$@"', tmp_path))
    make_environment(clone / ".venv")
    environment.prepare_environment(dev=False)
    assert has_tiny(clone)
    assert installer_of_tiny(clone) == "pip"


@pytest.fixture
def front_end(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Prepare a front end that needs one file; its npm breaks down half way where a file says so."""
    folder, programs = clone / "interface", clone / "programs"
    for made in (folder, programs):
        made.mkdir()
    (folder / "icons.txt").write_text("")
    for name in assets.LOCK:
        (folder / name).write_text("{}")
    (programs / "node").write_text("#!/bin/sh\necho v99.0.0\n")
    fetch = "mkdir -p node_modules; test ! -e broken || exit 1; echo 1 | tee node_modules/tiny.js node_modules/join"
    (programs / "npm").write_text(f"#!/bin/sh\n{fetch}\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setattr(assets, "USED", (("tiny.js", "."),))
    monkeypatch.setattr(assets, "JOINER", "join")
    monkeypatch.setattr(assets, "JOINED", ())
    monkeypatch.setattr(assets, "SCRIPTS", ())
    monkeypatch.setattr(assets, "ESBUILD", clone / ".anaphora" / "bin" / "esbuild")
    monkeypatch.setattr(assets, "WORK", clone / ".anaphora")
    monkeypatch.setattr("node.WORK", clone / ".anaphora")
    places = {"INTERFACE": ".", "VENDOR": "static/vendor", "PACKAGES": "node_modules", "ICONS": "icons.txt"}
    for name, path in places.items():
        monkeypatch.setattr(assets, name, folder / path)
    return lambda: assets.prepare_assets(dev=True)


def test_what_is_deleted_of_the_front_end_comes_again(front_end: Callable[[], Any], clone: Path) -> None:
    folder = clone / "interface"
    programs = [clone / ".anaphora/bin/node", clone / ".anaphora/bin/esbuild"]
    needed = [folder / "static/vendor/tiny.js", folder / "node_modules/tiny.js", *programs]
    for gone in (folder / "static/vendor", folder / "node_modules", clone / ".anaphora", None):
        front_end()
        assert [path for path in needed if not path.exists()] == []
        if gone is not None:
            shutil.rmtree(gone)


def test_packages_that_were_fetched_half_are_fetched_again(front_end: Callable[[], Any], clone: Path) -> None:
    packages, broken = clone / "interface" / "node_modules", clone / "interface" / "broken"
    front_end()
    shutil.rmtree(packages)
    broken.touch()
    with pytest.raises(environment.SetupError):
        front_end()
    assert packages.exists()
    broken.unlink()
    front_end()
    assert (packages / "tiny.js").exists()


@pytest.fixture
def page_folder(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The static files of a small page: what it starts with, and a part that it loads later."""
    static = clone / "interface" / "static"
    modules = {
        "page/app/main.js": "import { say } from '../ui/say.js';\nsay(await import('../search/panel.js'));",
        "page/app/settings.js": "import { say } from '../ui/say.js';\nsay(await import('../search/panel.js'));",
        "page/app/shared.js": "",
        "page/search/panel.js": "import { say } from '../ui/say.js';\nexport const open = () => say('panel');",
        "page/ui/later.js": "export const later = (name) => ['later', name];",
        "page/ui/say.js": "/** @type {import('./never.js').Say} */\nexport const say = (text) => console.warn(text);",
        "page/ui/base.css": "/* of all */\na {\n  color: red;\n  & b {\n    margin: 0;\n  }\n}\n",
        "vendor/bootstrap.min.css": "a{color:red}",
        "vendor/library.js": "",
    }
    for name, text in modules.items():
        (static / name).parent.mkdir(parents=True, exist_ok=True)
        (static / name).write_text(text)
    names = {"STATIC": static, "BUILT": static / "built", "WORK": clone / ".anaphora"}
    for name, value in names.items():
        monkeypatch.setattr(joined_page, name, value)
    return static


def test_the_page_is_joined_into_what_it_starts_with_and_what_it_loads_later(page_folder: Path) -> None:
    joined_page.prepare_joined_page()
    built = page_folder / "built"
    assert {file.name for file in built.glob("*.js")} == {
        "common.js",
        "later.js",
        "main.js",
        "settings.js",
        "shared.js",
    }
    assert '"search/panel.js"' in (built / "main.js").read_text()
    assert '"panel"' not in (built / "main.js").read_text()
    assert '"panel"' in (built / "later.js").read_text()
    # The other pages have all that they need in one file.
    assert '"panel"' in (built / "settings.js").read_text()


def test_the_page_is_joined_for_each_language_with_its_words(page_folder: Path) -> None:
    words = {
        "en/panel.js": "export const words = { title: 'Search' };",
        "en/other.js": "export const other = 'not translated';",
        "de/panel.js": "import { words as english } from '../en/panel.js';\nimport { fill } from '../fill.js';\n"
        "export const words = fill(english, { title: 'Suche' });",
        "fill.js": "export const fill = (english, own) => ({ ...english, ...own });",
    }
    for name, text in words.items():
        file = page_folder / "page/strings" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    panel = page_folder / "page/search/panel.js"
    imported = "import { words } from '../strings/en/panel.js';\nimport { other } from '../strings/en/other.js';\n"
    panel.write_text(f"{imported}export const open = () => [words.title, other];")
    joined_page.prepare_joined_page()
    english, german = ((page_folder / "built" / name).read_text() for name in ("later.js", "de/later.js"))
    assert "Search" in english
    assert "Suche" not in english
    assert "Suche" in german
    # A translation is complete: what it begins with is not sent along.
    assert "Search" not in german
    assert "not translated" in german
    assert "Suche" in (page_folder / "built/de/settings.js").read_text()


def test_a_joined_page_has_the_rules_for_classes_that_it_or_a_template_names(page_folder: Path) -> None:
    beginning = '@charset "UTF-8";/*! of www.example.org, by others */'
    kept = (
        ":root,[data-theme=light]{--a:1}",
        ".btn,a:not(.off){color:red}",
        ".btn:not(.off)>.note{background:url(\"data:image/svg+xml,%3csvg fill='%23fff'/%3e\")}",
        "@media (min-width:1px){.btn{margin:0}}",
        "@keyframes turn{0%{opacity:0}to{opacity:1}}",
    )
    dropped = (".off{color:red}", ".btn.off,.btn .off{color:red}", "@media print{.off{margin:0}.off a{margin:0}}")
    sheet = beginning + "".join((*kept, *dropped)).replace(".btn,a", ".btn,.off .btn,a")
    (page_folder / "vendor/bootstrap.min.css").write_text(sheet)
    (page_folder / "page/ui/say.js").write_text("export const say = (text) => element('p', { class: 'note' }, text);")
    template = page_folder.parent / "templates" / "page.html"
    template.parent.mkdir()
    template.write_text('<button class="btn other">')
    joined_page.prepare_joined_page()
    trimmed = page_folder / "built/vendor/bootstrap.min.css"
    assert trimmed.read_text() == beginning + "".join(kept)
    template.write_text('<button class="btn off">')
    joined_page.prepare_joined_page()
    assert trimmed.read_text() == sheet


def test_a_joined_page_has_its_style_sheets_minified(page_folder: Path) -> None:
    joined_page.prepare_joined_page()
    assert (page_folder / "built/page/ui/base.css").read_text() == "a{color:red;& b{margin:0}}\n"
    (page_folder / "page/ui/base.css").write_text("a {\n  color: blue;\n}\n")
    joined_page.prepare_joined_page()
    assert (page_folder / "built/page/ui/base.css").read_text() == "a{color:#00f}\n"


def test_a_joined_page_is_made_again_only_when_it_is_deleted_or_a_module_changes(page_folder: Path) -> None:
    def built_anew() -> bool:
        before = page_folder / "built" / "before"
        joined_page.prepare_joined_page()
        anew = not before.exists()
        before.touch()
        return anew

    assert built_anew()
    assert not built_anew()
    shutil.rmtree(page_folder / "built")
    assert built_anew()
    (page_folder / "page/search/panel.js").write_text("export const open = () => 'another';")
    assert built_anew()
    assert '"another"' in (page_folder / "built" / "later.js").read_text()
    (page_folder / "page/search/panel.js").rename(page_folder / "page/search/other.js")
    with pytest.raises(environment.SetupError):
        joined_page.prepare_joined_page()
    # What was built before stays; the server sees that it was made of other modules.
    assert (page_folder / "built" / "later.js").exists()


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Put a program that says something onto an otherwise empty PATH: programs(name, said)."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def put(name: str, said: str) -> Path:
        program = folder / name
        program.write_text(f"#!/bin/sh\necho '{said}'\n")
        program.chmod(0o755)
        return program

    return put


@pytest.mark.parametrize(
    ("version", "is_taken"),
    [("v20.19.0", True), ("v24.1.0", True), ("v20.18.9", False), ("v8.99.0", False), ("no version", False)],
)
def test_the_systems_node_is_taken_where_it_is_new_enough_and_has_npm(
    programs: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch, version: str, is_taken: bool
) -> None:
    packaged = node.Node("/packaged/node", ("/packaged/npm",))
    monkeypatch.setattr(node, "_packaged_node", lambda: packaged)
    program = programs("node", version)
    assert node.find_node() == packaged  # there is no npm
    npm = programs("npm", "")
    assert node.find_node() == (node.Node(str(program), (str(npm),)) if is_taken else packaged)


def test_the_browser_is_a_light_one_else_the_systems_else_setting_up_says_so(
    programs: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, python = tmp_path / "bin" / "chromium", tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    monkeypatch.setattr(browser, "LINK", link)
    monkeypatch.setattr(browser, "VENV", tmp_path / "venv")
    monkeypatch.setattr(browser, "install_debian_package", lambda _name: False)
    programs("python", "").rename(python)  # Playwright has no Chromium either
    with pytest.raises(environment.SetupError, match="need Chromium"):
        browser.prepare_browser()
    programs("chromium-browser", "")
    browser.prepare_browser()
    assert link.resolve().name == "chromium-browser"
    installed: list[str] = []

    def install(name: str) -> bool:
        installed.append(name)
        if name != "chromium":
            return False
        programs(name, "")
        return True

    monkeypatch.setattr(browser, "install_debian_package", install)
    link.unlink()
    browser.prepare_browser()
    assert (installed, link.resolve().name) == (["chromium-headless-shell", "chromium"], "chromium")
    programs("chromium-headless-shell", "")
    browser.prepare_browser()  # one is there by now
    assert link.resolve().name == "chromium"
    link.unlink()
    browser.prepare_browser()
    assert (len(installed), link.resolve().name) == (2, "chromium-headless-shell")
