"""Build the wheel and the source archive, look at what is in them, and use both where there are no sources.

    python tools/dist_check.py

Everything happens in a temporary folder, from a copy of the files that git knows. What must hold:

- a tree full of what lies about in working trees gives the same bytes as a clean one, to wheel and archive;
- the archive has every file that git knows and its PKG-INFO; the wheel has the package and its metadata; no more;
- a wheel built from the archive is the wheel, to the byte;
- either, installed in an environment of its own, has every public name and every file, and embeds a graph.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]

# What working trees gather, some of it beside what is shipped.
JUNK = [
    ".venv/lib/site.py",
    ".venv-lowest/lib/site.py",
    ".hypothesis/examples/1",
    ".coverage",
    "build/lib/efge/old.py",
    "dist/efge-0.0.1.tar.gz",
    "cora.npz",
    "notes.txt",
    "src/efge/__pycache__/graph.cpython-310.pyc",
    "src/efge/kernels/__pycache__/walks.walk-1.py310.nbi",
    "src/efge/kernels/__pycache__/walks.walk-1.py310.1.nbc",
    "src/efge/kernels/walks.walk-1.py310.nbi",
    "src/efge/datasets/cora.tgz",
    "src/efge/datasets/edges.tsv",
    "src/efge/graph.py.orig",
    "src/efge/vectors.npz",
    "src/efge.egg-info/PKG-INFO",
    "tests/__pycache__/conftest.cpython-310.pyc",
    "tests/data/edges.tsv",
    "fuzz/crashes/0001.bin",
    "docs/.ipynb_checkpoints/club-checkpoint.ipynb",
    "docs/notebooks/vectors.npz",
    "docs/_build/html/index.html",
    "docs/api/efge.EFGE.rst",
    "docs/gallery/plot_1_karate_club.py",
    "docs/gallery/index.rst",
]
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def run(*command: str | Path, folder: Path) -> str:
    """What a command prints; if it fails, this program ends with what it said."""
    # Nobody's path of modules, and no folder of anybody's: what runs is what is installed.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"dist_check: {' '.join(map(str, command))} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def require(holds: bool, message: str) -> None:
    """End the program with the message unless it holds."""
    if not holds:
        sys.exit(f"dist_check: {message}")


def copy_tree(names: set[str], target: Path) -> Path:
    """The files of those names, in a folder that is new."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target / name)
        shutil.copymode(ROOT / name, target / name)
    return target


def environment(folder: Path, *requirements: str | Path) -> Path:
    """The interpreter of a new virtual environment that has what is required."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install(python, *requirements)
    return python


def install(python: Path, *requirements: str | Path) -> None:
    """Install into an environment; without compiling what will hardly be imported."""
    quiet = ("--quiet", "--disable-pip-version-check", "--no-compile")
    run(python, "-m", "pip", "install", *quiet, *requirements, folder=python.parent)


def build(python: Path, tree: Path, output: Path, *targets: str) -> list[Path]:
    """Build a tree; the files made, in the order of the targets."""
    for target in targets:
        run(python, "-m", "hatchling", "build", "--target", target, "--directory", output, folder=tree)
    suffixes = {"sdist": "*.tar.gz", "wheel": "*.whl"}
    return [next(output.glob(suffixes[target])) for target in targets]


def require_same(ours: set[str], expected: set[str], what: str) -> None:
    """End the program unless two sets of file names are one."""
    extra, missing = sorted(ours - expected), sorted(expected - ours)
    require(not extra, f"{what} has files that it should not have: {', '.join(extra)}")
    require(not missing, f"{what} lacks files; add their kind to pyproject.toml's include: {', '.join(missing)}")


def check_contents(sdist: Path, wheel: Path, tracked: set[str]) -> None:
    """The archive is what git knows; the wheel is the package."""
    with tarfile.open(sdist) as archive:
        shipped = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in archive.getnames()}
    require_same(shipped, tracked | {"PKG-INFO"}, "the sdist")
    package = {name.removeprefix("src/") for name in tracked if name.startswith("src/efge/")}
    info = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    with zipfile.ZipFile(wheel) as archive:
        require_same(set(archive.namelist()), package | {f"{info}/{name}" for name in METADATA}, "the wheel")


def build_all(folder: Path, tracked: set[str]) -> tuple[Path, Path]:
    """The archive and the wheel, built by the oldest builder allowed, from a clean tree and twice more otherwise."""
    lowest = re.search(r'requires = \["hatchling>=([\d.]+)"\]', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert lowest, "pyproject.toml says which hatchling builds us"
    builder = environment(folder / "builder", f"hatchling=={lowest[1]}")
    sdist, wheel = build(builder, copy_tree(tracked, folder / "clean"), folder / "dist", "sdist", "wheel")

    dirty = copy_tree(tracked, folder / "dirty")
    for name in JUNK:
        (dirty / name).parent.mkdir(parents=True, exist_ok=True)
        (dirty / name).write_text("junk\n")
    for ours, again in zip((sdist, wheel), build(builder, dirty, folder / "dist-dirty", "sdist", "wheel"), strict=True):
        require(ours.read_bytes() == again.read_bytes(), f"{ours.name} is another when built again in a dirty tree")

    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    (again,) = build(builder, unpacked, folder / "dist-unpacked", "wheel")
    require(wheel.read_bytes() == again.read_bytes(), "the wheel built from the sdist is another")
    return sdist, wheel


def main() -> None:
    """Build, look, install, use."""
    tracked = set(run("git", "ls-files", "-z", folder=ROOT).split("\0")) - {""}
    # The time of the last commit, for all files of all builds.
    os.environ["SOURCE_DATE_EPOCH"] = run("git", "log", "-1", "--format=%ct", folder=ROOT).strip()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sdist, wheel = build_all(folder, tracked)
        check_contents(sdist, wheel, tracked)
        print(f"{sdist.name} and {wheel.name}: nothing missing, nothing else, the same bytes from any tree")

        job = shutil.copyfile(ROOT / "tools" / "installed.py", folder / "installed.py")
        python = environment(folder / "installed", wheel)
        run(python, "-I", job, "--embed", folder=folder)
        print(f"{wheel.name}: installed and used")
        # The same bytes as from the wheel, so that what is compiled is not compiled again.
        install(python, "--force-reinstall", "--no-deps", sdist)
        run(python, "-I", job, folder=folder)
        print(f"{sdist.name}: installed and used")


if __name__ == "__main__":
    main()
