"""Edge lists larger than memory -> a graph on disk, the same to the bit as one that is read into memory.

The text is read once: its nodes are numbered, and the edges go to a file as numbers, while the entries of each row are
counted. Then entries are spread over parts of the disk by their rows, as many rows to a part as can be sorted in
memory; and part after part is sorted, merged and written behind the one before. So memory holds what there is to know
of nodes, and of edges a part for each thread.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.graph import Graph, Offsets, Weights
from efge.graph.mapped import Heading, Section, arrays_of
from efge.graph.names import FieldNames, Numbers
from efge.graph.readers import GraphSource, edge_pieces, opened_graph
from efge.graph.text_lines import TextSource
from efge.io.atomic import built_whole
from efge.io.files import place_in
from efge.kernels import csr
from efge.kernels import external as kernel
from efge.parallel import available_memory, available_threads, map_ahead

# What is told of progress: the stage, how much of it is done, and how much there is.
Tell = Callable[[str, float, float], None]

# Where the system does not tell how much memory there is.
_USUAL_MEMORY = 1 << 30
# What is allowed in any case: less would not be worth counting.
_LEAST, _LEAST_AT_ONCE = 1 << 20, 1 << 12
# Counts of edges get a quarter of the memory, and names half of it.
_COUNT_SHARES = 4
# Where a row begins, where its next entry goes, and where the one in the file begins.
_BYTES_OF_A_ROW = 24
_MOST_THREADS, _MOST_TEXT, _MOST_EDGES = 4, 1 << 21, 1 << 20
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def convert_graph(
    path: str | os.PathLike[str],
    new: str | os.PathLike[str],
    *,
    memory: int | str | None = None,
    progress: Tell | None = None,
    **reading: Any,
) -> None:
    r"""Turn an edge list, which may be larger than memory, into a file that :meth:`efge.Graph.open` maps.

    The graph is the one that :func:`efge.read_graph` would read, to the bit: the same rows in the same order, with the
    same fingerprint. The file appears when it is whole; until then everything is in a folder beside it, which goes
    away whatever happens. That takes as much of the disk as 24 bytes an edge, 56 with weights.

    Parameters
    ----------
    path : path, or "-"
        An edge list or an adjacency list as text, packed or not.
    new : path
        The file to write; what was there before stays until the new one is whole.
    memory : int or str, optional
        About how much memory may be taken, in bytes or as "4G", beside the 250 MB of Python and the libraries. By
        default, half of what is free. What is known of nodes is in memory: count on 75 bytes of this for each node
        where names are integers from 0 on without large gaps, and on 220 otherwise, with six times the bytes of names
        that are text. A graph with more nodes is refused.
    progress : callable, optional
        Called with the name of a stage, how much of it is done, and how much there is in all.
    **reading
        What :func:`efge.read_graph` is told about text: `directed`, `weighted`, `nodes`, `delimiter` and so on.

    Raises
    ------
    GraphError
        If the text breaks a rule, or if the graph has more nodes, or a node more edges, than the memory allows.
    OSError
        If the file cannot be written, as on a full disk.

    Examples
    --------
    >>> import efge, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "edges.txt").write_text("ann bob\nbob cid\n")
    >>> convert_graph(folder / "edges.txt", folder / "graph.efge", memory="1G")
    >>> efge.read_graph(folder / "graph.efge").neighbors("bob")
    ['ann', 'cid']
    """
    plan = _Plan.of(_bytes(memory))
    if new == "-":
        raise GraphError("a graph on disk is a file; standard output is none")
    if path != "-" and Path(new).exists() and Path(path).exists() and Path(new).samefile(path):
        raise GraphError(f"{new}: the graph is written to another file than its edges are in")
    with opened_graph(path, block=plan.text, **reading) as source, built_whole(new) as whole:
        work = _Work(source, plan, progress or (lambda stage, done, total: None), whole)
        rows = work.number()
        parts = work.cut(rows)
        work.spread(rows, parts)
        work.write(rows, parts)


def _bytes(memory: int | str | None) -> int:
    """An amount of memory, as a number or as people write it."""
    if memory is None:
        return (available_memory() or 2 * _USUAL_MEMORY) // 2
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", str(memory).strip().lower())
    amount = int(float(found[1]) * 2 ** _UNITS[found[2]]) if found else 0
    if amount <= 0:
        raise GraphError(f"an amount of memory is a number of bytes, or as 512M or 4G; got {memory!r}")
    return amount


class _Plan(NamedTuple):
    """How memory is shared out: bytes for names, for counts, for a block of text and for a part; edges at once."""

    names: int
    counts: int
    text: int
    edges: int
    part: int
    part_shares: int
    threads: int

    @classmethod
    def of(cls, memory: int) -> _Plan:
        """Shares of so many bytes; some are not less than is worth counting."""
        threads = min(_MOST_THREADS, available_threads())
        # Threads sort a part each, one waits and one is written; half of the memory is for what is known of nodes.
        part_shares = 2 * (threads + 2)
        # A block of text takes up to 24 times its size while it is split, and there are some more than threads.
        text = memory // (64 * (available_threads() + 2))
        return cls(
            names=max(memory // 2, _LEAST),
            counts=max(memory // _COUNT_SHARES, _LEAST),
            text=min(max(text, _LEAST_AT_ONCE), _MOST_TEXT),
            edges=min(max(memory // 512, 64), _MOST_EDGES),
            part=max(memory // part_shares, _LEAST_AT_ONCE),
            part_shares=part_shares,
            threads=threads,
        )


class _Rows(NamedTuple):
    """What is known when all edges are numbered: the heading so far, the edges, and where each row's entries begin."""

    heading: Heading
    edges: int
    starts: Offsets

    @property
    def bytes_to_sort(self) -> int:
        """Bytes of memory that an entry takes while it is sorted."""
        return 40 if self.heading.weighted else 16

    @property
    def bytes_kept(self) -> int:
        """Bytes of an entry in a part of the disk."""
        return 16 if self.heading.weighted else 8

    def part(self, low: int, high: int) -> tuple[Section, Section]:
        """Where the entries of some rows are among the parts, and their weights."""
        first, count = int(self.starts[low]), int(self.starts[high] - self.starts[low])
        entries = Section(first * self.bytes_kept, np.int32, 2 * count)
        return entries, Section(entries.end, np.float64, count if self.heading.weighted else 0)


class _Work:
    """The stages of a conversion; helper files are beside the new one."""

    def __init__(self, source: GraphSource, plan: _Plan, tell: Tell, whole: Path) -> None:
        self._source, self._plan, self._tell, self._whole = source, plan, tell, whole
        self._both_ways = not source.reading.directed
        self._edges, self._edge_weights = whole.with_name("edges"), whole.with_name("edge-weights")
        self._parts, self._weights = whole.with_name("parts"), whole.with_name("weights")

    def number(self) -> _Rows:
        """Number the nodes, and write the edges as numbers; names have their place in the new file already."""
        names = FieldNames(self._plan.names)
        counts, edges, weighted = np.zeros(1 << 12, np.int64), 0, False
        with self._edges.open("wb") as ends_file, self._edge_weights.open("wb") as weights_file:
            for ends, weights in self._pieces(names):
                counts = self._with_room(counts, int(ends.max(initial=-1)) + 1)
                kernel.count_entries(ends, self._both_ways, counts)
                ends_file.write(ends.data)
                if weights is not None:
                    weights_file.write(weights.data)
                weighted |= weights is not None
                edges += len(ends)
        heading = self._write_names(names, weighted)
        counts = self._with_room(counts, heading.nodes)
        return _Rows(heading, edges, _starts(counts[: heading.nodes]))

    def _pieces(self, names: FieldNames) -> Iterator[tuple[Numbers, Weights | None]]:
        """Edges that are to be kept, some at a time."""
        nodes = self._source.nodes
        labels = (self._source.label, nodes.label if isinstance(nodes, TextSource) else self._source.label)
        try:
            for ends, weights in edge_pieces(self._source, names):
                if self._source.reading.drop_self_loops:
                    proper = ends[:, 0] != ends[:, 1]
                    yield ends[proper], None if weights is None else weights[proper]
                else:
                    yield ends, weights
                if (place := place_in(self._source.stream)) is not None:
                    self._tell("reading", *place)
        except GraphError as error:
            raise error if str(error).startswith(labels) else GraphError(f"{labels[0]}: {error}") from None

    def _with_room(self, counts: Offsets, rows: int) -> Offsets:
        if rows <= len(counts):
            return counts
        # A quarter more, beside the old ones.
        longer = max(rows, len(counts) + len(counts) // 4)
        needed = 8 * (len(counts) + longer)
        self._check_memory(f"counting the edges of {rows:,} nodes", needed, self._plan.counts, _COUNT_SHARES)
        return np.concatenate([counts, np.zeros(longer - len(counts), np.int64)])

    def _check_memory(self, what: str, needed: int, allowed: int, shares: int) -> None:
        if needed > allowed:
            raise GraphError(
                f"{self._source.label}: {what} takes {needed:,} bytes of memory, and {allowed:,} are for that;"
                f" allow {needed * shares:,} in all, or more"
            )

    def _write_names(self, names: FieldNames, weighted: bool) -> Heading:
        kind, arrays = arrays_of(names.kept())
        nodes, size = (sum(map(len, some)) for some in (next(iter(arrays.values())), arrays.get("name_data", [])))
        heading = Heading(nodes, not self._both_ways, weighted, kind, size)
        with self._whole.open("wb") as file:
            for name, pieces in arrays.items():
                file.seek(heading.sections()[name].offset)
                for piece in pieces:
                    file.write(np.ascontiguousarray(piece).data)
        return heading

    def cut(self, rows: _Rows) -> list[tuple[int, int]]:
        """Stretches of rows that can each be sorted in memory."""
        largest = int(np.diff(rows.starts).max(initial=0))
        what = f"sorting the {largest:,} edges of a node, duplicates among them,"
        needed = largest * rows.bytes_to_sort + _BYTES_OF_A_ROW
        self._check_memory(what, needed, self._plan.part, self._plan.part_shares)
        costs = rows.starts * rows.bytes_to_sort + np.arange(len(rows.starts)) * _BYTES_OF_A_ROW
        cuts = [0]
        while cuts[-1] < rows.heading.nodes:
            cuts.append(int(np.searchsorted(costs, costs[cuts[-1]] + self._plan.part, side="right")) - 1)
        return list(pairwise(cuts))

    def spread(self, rows: _Rows, parts: list[tuple[int, int]]) -> None:
        """Write the entries of each part to its place."""
        needed, free = int(rows.starts[-1]) * rows.bytes_kept, shutil.disk_usage(self._whole.parent).free
        if needed > free:
            raise OSError(errno.ENOSPC, f"{needed / 1e9:.1f} GB of disk are needed, and {free / 1e9:.1f} GB are free")
        cuts = np.array([0, *(high for _, high in parts)], np.int64)
        places = [[section.offset for section in rows.part(low, high)] for low, high in parts]

        def spread_some(begin: int) -> tuple[Offsets, npt.NDArray[Any], npt.NDArray[Any]]:
            count = min(self._plan.edges, rows.edges - begin)
            ends = _read(self._edges, Section(8 * begin, np.int32, 2 * count)).reshape(-1, 2)
            weights = _read(self._edge_weights, Section(8 * begin, np.float64, count if rows.heading.weighted else 0))
            sizes, entries = np.empty(len(parts), np.int64), np.empty((2 * count, 2), np.int32)
            entry_weights = np.empty(2 * len(weights))
            kernel.spread_entries(ends, weights, self._both_ways, cuts, sizes, entries, entry_weights)
            return sizes, entries, entry_weights

        with self._parts.open("wb") as file:
            begins = range(0, rows.edges, self._plan.edges)
            for begin, some in zip(begins, map_ahead(spread_some, begins, self._plan.threads), strict=True):
                bounds = [0, *np.cumsum(some[0]).tolist()]
                for place, (low, high) in zip(places, pairwise(bounds), strict=True):
                    for kind, array in enumerate(some[1:]):
                        _write(file, place[kind], array[low:high])
                        place[kind] += array[low:high].nbytes
                self._tell("spreading", min(begin + self._plan.edges, rows.edges), rows.edges)
        self._edges.unlink()
        self._edge_weights.unlink()

    def write(self, rows: _Rows, parts: list[tuple[int, int]]) -> None:
        """Sort part after part, and write the rows one behind the other; then all that is known about them."""
        counts, place = np.zeros(rows.heading.nodes, np.int64), rows.heading.sections()["indices"].offset

        def sort(part: tuple[int, int]) -> tuple[Offsets, Numbers, Weights]:
            return self._sorted(rows, *part)

        with self._whole.open("r+b") as file, self._weights.open("w+b") as weights_file:
            file.seek(place)
            for (low, high), (indptr, indices, weights) in zip(
                parts, map_ahead(sort, parts, self._plan.threads), strict=True
            ):
                counts[low:high] = np.diff(indptr)
                file.write(indices.data)
                weights_file.write(weights.data)
                self._tell("sorting", int(rows.starts[high]), int(rows.starts[-1]))
            self._parts.unlink()
            heading = replace(rows.heading, entries=int(counts.sum()))
            if rows.heading.weighted:
                file.seek(heading.sections()["weights"].offset)
                weights_file.seek(0)
                shutil.copyfileobj(weights_file, file, _MOST_TEXT)
            _write(file, heading.sections()["indptr"].offset, _starts(counts))
            # What nothing was written to is zero, as is the entry past the end.
            file.truncate(heading.size)
            _write(file, 0, np.frombuffer(heading.encoded(), np.uint8))
        self._sign(heading)

    def _sorted(self, rows: _Rows, low: int, high: int) -> tuple[Offsets, Numbers, Weights]:
        """A part's rows: where each begins, their columns without duplicates, and the sums of their weights."""
        entries, weights = (_read(self._parts, section) for section in rows.part(low, high))
        indptr = rows.starts[low : high + 1] - rows.starts[low]
        indices, sums = np.empty(len(entries) // 2, np.int32), np.empty(len(weights))
        kernel.sort_entries(entries.reshape(-1, 2), weights, low, indptr, indices, sums)
        kept = csr.merge_duplicates(indptr, indices, sums)
        if not np.isfinite(sums[:kept]).all():
            reason = "the weights of an edge's duplicates add up to infinity; scale the weights down"
            raise GraphError(f"{self._source.label}: {reason}")
        return indptr, indices[:kept], sums[:kept]

    def _sign(self, heading: Heading) -> None:
        """Look through the new file as everyone will, and put its fingerprint into the heading."""
        fingerprint = Graph.open(self._whole).fingerprint()
        with self._whole.open("r+b") as file:
            file.write(replace(heading, fingerprint=fingerprint).encoded())


def _starts(counts: Offsets) -> Offsets:
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def _read(path: Path, section: Section) -> npt.NDArray[Any]:
    return np.fromfile(path, section.dtype, section.length, offset=section.offset)


def _write(file: BinaryIO, offset: int, array: npt.NDArray[Any]) -> None:
    if len(array):
        file.seek(offset)
        file.write(array.data)
