"""Train/test splits for link prediction: edges hidden from a model, and negative pairs, which have no edge.

A pair of nodes counts once, whatever its direction: an edge and its reverse stay together, so that no pair is in both
the training and the test set.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import EvaluationError, GraphError, check_choice, check_folder_path, is_number
from efge.graph.bipartite import sides_of_kinds
from efge.graph.build import graph_from_edges
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.graph.names import encode_utf8, format_names, list_names, parse_names, unescape_name
from efge.io.atomic import atomic_write
from efge.io.files import open_input, parse_json
from efge.random import check_seed

Pairs = npt.NDArray[np.int64]
Sides = npt.NDArray[np.int8]

NEGATIVES = ("uniform", "degree")
# Up to this number of pairs, all pairs without an edge are listed and shuffled; beyond it, pairs are drawn.
_MAX_LISTED_PAIRS = 1 << 22
# Drawing by degree ends when fewer than this fraction of the pairs drawn are new negative pairs: what is left are pairs
# of nodes so rare that finding them would take forever.
_MIN_NEW_PAIRS = 0.01
_PARTS = ("train_edges", "train_non_edges", "test_edges", "test_non_edges")


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """A graph without its test edges, and the pairs to train and test on; pairs are rows of the graph.

    Attributes
    ----------
    graph : Graph
        All nodes, and the remaining edges: what a model may see.
    train_edges, train_non_edges : arrays of shape (k, 2)
        The remaining edges without self loops, and as many negative pairs, which are not edges anywhere in the full
        graph.
    test_edges, test_non_edges : arrays of shape (k, 2)
        The removed edges, and as many other negative pairs.
    n_requested : int
        Number of edges that were to be removed; `test_edges` has fewer if removing more would have disconnected nodes
        or, in a directed graph, separated two opposite edges.

    Examples
    --------
    >>> split = split_links([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (4, 0), (5, 0)], 0.3, seed=1)
    >>> split
    LinkSplit(6 nodes, 5 training edges, 2 test edges)
    >>> split.graph.n_components
    1
    """

    graph: Graph
    train_edges: Pairs
    train_non_edges: Pairs
    test_edges: Pairs
    test_non_edges: Pairs
    n_requested: int

    def __repr__(self) -> str:
        train, test = len(self.train_edges), len(self.test_edges)
        return f"LinkSplit({self.graph.n_nodes:,} nodes, {train:,} training edges, {test:,} test edges)"

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on where the split falls short of what was requested.

        Examples
        --------
        >>> split_links([(0, 1), (1, 2), (2, 0), (2, 3)], 0.5).notes[0]
        '1 of 2 requested edges were removed: removing more would disconnect the graph.'
        """
        notes = []
        if len(self.test_edges) < self.n_requested:
            removed = f"{len(self.test_edges):,} of {self.n_requested:,} requested edges were removed"
            # Opposite edges of a directed graph are removed together, which may exceed the number by one.
            separate = " or separate opposite edges" if self.graph.directed else ""
            notes.append(f"{removed}: removing more would disconnect the graph{separate}.")
        if self._joins_sides():
            notes.append("The graph is bipartite: negative pairs join its two sides, as edges do.")
        for edges, non_edges, purpose in (
            (self.train_edges, self.train_non_edges, "training"),
            (self.test_edges, self.test_non_edges, "testing"),
        ):
            if len(non_edges) < len(edges):
                notes.append(
                    f"Only {len(non_edges):,} negative pairs are left for {purpose}, with {len(edges):,} edges."
                )
        return tuple(notes)

    def _joins_sides(self) -> bool:
        """Return whether the graph is bipartite and every negative pair joins its sides."""
        pairs = np.concatenate([self.train_non_edges, self.test_non_edges])
        side = sides_of_kinds(self.graph) if len(pairs) else None
        return side is not None and bool(may_pair(pairs[:, 0], pairs[:, 1], side).all())

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the split to a folder, as text that other tools can read.

        The four arrays of pairs become four files with two tab-separated names per line. The graph is written to
        ``graph.tsv``, with weights if it has any, and the names of its nodes to ``nodes.txt``.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> split_links([(0, 1), (1, 2), (2, 0), (2, 3)], 0.3).save(folder)
        >>> sorted(os.listdir(folder))[-2:]
        ['train_edges.tsv', 'train_non_edges.tsv']
        """
        check_folder_path("folder", folder, required=True)
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        names = np.array(format_names(self.graph.names), object)
        _write_columns(folder / "nodes.txt", [names])
        ends, weights = _list_edges(self.graph)
        columns = [names[ends[:, 0]], names[ends[:, 1]]]
        _write_columns(folder / "graph.tsv", columns if weights is None else [*columns, weights])
        for part in _PARTS:
            pairs = getattr(self, part)
            _write_columns(folder / f"{part}.tsv", [names[pairs[:, 0]], names[pairs[:, 1]]])
        header = {"directed": self.graph.directed, "weighted": self.graph.is_weighted, "n_requested": self.n_requested}
        with atomic_write(folder / "split.json") as stream:
            stream.write(json.dumps(header).encode() + b"\n")

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> LinkSplit:
        """Read a split that :meth:`save` wrote; names are integers if all of them are, and text otherwise.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> split_links([(0, 1), (1, 2), (2, 0), (2, 3)], 0.3).save(folder)
        >>> LinkSplit.load(folder)
        LinkSplit(4 nodes, 3 training edges, 1 test edges)
        """
        check_folder_path("folder", folder, required=True)
        folder = Path(folder)
        header = _read_header(folder / "split.json")
        texts = [fields[0] for fields in _read_fields(folder / "nodes.txt", 1)]
        rows = {text: row for row, text in enumerate(texts)}
        if len(rows) < len(texts):
            raise EvaluationError(f"{folder / 'nodes.txt'}: node names must be distinct")
        lines = _read_fields(folder / "graph.tsv", 3 if header["weighted"] else 2)
        weights = _parse_weights(folder / "graph.tsv", lines) if header["weighted"] else None
        names = parse_names([unescape_name(text) for text in texts])
        ends = _parse_pairs(folder / "graph.tsv", lines, rows).astype(np.int32)
        graph = graph_from_edges(ends, weights, names, directed=header["directed"])
        parts = {
            part: _parse_pairs(folder / f"{part}.tsv", _read_fields(folder / f"{part}.tsv", 2), rows) for part in _PARTS
        }
        return cls(graph, **parts, n_requested=header["n_requested"])


def split_links(
    graph: Any,
    test_size: float = 0.5,
    *,
    negatives: str = "uniform",
    sides: str | Iterable[Hashable] | None = "auto",
    seed: int | Sequence[int] = 0,
) -> LinkSplit:
    """Remove a fraction of a graph's edges for testing, and draw as many negative pairs.

    Nodes that were connected stay connected: a random spanning forest is never removed. If too few other edges are
    left, all of them are removed, and :attr:`LinkSplit.notes` says so. Self loops are never removed and are not used as
    pairs. Negative pairs are distinct, and have no edge in either direction.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` takes
        If it is not connected, consider its :meth:`efge.Graph.largest_component`: negative pairs between components are
        easy to recognize and make scores look better than they are.
    test_size : float
        Fraction of the edges to remove, above 0 and below 1.
    negatives : "uniform" or "degree"
        How negative pairs are drawn: all with the same probability, or in proportion to the product of their nodes'
        degrees in the full graph, as if end points of edges were paired at random. Edges join nodes of high degree, so
        that degrees alone tell them from uniform pairs; in a sparse graph, degrees do not tell them from pairs by
        degree. In a directed graph, a pair starts at the source of an edge and ends at the target of one. The removed
        edges are the same.
    sides : "auto", None, or iterable of names
        In a bipartite graph, such as one of users and items, every link joins the two sides, and so do the negative
        pairs: pairs within a side would be easy to recognize. "auto" finds the sides of a graph that is bipartite and
        has cycles. Names are the nodes of one side, if the graph alone does not tell it. None draws pairs of any nodes.
    seed : int, or sequence of int
        The same seed gives the same split.

    Returns
    -------
    LinkSplit

    Examples
    --------
    >>> split = split_links([("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan")], 0.25)
    >>> len(split.test_edges), len(split.train_edges), split.graph.n_components
    (1, 3, 1)
    """
    if not (is_number(test_size) and 0 < test_size < 1):
        raise EvaluationError(f"test_size is a fraction of the edges, above 0 and below 1; got {test_size!r}")
    check_choice("negatives", negatives, NEGATIVES, EvaluationError)
    seeds = [check_seed(part) for part in (seed if isinstance(seed, (list, tuple)) else [seed])]
    graph = as_graph(graph)
    side = find_sides(graph, sides)
    random = np.random.default_rng(seeds if isinstance(seed, (list, tuple)) else seeds[0])
    ends, weights = _list_edges(graph)
    is_pair = ends[:, 0] != ends[:, 1]
    codes, code_of_edge = np.unique(_pair_codes(ends, graph.n_nodes)[is_pair], return_inverse=True)
    if not len(codes):
        raise EvaluationError(f"a graph without edges between different nodes has no links to predict; got {graph!r}")
    n_requested = round(test_size * int(is_pair.sum()))
    removed = np.zeros(len(ends), bool)
    removed[is_pair] = _choose_removed(codes, np.bincount(code_of_edge), n_requested, graph.n_nodes, random)[
        code_of_edge
    ]
    remaining = graph_from_edges(
        ends[~removed].astype(np.int32),
        None if weights is None else weights[~removed],
        graph.names,
        directed=graph.directed,
    )
    train, test = ends[is_pair & ~removed], ends[removed]
    count = len(train) + len(test)
    if negatives == "degree":
        non_edges = _draw_by_degree(codes, count, ends[is_pair], graph, side, random)
    else:
        non_edges = _draw_non_edges(codes, count, graph, side, random)
    # If there are too few, both sides get their proportion, and the test set gets at least one.
    n_train = max(min(round(len(non_edges) * len(train) / (len(train) + len(test))), len(non_edges) - 1), 0)
    return LinkSplit(remaining, train, non_edges[:n_train], test, non_edges[n_train:], n_requested)


def find_sides(graph: Graph, sides: Any) -> Sides | None:
    """Return the side of each node, or None if pairs of any nodes may be drawn."""
    if sides is None:
        return None
    if isinstance(sides, str):
        if sides != "auto":
            raise EvaluationError(f"sides is 'auto', None, or the names of the nodes of one side; got {sides!r}")
        return sides_of_kinds(graph)
    side = np.zeros(graph.n_nodes, np.int8)
    side[graph.rows(list_names("sides", sides))] = 1
    sources = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    within = np.flatnonzero(side[sources] == side[graph.indices])
    if len(within):
        first, second = graph.names[[sources[within[0]], graph.indices[within[0]]]].tolist()
        raise EvaluationError(f"an edge joins the two sides; {first!r} and {second!r} are on the same side")
    return side


def may_pair(first: Pairs, second: Pairs, side: Sides | None) -> npt.NDArray[np.bool_]:
    """Return which pairs are of different nodes and, if there are sides, join them; nodes of no side are in none."""
    allowed: npt.NDArray[np.bool_] = first != second if side is None else side[first] + side[second] == 1
    return allowed


def _list_edges(graph: Graph) -> tuple[Pairs, npt.NDArray[np.float64] | None]:
    """Return each edge once, and its weight."""
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    ends = np.column_stack([rows, graph.indices]).astype(np.int64)
    once = slice(None) if graph.directed else ends[:, 0] <= ends[:, 1]
    return ends[once], None if graph.weights is None else graph.weights[once]


def _pair_codes(ends: Pairs, n: int) -> Pairs:
    """Encode each pair as one integer, the same for both directions."""
    codes: Pairs = ends.min(axis=1) * n + ends.max(axis=1)
    return codes


def _choose_removed(
    codes: Pairs, n_edges: npt.NDArray[np.int64], n_requested: int, n: int, random: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Choose pairs to remove, in random order, until they have as many edges as requested.

    A pair of a directed graph has one or two edges (`n_edges`), which are removed together.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    # Random lengths make the minimum spanning forest a random one; a length of zero would mean no edge.
    lengths = 1 + random.random(len(codes))
    # In some versions, SciPy's graph routines accept 32-bit indices only.
    ends = (codes // n).astype(np.int32), (codes % n).astype(np.int32)
    forest = minimum_spanning_tree(coo_array((lengths, ends), shape=(n, n)).tocsr()).tocoo()
    removable = np.flatnonzero(~np.isin(codes, forest.row.astype(np.int64) * n + forest.col))
    order = random.permutation(removable)
    removed = np.zeros(len(codes), bool)
    removed[order[np.cumsum(n_edges[order]) <= n_requested]] = True
    return removed


def _draw_non_edges(
    edge_codes: Pairs, count: int, graph: Graph, side: Sides | None, random: np.random.Generator
) -> Pairs:
    """Draw distinct pairs without an edge in either direction, in random order; fewer than `count` if there are."""
    n = graph.n_nodes
    total = n * (n - 1) // 2 if side is None else int((side == 0).sum()) * int((side == 1).sum())
    count = min(count, total - len(edge_codes))
    if n * (n - 1) // 2 <= _MAX_LISTED_PAIRS:
        every = np.arange(n)
        allowed = np.triu(may_pair(every[:, None], every[None, :], side), 1).ravel()
        allowed[edge_codes] = False
        codes = random.permutation(np.flatnonzero(allowed))[:count]
    else:
        codes = np.empty(0, np.int64)
        while len(codes) < count:
            drawn = random.integers(n, size=(2 * (count - len(codes)) + 1000, 2))
            candidates = _pair_codes(drawn[may_pair(drawn[:, 0], drawn[:, 1], side)], n)
            codes = np.concatenate([codes, candidates[~np.isin(candidates, edge_codes)]])
            codes = codes[np.sort(np.unique(codes, return_index=True)[1])]
        codes = codes[:count]
    pairs = np.column_stack([codes // n, codes % n])
    flipped = random.random(len(pairs)) < 0.5
    if graph.directed:
        pairs[flipped] = pairs[flipped, ::-1]
    return pairs


def _draw_by_degree(
    edge_codes: Pairs, count: int, ends: Pairs, graph: Graph, side: Sides | None, random: np.random.Generator
) -> Pairs:
    """Draw distinct pairs without an edge in either direction, in proportion to the product of the nodes' degrees.

    `ends` are the edges of the full graph. Fewer than `count` pairs are returned if there are no more, or if drawing
    hardly finds any.
    """
    n = graph.n_nodes
    sources, targets = (ends[:, 0], ends[:, 1]) if graph.directed else (ends.ravel(), ends.ravel())
    out_degrees, in_degrees = np.bincount(sources, minlength=n), np.bincount(targets, minlength=n)
    if n * (n - 1) // 2 <= _MAX_LISTED_PAIRS:
        low, high = np.triu_indices(n, 1)
        rates = (out_degrees[low] * in_degrees[high] + out_degrees[high] * in_degrees[low]).astype(np.float64)
        rates[np.isin(low.astype(np.int64) * n + high, edge_codes) | ~may_pair(low, high, side)] = 0
        possible = np.flatnonzero(rates)
        # The first of independent exponential times come in the order of draws without replacement.
        order = np.argsort(random.exponential(size=len(possible)) / rates[possible])[:count]
        pairs = np.column_stack([low[possible[order]], high[possible[order]]]).astype(np.int64)
    else:
        pairs = _draw_end_points(edge_codes, count, (sources, targets), n, side, random)
    first, second = pairs.T
    forward, backward = out_degrees[first] * in_degrees[second], out_degrees[second] * in_degrees[first]
    flipped = random.random(len(pairs)) * (forward + backward) < backward
    if graph.directed:
        pairs[flipped] = pairs[flipped, ::-1]
    return pairs


def _draw_end_points(
    edge_codes: Pairs,
    count: int,
    end_points: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    n: int,
    side: Sides | None,
    random: np.random.Generator,
) -> Pairs:
    """Pair end points of edges at random until there are enough distinct pairs without an edge."""
    codes = np.empty(0, np.int64)
    new, size = 1.0, 1
    while len(codes) < count and new >= _MIN_NEW_PAIRS * size:
        size = 2 * (count - len(codes)) + 1000
        drawn = np.column_stack([random.choice(ends, size) for ends in end_points])
        candidates = _pair_codes(drawn[may_pair(drawn[:, 0], drawn[:, 1], side)], n)
        found = np.concatenate([codes, candidates[~np.isin(candidates, edge_codes)]])
        found = found[np.sort(np.unique(found, return_index=True)[1])]
        codes, new = found, len(found) - len(codes)
    return np.column_stack([codes[:count] // n, codes[:count] % n])


def _write_columns(path: Path, columns: list[Any]) -> None:
    with atomic_write(path) as stream:
        for line in encode_utf8("\t".join(map(str, fields)) + "\n" for fields in zip(*columns, strict=True)):
            stream.write(line)


def _read_fields(path: Path, width: int) -> list[list[str]]:
    try:
        with open_input(path) as stream:
            lines = stream.read().decode().split("\n")
    except (GraphError, UnicodeDecodeError) as error:
        raise EvaluationError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    if lines.pop():
        raise EvaluationError(f"{path}: the last line has no newline at its end; the file is truncated")
    fields = [line.split("\t") for line in lines]
    wrong = next((number for number, line in enumerate(fields, 1) if len(line) != width), None)
    if wrong is not None:
        raise EvaluationError(f"{path}, line {wrong}: a line has {width} fields; got {len(fields[wrong - 1])}")
    return fields


def _read_header(path: Path) -> dict[str, Any]:
    try:
        with open_input(path) as stream:
            header = parse_json(stream.read())
    except GraphError as error:
        raise EvaluationError(str(error)) from None
    except ValueError:
        header = None
    types = {"directed": bool, "weighted": bool, "n_requested": int}
    if not isinstance(header, dict) or any(type(header.get(name)) is not kind for name, kind in types.items()):
        raise EvaluationError(f"{path}: the description of a split has {', '.join(types)}; save the split again")
    return header


def _parse_pairs(path: Path, lines: list[list[str]], rows: dict[str, int]) -> Pairs:
    for number, fields in enumerate(lines, 1):
        for name in fields[:2]:
            if name not in rows:
                raise EvaluationError(f"{path}, line {number}: {name!r} is not a node in nodes.txt")
    return np.array([[rows[first], rows[second]] for first, second, *_ in lines], np.int64).reshape(-1, 2)


def _parse_weights(path: Path, lines: list[list[str]]) -> npt.NDArray[np.float64]:
    weights = np.empty(len(lines))
    for number, fields in enumerate(lines, 1):
        try:
            weights[number - 1] = float(fields[2])
        except ValueError:
            weights[number - 1] = np.nan
        if not 0 < weights[number - 1] < np.inf:
            raise EvaluationError(f"{path}, line {number}: a weight is finite and positive; got {fields[2]!r}")
    return weights
