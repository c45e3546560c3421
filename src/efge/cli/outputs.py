"""Outputs of a command: none replaces an input, and an existing file is replaced only if the user agrees."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

_Path = str | os.PathLike[str]

ForceFlag = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]


def check_outputs(outputs: Iterable[_Path | None], inputs: Iterable[_Path | None], force: bool) -> None:
    """Raise a ValueError if an output is an input or another output, or if it exists and may not be replaced.

    Paths, links and names of the same inode are compared. In a terminal, the user is asked about files that exist;
    elsewhere, `force` allows to replace them. Standard streams, devices and pipes lose nothing.
    """
    read = [Path(path) for path in inputs if path not in (None, "-")]
    read += [file for path in read if path.is_dir() for file in path.iterdir()]
    written: list[Path] = []
    for path in _files(outputs):
        if any(_is_same_file(path, other) for other in read):
            raise ValueError(f"{path}: this is an input, which an output never replaces; choose another name")
        if any(_is_same_file(path, other) for other in written):
            raise ValueError(f"{path}: each output is a file of its own; two have this name")
        written.append(path)
    existing = [path for path in written if path.is_file()]
    if existing and not force and not _user_agrees(existing):
        exists = "this file exists" if len(existing) == 1 else f"this file and {len(existing) - 1} more exist"
        raise ValueError(f"{existing[0]}: {exists}; add --force to replace, or choose another name")


def files_in(folder: _Path | None, *names: str) -> list[Path]:
    """Return the paths of files in a folder; none if there is no folder."""
    return [] if folder is None else [Path(folder, name) for name in names]


def write_json(path: Path, content: Any) -> None:
    """Write a record beside an output."""
    from efge.io.atomic import atomic_write

    with atomic_write(path) as stream:
        stream.write(json.dumps(content, indent=2, ensure_ascii=False, default=str).encode() + b"\n")


def _files(outputs: Iterable[_Path | None]) -> Iterator[Path]:
    """Yield the files that outputs stand for; a folder stands for those that TensorBoard reads."""
    from efge.embedding.projector import FILES

    for output in outputs:
        if output is None or output == "-":
            continue
        path = Path(output)
        if path.is_dir():
            yield from (path / name for name in FILES)
        else:
            yield path


def _is_same_file(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return (path.is_file() and path.samefile(other)) or path.resolve() == other.resolve()
    return path.resolve() == other.resolve()


def _user_agrees(existing: list[Path]) -> bool:
    """Ask in a terminal whether to replace files; elsewhere nobody can answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm(f"Replace {', '.join(map(str, existing))}?", err=True)
