"""Check an installed efge, away from its sources; run it with the interpreter of that installation and -I.

    python -I tools/installed.py [--embed]

With --embed it also trains vectors of a small graph with the command line. It stops with an error at the first failure.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import files, version
from importlib.resources import files as resources
from pathlib import Path

import efge

# Files that the code opens by name.
DATA = {
    "efge": ["py.typed"],
    "efge.experiments": ["experiments.toml", "links.csv", "networks.csv", "report_page.html"],
    "efge.explore": ["page.html", "page.css", "data.js", "map.js", "overlay.js", "panel.js", "page.js"],
}


def command(*arguments: str) -> str:
    """Run the installed command and return what it prints."""
    script = Path(sys.executable).with_name("efge")
    return subprocess.run([script, *arguments], check=True, capture_output=True, text=True).stdout


def check_installed() -> None:
    """Check that the installed package is imported, not a source tree, and that no file is missing."""
    assert Path(efge.__file__).is_relative_to(sys.prefix), efge.__file__
    assert version("efge") == efge.__version__
    assert command("--version") == f"efge {efge.__version__}\n"
    missing = [str(path) for path in files("efge") or () if not Path(str(path.locate())).is_file()]
    assert not missing, missing


def check_names_and_data() -> None:
    """Check that every public name can be imported, and that the data files exist."""
    for name in efge.__all__:
        getattr(efge, name)
    for package, names in DATA.items():
        for name in names:
            assert (resources(package) / name).is_file(), f"{package}: {name}"
    from efge.experiments.plan import STUDIES, load_settings, published_table

    assert set(load_settings()["studies"]) == set(STUDIES)
    assert published_table("networks.csv")["cora", "edges"] == 5278


def check_embedding() -> None:
    """Check that the command embeds a ring of ten nodes."""
    with tempfile.TemporaryDirectory() as folder:
        graph, vectors = Path(folder, "ring.txt"), Path(folder, "ring.csv")
        graph.write_text("".join(f"n{node} n{(node + 1) % 10}\n" for node in range(10)))
        command("embed", str(graph), "--output", str(vectors), "--dim", "4", "--seed", "1")
        embedding = efge.Embedding.load(vectors)
        assert embedding.vectors.shape == (10, 4)
        assert set(embedding.names) == {f"n{node}" for node in range(10)}


if __name__ == "__main__":
    check_installed()
    check_names_and_data()
    if "--embed" in sys.argv[1:]:
        check_embedding()
