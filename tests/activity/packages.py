"""Installing the example packages, by pip, beside the packages of the test run."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def install(*names: str, target: Path) -> None:
    """Install the examples of these names into the folder `target`, without a network."""
    wheels = [_wheel(ROOT / "examples" / name, target.parent) for name in names]
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir")
    subprocess.run((*pip, "--no-index", "--no-deps", "--target", target, *wheels), check=True, timeout=300)


def _wheel(package: Path, folder: Path) -> Path:
    """The wheel that a build of the package gives: builders would have to be downloaded."""
    described = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))
    project, modules = described["project"], described["tool"]["setuptools"]["py-modules"]
    distribution = f"{project['name'].replace('-', '_')}-{project['version']}"
    entry_points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    )
    info = {
        "METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "entry_points.txt": entry_points,
    }
    files = {f"{module}.py": (package / f"{module}.py").read_text(encoding="utf-8") for module in modules}
    files |= {f"{distribution}.dist-info/{name}": text for name, text in info.items()}
    record = f"{distribution}.dist-info/RECORD"
    wheel = folder / f"{distribution}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
        packed.writestr(record, "".join(f"{name},,\n" for name in [*files, record]))
    return wheel
