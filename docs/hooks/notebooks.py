"""Notebooks become pages: text as it is, code as blocks, and what was printed or drawn when the notebook last ran.

`jupyter execute --inplace docs/notebooks/*.ipynb` runs them again; no notebook is run when the site is built.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each notebook."""
    for path in sorted(Path(config.docs_dir, "notebooks").glob("*.ipynb")):
        page = "\n\n".join(_parts(json.loads(path.read_text("utf-8")), path.name))
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page))
    return files


def _parts(notebook: dict[str, Any], name: str) -> Iterator[str]:
    for number, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield source
            if not number:
                yield f"*This page is the notebook `docs/notebooks/{name}`, with what it printed when it last ran.*"
            continue
        yield f"```python\n{source}\n```"
        printed = _one([_one(output["text"]) + "\n" for output in cell["outputs"] if "text" in output])
        yield from filter(None, [_block(printed), *(_shown(output.get("data", {})) for output in cell["outputs"])])


def _shown(data: dict[str, Any]) -> str:
    """What a cell drew or answered."""
    if "image/png" in data:
        source = f"data:image/png;base64,{_one(data['image/png'])}"
        return f'<img class="figure" alt="what the cell above draws" src="{source}">'
    return _block(_one(data.get("text/plain", "")))


def _block(text: str) -> str:
    return f"```text\n{text}\n```" if text else ""


def _one(text: str | list[str]) -> str:
    return "".join(text).strip("\n")
