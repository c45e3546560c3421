"""Edges held out of a graph, with pairs that are no edges beside them: what link prediction is judged by.

A pair of nodes counts as one whatever its direction: an edge and its opposite stay together, and no pair is on both
sides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import EvaluationError, GraphError
from efge.graph.graph import Graph, graph_from_edges
from efge.graph.inputs import as_graph
from efge.graph.names import encoded, names_of, unescaped, written_names
from efge.io.atomic import written_whole
from efge.io.files import from_json, opened

Pairs = npt.NDArray[np.int64]

# Up to so many pairs of nodes, all that are no edges are listed; beyond, they are drawn.
_FEW_PAIRS = 1 << 22
_PARTS = ("train_edges", "train_non_edges", "test_edges", "test_non_edges")


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """A graph without some of its edges, and pairs to learn from and to be judged by, as rows of the graph.

    Attributes
    ----------
    graph : Graph
        All nodes, and the edges that remain: what a model may see.
    train_edges, train_non_edges : arrays of shape (k, 2)
        The edges that remain, self loops aside, and as many pairs that are no edges of the whole graph.
    test_edges, test_non_edges : arrays of shape (k, 2)
        The edges that were removed, and as many other pairs that are no edges.
    wanted : int
        How many edges were to be removed.

    Examples
    --------
    >>> split = split_links([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (4, 0), (5, 0)], 0.3, seed=1)
    >>> split
    LinkSplit(6 nodes, 5 edges to learn from, 2 to be judged by)
    >>> split.graph.n_components
    1
    """

    graph: Graph
    train_edges: Pairs
    train_non_edges: Pairs
    test_edges: Pairs
    test_non_edges: Pairs
    wanted: int

    def __repr__(self) -> str:
        learn, judge = len(self.train_edges), len(self.test_edges)
        return f"LinkSplit({self.graph.n_nodes:,} nodes, {learn:,} edges to learn from, {judge:,} to be judged by)"

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be had as it was asked for.

        Examples
        --------
        >>> split_links([(0, 1), (1, 2), (2, 0), (2, 3)], 0.5).notes[0]
        '1 of 2 wanted edges were removed: without more, the rest would fall apart.'
        """
        notes = []
        if len(self.test_edges) < self.wanted:
            removed = f"{len(self.test_edges):,} of {self.wanted:,} wanted edges were removed"
            notes.append(f"{removed}: without more, the rest would fall apart.")
        for edges, others, side in (
            (self.train_edges, self.train_non_edges, "learn from"),
            (self.test_edges, self.test_non_edges, "be judged by"),
        ):
            if len(others) < len(edges):
                notes.append(
                    f"There are only {len(others):,} pairs without an edge to {side}, beside {len(edges):,} edges."
                )
        return tuple(notes)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the split as text for other tools: a pair of names a line, tab-separated, in four files; the graph in
        ``graph.tsv``, with weights if it has any, and its nodes in ``nodes.txt``.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> split_links([(0, 1), (1, 2), (2, 0), (2, 3)], 0.3).save(folder)
        >>> sorted(os.listdir(folder))[-2:]
        ['train_edges.tsv', 'train_non_edges.tsv']
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        names = np.array(written_names(self.graph.names), object)
        _write(folder / "nodes.txt", [names])
        ends, weights = _edges(self.graph)
        columns = [names[ends[:, 0]], names[ends[:, 1]]]
        _write(folder / "graph.tsv", columns if weights is None else [*columns, weights])
        for part in _PARTS:
            pairs = getattr(self, part)
            _write(folder / f"{part}.tsv", [names[pairs[:, 0]], names[pairs[:, 1]]])
        about = {"directed": self.graph.directed, "weighted": self.graph.is_weighted, "wanted": self.wanted}
        with written_whole(folder / "split.json") as stream:
            stream.write(json.dumps(about).encode() + b"\n")

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> LinkSplit:
        """Read what :meth:`save` wrote; names are integers if all are, else text.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> split_links([(0, 1), (1, 2), (2, 0), (2, 3)], 0.3).save(folder)
        >>> LinkSplit.load(folder)
        LinkSplit(4 nodes, 3 edges to learn from, 1 to be judged by)
        """
        folder = Path(folder)
        about = _about(folder / "split.json")
        texts = [fields[0] for fields in _read(folder / "nodes.txt", 1)]
        rows = {text: row for row, text in enumerate(texts)}
        if len(rows) < len(texts):
            raise EvaluationError(f"{folder / 'nodes.txt'}: node names are distinct")
        lines = _read(folder / "graph.tsv", 3 if about["weighted"] else 2)
        weights = _weights(folder / "graph.tsv", lines) if about["weighted"] else None
        names = names_of([unescaped(text) for text in texts])
        ends = _rows(folder / "graph.tsv", lines, rows).astype(np.int32)
        graph = graph_from_edges(ends, weights, names, directed=about["directed"])
        parts = {part: _rows(folder / f"{part}.tsv", _read(folder / f"{part}.tsv", 2), rows) for part in _PARTS}
        return cls(graph, **parts, wanted=about["wanted"])


def split_links(graph: Any, share: float = 0.5, *, seed: int | Sequence[int] = 0) -> LinkSplit:
    """Remove a share of a graph's edges and keep what is connected connected; draw as many pairs that are no edges.

    A random spanning forest stays. Where that leaves fewer edges than are to be removed, all others are removed, and
    :attr:`LinkSplit.notes` says so. Self loops stay and are no pairs.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` takes
        Only nodes with neighbors can be told from others by links; of a graph in pieces, its
        :meth:`efge.Graph.largest_component` makes for harder, more telling non-edges.
    share : float
        Of the edges, above 0 and below 1.
    seed : int, or sequence of int
        The same seed gives the same split.

    Examples
    --------
    >>> split = split_links([("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan")], 0.25)
    >>> len(split.test_edges), len(split.train_edges), split.graph.n_components
    (1, 3, 1)
    """
    if not 0 < share < 1:
        raise EvaluationError(f"a share of the edges is above 0 and below 1; got {share!r}")
    graph = as_graph(graph)
    random = np.random.default_rng(seed)
    ends, weights = _edges(graph)
    proper = ends[:, 0] != ends[:, 1]
    pairs = _codes(ends, graph.n_nodes)
    units, unit_of = np.unique(pairs[proper], return_inverse=True)
    if not len(units):
        raise EvaluationError(f"a graph without edges between nodes has no links to predict; got {graph!r}")
    wanted = round(share * int(proper.sum()))
    removed = np.zeros(len(ends), bool)
    removed[proper] = _removed_units(units, np.bincount(unit_of), wanted, graph.n_nodes, random)[unit_of]
    kept = proper & ~removed
    rest = graph_from_edges(
        ends[~removed].astype(np.int32),
        None if weights is None else weights[~removed],
        graph.names,
        directed=graph.directed,
    )
    train, test = ends[kept], ends[removed]
    others = _non_edges(units, len(train) + len(test), graph, random)
    # Where they are few, both sides have their part, and at least one is left to be judged by.
    cut = max(min(round(len(others) * len(train) / (len(train) + len(test))), len(others) - 1), 0)
    return LinkSplit(rest, train, others[:cut], test, others[cut:], wanted)


def _edges(graph: Graph) -> tuple[Pairs, npt.NDArray[np.float64] | None]:
    """Each edge once, with its weight."""
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    ends = np.column_stack([rows, graph.indices]).astype(np.int64)
    once = slice(None) if graph.directed else ends[:, 0] <= ends[:, 1]
    return ends[once], None if graph.weights is None else graph.weights[once]


def _codes(ends: Pairs, n: int) -> Pairs:
    """A number for each pair, the same for its opposite."""
    codes: Pairs = ends.min(axis=1) * n + ends.max(axis=1)
    return codes


def _removed_units(
    units: Pairs, sizes: npt.NDArray[np.int64], wanted: int, n: int, random: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Pairs to remove, of so many edges each, in random order until there are as many edges as wanted."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    # The tree of least weight is a random one where weights are random; a weight of zero would be no edge.
    lengths = 1 + random.random(len(units))
    # SciPy's graph routines know 32 bits only, in some versions.
    ends = (units // n).astype(np.int32), (units % n).astype(np.int32)
    forest = minimum_spanning_tree(coo_array((lengths, ends), shape=(n, n)).tocsr()).tocoo()
    free = np.flatnonzero(~np.isin(units, forest.row.astype(np.int64) * n + forest.col))
    order = random.permutation(free)
    removed = np.zeros(len(units), bool)
    removed[order[np.cumsum(sizes[order]) <= wanted]] = True
    return removed


def _non_edges(units: Pairs, wanted: int, graph: Graph, random: np.random.Generator) -> Pairs:
    """Distinct pairs without an edge in any direction, as many as wanted if there are; in random order."""
    n = graph.n_nodes
    total = n * (n - 1) // 2
    wanted = min(wanted, total - len(units))
    if total <= _FEW_PAIRS:
        low, high = np.triu_indices(n, 1)
        codes = np.setdiff1d(low.astype(np.int64) * n + high, units, assume_unique=True)
        codes = random.permutation(codes)[:wanted]
    else:
        codes = np.empty(0, np.int64)
        while len(codes) < wanted:
            drawn = random.integers(n, size=(2 * (wanted - len(codes)) + 1000, 2))
            fresh = _codes(drawn[drawn[:, 0] != drawn[:, 1]], n)
            codes = np.concatenate([codes, fresh[~np.isin(fresh, units)]])
            codes = codes[np.sort(np.unique(codes, return_index=True)[1])]
        codes = codes[:wanted]
    pairs = np.column_stack([codes // n, codes % n])
    flipped = random.random(len(pairs)) < 0.5
    if graph.directed:
        pairs[flipped] = pairs[flipped, ::-1]
    return pairs


def _write(path: Path, columns: list[Any]) -> None:
    with written_whole(path) as stream:
        for line in encoded("\t".join(map(str, fields)) + "\n" for fields in zip(*columns, strict=True)):
            stream.write(line)


def _read(path: Path, width: int) -> list[list[str]]:
    try:
        with opened(path) as stream:
            lines = stream.read().decode().split("\n")
    except (GraphError, UnicodeDecodeError) as error:
        raise EvaluationError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    if lines.pop():
        raise EvaluationError(f"{path}: the last line has no end; the file is cut short")
    fields = [line.split("\t") for line in lines]
    wrong = next((number for number, line in enumerate(fields, 1) if len(line) != width), None)
    if wrong is not None:
        raise EvaluationError(f"{path}, line {wrong}: a line has {width} fields; got {len(fields[wrong - 1])}")
    return fields


def _about(path: Path) -> dict[str, Any]:
    try:
        with opened(path) as stream:
            about = from_json(stream.read())
    except GraphError as error:
        raise EvaluationError(str(error)) from None
    except ValueError:
        about = None
    kinds = {"directed": bool, "weighted": bool, "wanted": int}
    if not isinstance(about, dict) or any(type(about.get(name)) is not kind for name, kind in kinds.items()):
        raise EvaluationError(f"{path}: a split's description has {', '.join(kinds)}; save the split again")
    return about


def _rows(path: Path, lines: list[list[str]], rows: dict[str, int]) -> Pairs:
    for number, fields in enumerate(lines, 1):
        for name in fields[:2]:
            if name not in rows:
                raise EvaluationError(f"{path}, line {number}: {name!r} is no node of nodes.txt")
    return np.array([[rows[first], rows[second]] for first, second, *_ in lines], np.int64).reshape(-1, 2)


def _weights(path: Path, lines: list[list[str]]) -> npt.NDArray[np.float64]:
    weights = np.empty(len(lines))
    for number, fields in enumerate(lines, 1):
        try:
            weights[number - 1] = float(fields[2])
        except ValueError:
            weights[number - 1] = np.nan
        if not 0 < weights[number - 1] < np.inf:
            raise EvaluationError(f"{path}, line {number}: a weight is finite and positive; got {fields[2]!r}")
    return weights
