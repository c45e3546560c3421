"""Make small changes to the code, one at a time, and see whether the tests of the changed module notice.

    python tools/mutants.py [--count 200] [--seed 1] [--only evaluation] [--minutes 60] [--again] [--known]

With --known, the changes are those of mutants.toml that tests once did not notice. Otherwise a seed chooses them among
all that the program can make in kernels, training, families, evaluation and formats. Each is made in a copy of the
project in .mutants, which keeps compiled code that the change cannot reach. The tests of the changed module run in one
process until the first failure. What was tried is noted in .mutants, so that the program continues where it stopped;
--again tries those once more that were not noticed.

A change may have no effect at all, as that of the size of a block. Such changes are listed in mutants.toml, each with
its reason, and do not count. All others that no test noticed go into benchmarks/results/mutants.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from covering import WORK, Tree
from mutations import ROOT, Mutant, make_mutant, modules, places

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

sys.path.insert(0, str(ROOT / "benchmarks"))
from records import Cell, save


class Notes:
    """What was tried already, one line of JSON for each change."""

    def __init__(self) -> None:
        self._path = WORK / "tried.jsonl"
        lines = self._path.read_text("utf-8").splitlines() if self._path.exists() else []
        self._known: dict[str, dict[str, Any]] = {}
        for entry in map(json.loads, lines):
            self._known[entry["key"]] = entry | {"by at first": self._first(entry)}

    def _first(self, entry: dict[str, Any]) -> str:
        """Return who noticed a change when it was tried for the first time."""
        first: str = self._known.get(entry["key"], {"by at first": entry["by"]})["by at first"]
        return first

    def get(self, key: str) -> dict[str, Any] | None:
        """Return what is noted under a key."""
        return self._known.get(key)

    def put(self, key: str, **fields: Cell) -> dict[str, Any]:
        """Note something under a key."""
        entry: dict[str, Any] = {"key": key, **fields}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        self._known[key] = entry | {"by at first": self._first(entry)}
        return self._known[key]


def attempt(tree: Tree, notes: Notes, mutant: Mutant, again: bool) -> dict[str, Any]:
    """Try a change, unless it was tried before."""
    change = f"{mutant.file}:{mutant.line}: {mutant.before} -> {mutant.after}"
    key = f"{change} {hashlib.sha256((ROOT / 'src' / 'efge' / mutant.file).read_bytes()).hexdigest()[:16]}"
    entry = notes.get(key)
    if entry is None or (again and not entry["by"]):
        by, seconds = tree.run(mutant)
        about: dict[str, Cell] = {
            "file": mutant.file,
            "line": mutant.line,
            "before": mutant.before,
            "after": mutant.after,
        }
        entry = notes.put(key, **about, by=by, seconds=round(seconds, 1))
    return entry


def verify(tree: Tree, entries: list[dict[str, Any]]) -> None:
    """Run the tests that noticed a change without any: exit if one fails, because it shows nothing."""
    tests = sorted({entry["by"] for entry in entries if "::" in entry["by"]})
    failed, _ = tree.pytest(tests) if tests else ("", 0.0)
    if failed:
        sys.exit(f"mutants: without any change, too, this fails: {failed}")


def _listed(kind: str) -> list[dict[str, str]]:
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        entries: list[dict[str, str]] = tomllib.load(file).get(kind, [])
    return entries


def equivalents() -> set[tuple[str, str, str]]:
    """Return the changes that are known to have no effect."""
    return {(entry["file"], entry["before"], entry["after"]) for entry in _listed("equivalent")}


def known() -> Iterator[Mutant]:
    """Yield the changes that tests once did not notice."""
    for entry in _listed("known"):
        file, before, after = entry["file"], entry["before"], entry["after"]
        text = (ROOT / "src" / "efge" / file).read_text("utf-8")
        if text.count(before) != 1:
            sys.exit(f"mutants: {file} has {text.count(before)} times, not once: {before}")
        line = text[: text.index(before)].count("\n") + 1
        yield Mutant(file, line, before.strip(), after.strip(), text.replace(before, after))


def choose(seed: int, only: str) -> Iterator[Mutant]:
    """Yield changes in random order."""
    found = [place for file in modules() if only in file for place in places(file)]
    random.Random(seed).shuffle(found)
    for file, number in found:
        yield make_mutant(file, number)


def record(entries: list[dict[str, Any]], kind: str, seed: int | None) -> None:
    """Print the rate, and write it and the changes that were not noticed into the record; those of other seeds stay."""
    without_effect = equivalents()
    tried, noticed, first, same = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    survivors: list[list[Cell]] = []
    for entry in entries:
        tried[entry["file"]] += 1
        first[entry["file"]] += bool(entry["by at first"])
        if entry["by"]:
            noticed[entry["file"]] += 1
        elif (entry["file"], entry["before"], entry["after"]) in without_effect:
            same[entry["file"]] += 1
        else:
            survivors.append([seed, entry["file"], entry["line"], entry["before"], entry["after"]])
    effective = tried.total() - same.total()
    print(f"{noticed.total()} of {effective} changes were noticed; {same.total()} others have no effect")
    counts: list[list[Cell]] = [
        [seed, name, *(count[name] for count in (tried, same, first, noticed))] for name in sorted(tried)
    ]
    columns = ["seed", "module", "tried", "without effect", "noticed at first", "noticed"]
    save("mutants", f"{kind} changes", columns, counts, "tools/mutants.py", key=1, outdated=[(seed,)])
    columns = ["seed", "module", "line", "before", "after"]
    save("mutants", f"{kind} changes not noticed", columns, survivors, "tools/mutants.py", key=1, outdated=[(seed,)])


def main() -> None:
    """Try changes in random order, until there are enough or the time is over."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="modules whose path contains this")
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--again", action="store_true", help="try those again that no test noticed")
    parser.add_argument("--known", action="store_true", help="try those that tests once did not notice")
    options = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    tree = Tree()
    notes, without_effect = Notes(), equivalents()
    deadline = time.monotonic() + 60 * options.minutes
    entries: list[dict[str, Any]] = []
    chosen = known() if options.known else islice(choose(options.seed, options.only), options.count)
    for mutant in chosen:
        if time.monotonic() > deadline:
            break
        counts = (mutant.file, mutant.before, mutant.after) not in without_effect
        entry = attempt(tree, notes, mutant, options.again and counts)
        entries.append(entry)
        if counts and not entry["by"]:
            print(f"not noticed: {mutant.file}:{mutant.line}: {mutant.before} -> {mutant.after}", flush=True)
    verify(tree, entries)
    record(entries, "known", None) if options.known else record(entries, "random", options.seed)


if __name__ == "__main__":
    main()
