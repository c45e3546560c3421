"""Build the wheel and the source archive, check their contents, and use both in a fresh environment.

    python tools/dist_check.py

Everything happens in a temporary folder, from a copy of the files that git tracks. The program checks that

- a working tree with untracked files, of a user whose files are private, in another language and time zone, gives the
  same wheel and archive, byte for byte, as a clean one;
- the archive has exactly the tracked files and PKG-INFO; the wheel has exactly the package and its metadata;
- a wheel built from the archive equals the wheel, byte for byte;
- both are small, and a registry of packages can show their description (twine check --strict);
- both, installed in a new environment, agree with what else is there (pip check), have every public name and every
  file, and embed a graph.
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]

# Untracked files that working trees collect, some of them inside the package.
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
# Bytes of an archive, at most: the pictures of the documentation are in the sdist.
MAX_BYTES = {"wheel": 1_000_000, "sdist": 3_000_000}
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def run(*command: str | Path, folder: Path) -> str:
    """Run a command and return its output; if it fails, exit with its output."""
    # Without PYTHONPATH and similar variables, only installed packages are imported.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"dist_check: {' '.join(map(str, command))} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def require(condition: bool, message: str) -> None:
    """Exit with the message unless the condition holds."""
    if not condition:
        sys.exit(f"dist_check: {message}")


def copy_tree(names: set[str], target: Path) -> Path:
    """Copy files of the repository into a new folder."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target / name)
        shutil.copymode(ROOT / name, target / name)
    return target


def make_environment(folder: Path, *requirements: str | Path) -> Path:
    """Create a virtual environment with these packages and return its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install(python, *requirements)
    return python


def install(python: Path, *requirements: str | Path) -> None:
    """Install packages into an environment, without compiling them to bytecode."""
    quiet = ("--quiet", "--disable-pip-version-check", "--no-compile")
    run(python, "-m", "pip", "install", *quiet, *requirements, folder=python.parent)


def build(python: Path, tree: Path, output: Path, *targets: str) -> list[Path]:
    """Build distributions of a tree and return their paths, in the order of the targets."""
    for target in targets:
        run(python, "-m", "hatchling", "build", "--target", target, "--directory", output, folder=tree)
    suffixes = {"sdist": "*.tar.gz", "wheel": "*.whl"}
    return [next(output.glob(suffixes[target])) for target in targets]


def require_same(actual: set[str], expected: set[str], archive: str) -> None:
    """Exit unless an archive has exactly the expected files."""
    extra, missing = sorted(actual - expected), sorted(expected - actual)
    require(not extra, f"{archive} has files that it should not have: {', '.join(extra)}")
    require(not missing, f"{archive} lacks files; add their suffix to include in pyproject.toml: {', '.join(missing)}")


def check_contents(sdist: Path, wheel: Path, tracked: set[str]) -> None:
    """Check that the archive has the tracked files, and the wheel the package."""
    with tarfile.open(sdist) as archive:
        shipped = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in archive.getnames()}
    require_same(shipped, tracked | {"PKG-INFO"}, "the sdist")
    package = {name.removeprefix("src/") for name in tracked if name.startswith("src/efge/")}
    info = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    with zipfile.ZipFile(wheel) as archive:
        require_same(set(archive.namelist()), package | {f"{info}/{name}" for name in METADATA}, "the wheel")


def make_dirty_tree(tracked: set[str], target: Path) -> Path:
    """Copy files of the repository into a new folder with untracked ones, all of them readable by their owner only."""
    tree = copy_tree(tracked, target)
    for name in JUNK:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("junk\n")
    for path in tree.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
    return tree


@contextmanager
def elsewhere() -> Iterator[None]:
    """Run commands as on the machine of somebody else: another language, time zone, and mode of new files."""
    before = {name: os.environ.get(name) for name in ("LC_ALL", "TZ")}
    os.environ.update(LC_ALL="C", TZ="Pacific/Kiritimati")
    umask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(umask)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def build_all(folder: Path, tracked: set[str]) -> tuple[Path, Path]:
    """Build archive and wheel with the oldest allowed builder: from a clean tree, a dirty one, and the archive."""
    lowest = re.search(r'requires = \["hatchling>=([\d.]+)"\]', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert lowest, "pyproject.toml states the lowest version of hatchling"
    builder = make_environment(folder / "builder", f"hatchling=={lowest[1]}")
    sdist, wheel = build(builder, copy_tree(tracked, folder / "clean"), folder / "dist", "sdist", "wheel")

    with elsewhere():
        others = build(builder, make_dirty_tree(tracked, folder / "dirty"), folder / "dist-dirty", "sdist", "wheel")
    for first, again in zip((sdist, wheel), others, strict=True):
        require(first.read_bytes() == again.read_bytes(), f"{first.name} differs when built in a dirty tree")

    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "extracted", filter="data")
    (extracted,) = (folder / "extracted").iterdir()
    (again,) = build(builder, extracted, folder / "dist-extracted", "wheel")
    require(wheel.read_bytes() == again.read_bytes(), "the wheel built from the sdist differs")
    return sdist, wheel


def check_description(python: Path, archives: list[Path]) -> None:
    """Check the size of the archives, and that their description can be shown."""
    for kind, archive in zip(("sdist", "wheel"), archives, strict=True):
        size = archive.stat().st_size
        require(size <= MAX_BYTES[kind], f"{archive.name} has {size:,} bytes, more than {MAX_BYTES[kind]:,}")
    run(python, "-m", "twine", "check", "--strict", *archives, folder=python.parent)


def main() -> None:
    """Build both distributions, check their contents, install and use them."""
    tracked = set(run("git", "ls-files", "-z", folder=ROOT).split("\0")) - {""}
    # All files get the time of the last commit, so that builds are reproducible.
    os.environ["SOURCE_DATE_EPOCH"] = run("git", "log", "-1", "--format=%ct", folder=ROOT).strip()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sdist, wheel = build_all(folder, tracked)
        check_contents(sdist, wheel, tracked)
        print(f"{sdist.name} and {wheel.name}: complete, nothing else, the same bytes from any tree")
        check_description(make_environment(folder / "twine", "twine"), [sdist, wheel])
        sizes = " and ".join(f"{archive.stat().st_size:,}" for archive in (sdist, wheel))
        print(f"{sdist.name} and {wheel.name}: {sizes} bytes, with a description that can be shown")

        script = shutil.copyfile(ROOT / "tools" / "installed.py", folder / "installed.py")
        python = make_environment(folder / "installed", wheel)
        run(python, "-m", "pip", "check", folder=folder)
        run(python, "-I", script, "--embed", folder=folder)
        print(f"{wheel.name}: installed and used")
        # The files are those of the wheel, so compiled kernels are reused.
        install(python, "--force-reinstall", "--no-deps", sdist)
        run(python, "-I", script, folder=folder)
        print(f"{sdist.name}: installed and used")


if __name__ == "__main__":
    main()
