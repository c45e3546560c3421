"""Edge lists larger than memory -> a graph on disk, identical to the one that would be read into memory.

The text is read once: names are encoded as rows, the edges are written to a file as pairs of rows, and the entries of
each row are counted. Then entries are distributed to chunks on disk by their rows, with as many rows in a chunk as can
be sorted in memory. Finally each chunk is sorted, merged and appended to the output. So memory holds the names, a count
for each node, and one chunk of edges per thread.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError, check_choice, check_functions, check_types
from efge.graph.build import INFINITE_SUM
from efge.graph.encoders import FieldEncoder, Rows
from efge.graph.graph import Graph, Offsets, Weights
from efge.graph.mapped import Header, Section, name_sections
from efge.graph.portrait import warn_about_names
from efge.graph.readers import GraphSource, ReadOptions, open_graph_source, read_edge_chunks
from efge.graph.text_edges import EdgeChunk
from efge.graph.text_lines import TextSource
from efge.io.atomic import atomic_build
from efge.io.files import display_name, read_position
from efge.kernels import csr
from efge.kernels import external as kernel
from efge.parallel import map_ahead
from efge.system import available_memory, available_threads

# Receives the stage, how much of it is done, and its total.
ProgressCallback = Callable[[str, float, float], None]

# The default if the system does not report its free memory.
_DEFAULT_MEMORY = 1 << 30
# Minimum budgets: smaller amounts are not worth counting.
_MIN_BUDGET, _MIN_CHUNK_SIZE = 1 << 20, 1 << 12
# Edge counts get a quarter of the memory, and names half of it.
_COUNT_DIVISOR = 4
# Start of a row, position of its next entry, and its start in the file.
_BYTES_PER_ROW = 24
_MAX_THREADS, _MAX_TEXT_CHUNK, _MAX_EDGES = 4, 1 << 21, 1 << 20
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def convert_graph(
    path: str | os.PathLike[str],
    new: str | os.PathLike[str],
    *,
    memory: int | str | None = None,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> None:
    r"""Convert an edge list, which may be larger than memory, to a file that :meth:`efge.Graph.open` maps.

    The result is identical to what :func:`efge.read_graph` reads: the same rows in the same order, with the same
    fingerprint. Until the file is complete, all data is in a temporary folder beside it, which is deleted in any case.
    The conversion needs disk space of 24 bytes per edge, or 56 with weights.

    Parameters
    ----------
    path : path, or "-"
        An edge list or an adjacency list as text, compressed or not.
    new : path
        The file to write; an old file stays until the new one is complete.
    memory : int or str, optional
        Approximate limit of memory, in bytes or as "4G", in addition to the 250 MB of Python and the libraries. By
        default, half of the free memory. Nodes are in memory: expect 75 bytes per node if names are integers from 0
        without large gaps, and 220 otherwise, plus six times the bytes of names that are text. A graph with more
        nodes is an error.
    progress : callable, optional
        Called with the name of a stage, how much of it is done, and its total.
    **options
        The options of :func:`efge.read_graph` for text: `directed`, `weighted`, `nodes`, `delimiter` and so on.

    Raises
    ------
    GraphError
        If the text is not valid, or if the graph has more nodes, or a node more edges, than the memory allows.
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
    reading = read_options(options)
    convert_with_options(path, new, reading, memory, progress)
    warn_about_names(display_name(path), Graph.open(new), reading.record)


def convert_with_options(
    path: str | os.PathLike[str],
    new: str | os.PathLike[str],
    options: ReadOptions,
    memory: int | str | None,
    progress: ProgressCallback | None,
) -> None:
    """Convert an edge list; the record of the options tells what was read and guessed."""
    check_types(path=path, new=new)
    check_functions(progress=progress)
    budget = _Budget.of(_parse_size(memory))
    if new == "-":
        raise GraphError("a converted graph is written to a file; standard output is not supported")
    if path != "-" and Path(new).exists() and Path(path).exists() and Path(new).samefile(path):
        raise GraphError(f"{new}: the graph and its edges are different files; choose another name")
    with open_graph_source(path, options, budget.text_chunk) as source, atomic_build(new) as output:
        conversion = _Conversion(source, budget, progress or (lambda stage, done, total: None), output)
        layout = conversion.encode_edges()
        chunks = conversion.split_rows(layout)
        conversion.distribute_entries(layout, chunks)
        conversion.write_rows(layout, chunks)


def read_options(options: Mapping[str, Any]) -> ReadOptions:
    """Return the options of a conversion; raise an error for those that it does not have."""
    known = [field.name for field in fields(ReadOptions) if field.name != "record"]
    for name in options:
        check_choice("option", name, known)
    if options.get("bipartite"):
        rule = "a converted graph has the names of its file; bipartite is for graphs that are read into memory"
        raise GraphError(f"{rule}, so write the kind before each name, as in user:7")
    return ReadOptions(**options)


def _parse_size(memory: int | str | None) -> int:
    """Return a number of bytes, given as a number, as text such as "4G", or as None for the default."""
    if memory is None:
        return (available_memory() or 2 * _DEFAULT_MEMORY) // 2
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", str(memory).strip().lower())
    size = int(float(match[1]) * 2 ** _UNITS[match[2]]) if match else 0
    if not 0 < size < 2**63:
        raise GraphError(
            f"an amount of memory is a positive number of bytes, or text such as 512M or 4G; got {memory!r}"
        )
    return size


class _Budget(NamedTuple):
    """How memory is divided."""

    names: int  # bytes for names
    counts: int  # bytes for the number of entries of each row
    text_chunk: int  # bytes of a chunk of text
    edges: int  # edges that are distributed at a time
    row_chunk: int  # bytes for sorting a chunk of rows
    row_chunk_divisor: int  # the memory divided by `row_chunk`
    threads: int

    @classmethod
    def of(cls, memory: int) -> _Budget:
        """Divide a number of bytes."""
        threads = min(_MAX_THREADS, available_threads())
        # Each thread sorts a chunk, one chunk waits and one is written; half of the memory is for nodes.
        row_chunk_divisor = 2 * (threads + 2)
        # A chunk of text takes up to 24 times its size while it is split, and there are a few more than threads.
        text_chunk = memory // (64 * (available_threads() + 2))
        return cls(
            names=max(memory // 2, _MIN_BUDGET),
            counts=max(memory // _COUNT_DIVISOR, _MIN_BUDGET),
            text_chunk=min(max(text_chunk, _MIN_CHUNK_SIZE), _MAX_TEXT_CHUNK),
            edges=min(max(memory // 512, 64), _MAX_EDGES),
            row_chunk=max(memory // row_chunk_divisor, _MIN_CHUNK_SIZE),
            row_chunk_divisor=row_chunk_divisor,
            threads=threads,
        )


class _RowLayout(NamedTuple):
    """What is known after all edges are encoded: the header so far, the number of edges, and the start of each row."""

    header: Header
    edges: int
    starts: Offsets

    @property
    def bytes_to_sort(self) -> int:
        """Bytes of memory that sorting needs per entry."""
        return 40 if self.header.weighted else 16

    @property
    def bytes_on_disk(self) -> int:
        """Bytes of an entry in the file of chunks."""
        return 16 if self.header.weighted else 8

    def chunk(self, low: int, high: int) -> tuple[Section, Section]:
        """Return where the entries of rows `low` to `high` - 1, and their weights, are in the file of chunks."""
        first, count = int(self.starts[low]), int(self.starts[high] - self.starts[low])
        entries = Section(first * self.bytes_on_disk, np.int32, 2 * count)
        return entries, Section(entries.end, np.float64, count if self.header.weighted else 0)


class _Conversion:
    """The stages of a conversion; temporary files are beside the output."""

    def __init__(self, source: GraphSource, budget: _Budget, report: ProgressCallback, output: Path) -> None:
        self._source, self._budget, self._report, self._output = source, budget, report, output
        self._both_ways = not source.options.directed
        self._edges, self._edge_weights = output.with_name("edges"), output.with_name("edge-weights")
        self._chunks, self._weights = output.with_name("chunks"), output.with_name("weights")

    def encode_edges(self) -> _RowLayout:
        """Read the text, write the edges as pairs of rows, and write the names to their section of the output."""
        encoder = FieldEncoder(self._budget.names)
        counts, edges, weighted = np.zeros(1 << 12, np.int64), 0, False
        with self._edges.open("wb") as ends_file, self._edge_weights.open("wb") as weights_file:
            for ends, weights in self._read_edges(encoder):
                counts = self._extend(counts, int(ends.max(initial=-1)) + 1)
                kernel.count_entries(ends, self._both_ways, counts)
                ends_file.write(ends.data)
                if weights is not None:
                    weights_file.write(weights.data)
                weighted |= weights is not None
                edges += len(ends)
        header = self._write_names(encoder, weighted)
        counts = self._extend(counts, header.nodes)
        return _RowLayout(header, edges, _starts(counts[: header.nodes]))

    def _read_edges(self, encoder: FieldEncoder) -> Iterator[EdgeChunk]:
        """Read the edges in chunks, without self-loops if they are to be dropped."""
        nodes = self._source.nodes
        labels = (self._source.label, nodes.label if isinstance(nodes, TextSource) else self._source.label)
        try:
            for ends, weights in read_edge_chunks(self._source, encoder):
                if self._source.options.drop_self_loops:
                    is_proper = ends[:, 0] != ends[:, 1]
                    yield ends[is_proper], None if weights is None else weights[is_proper]
                else:
                    yield ends, weights
                if (position := read_position(self._source.stream)) is not None:
                    self._report("reading", *position)
        except GraphError as error:
            raise error if str(error).startswith(labels) else GraphError(f"{labels[0]}: {error}") from None

    def _extend(self, counts: Offsets, rows: int) -> Offsets:
        if rows <= len(counts):
            return counts
        # Grow by a quarter; the old counts stay in memory meanwhile.
        length = max(rows, len(counts) + len(counts) // 4)
        needed = 8 * (len(counts) + length)
        self._check_memory(f"counting the edges of {rows:,} nodes", needed, self._budget.counts, _COUNT_DIVISOR)
        return np.concatenate([counts, np.zeros(length - len(counts), np.int64)])

    def _check_memory(self, task: str, needed: int, limit: int, divisor: int) -> None:
        if needed > limit:
            raise GraphError(
                f"{self._source.label}: {task} needs {needed:,} bytes of memory, and the limit for it is {limit:,};"
                f" raise the limit of all memory to {needed * divisor:,} bytes or more"
            )

    def _write_names(self, encoder: FieldEncoder, weighted: bool) -> Header:
        kind, arrays = name_sections(encoder.stored_names())
        nodes, size = (sum(map(len, chunks)) for chunks in (next(iter(arrays.values())), arrays.get("name_data", [])))
        header = Header(nodes, not self._both_ways, weighted, kind, size)
        with self._output.open("wb") as file:
            for name, chunks in arrays.items():
                file.seek(header.sections()[name].offset)
                for chunk in chunks:
                    file.write(np.ascontiguousarray(chunk).data)
        return header

    def split_rows(self, layout: _RowLayout) -> list[tuple[int, int]]:
        """Split the rows into chunks that can each be sorted in memory."""
        largest = int(np.diff(layout.starts).max(initial=0))
        task = f"sorting the {largest:,} edges of one node, including duplicates,"
        needed = largest * layout.bytes_to_sort + _BYTES_PER_ROW
        self._check_memory(task, needed, self._budget.row_chunk, self._budget.row_chunk_divisor)
        costs = layout.starts * layout.bytes_to_sort + np.arange(len(layout.starts)) * _BYTES_PER_ROW
        bounds = [0]
        while bounds[-1] < layout.header.nodes:
            limit = costs[bounds[-1]] + self._budget.row_chunk
            bounds.append(int(np.searchsorted(costs, limit, side="right")) - 1)
        return list(pairwise(bounds))

    def distribute_entries(self, layout: _RowLayout, chunks: list[tuple[int, int]]) -> None:
        """Write the entries of each chunk of rows to its section of the file of chunks."""
        needed, free = int(layout.starts[-1]) * layout.bytes_on_disk, shutil.disk_usage(self._output.parent).free
        if needed > free:
            raise OSError(errno.ENOSPC, f"{needed / 1e9:.1f} GB of disk space are needed; {free / 1e9:.1f} GB are free")
        bounds = np.array([0, *(high for _, high in chunks)], np.int64)
        offsets = [[section.offset for section in layout.chunk(low, high)] for low, high in chunks]

        def split_edges(start: int) -> tuple[Offsets, npt.NDArray[Any], npt.NDArray[Any]]:
            return self._split_edges(layout, bounds, start)

        with self._chunks.open("wb") as file:
            starts = range(0, layout.edges, self._budget.edges)
            for start, (sizes, *arrays) in zip(
                starts, map_ahead(split_edges, starts, self._budget.threads), strict=True
            ):
                ranges = pairwise([0, *np.cumsum(sizes).tolist()])
                for chunk_offsets, (low, high) in zip(offsets, ranges, strict=True):
                    for kind, array in enumerate(arrays):
                        _write(file, chunk_offsets[kind], array[low:high])
                        chunk_offsets[kind] += array[low:high].nbytes
                self._report("distributing", min(start + self._budget.edges, layout.edges), layout.edges)
        self._edges.unlink()
        self._edge_weights.unlink()

    def _split_edges(
        self, layout: _RowLayout, bounds: Offsets, start: int
    ) -> tuple[Offsets, npt.NDArray[Any], npt.NDArray[Any]]:
        """Read some edges; return how many entries each chunk gets, and the entries and weights in their order."""
        count = min(self._budget.edges, layout.edges - start)
        ends = _read(self._edges, Section(8 * start, np.int32, 2 * count)).reshape(-1, 2)
        weights = _read(self._edge_weights, Section(8 * start, np.float64, count if layout.header.weighted else 0))
        sizes, entries = np.empty(len(bounds) - 1, np.int64), np.empty((2 * count, 2), np.int32)
        entry_weights = np.empty(2 * len(weights))
        kernel.split_entries(ends, weights, self._both_ways, bounds, sizes, entries, entry_weights)
        return sizes, entries, entry_weights

    def write_rows(self, layout: _RowLayout, chunks: list[tuple[int, int]]) -> None:
        """Sort the chunks and write their rows to the output, then the other arrays and the header."""
        counts = np.zeros(layout.header.nodes, np.int64)

        def sort(chunk: tuple[int, int]) -> tuple[Offsets, Rows, Weights]:
            return self._sort_chunk(layout, *chunk)

        with self._output.open("r+b") as file, self._weights.open("w+b") as weights_file:
            file.seek(layout.header.sections()["indices"].offset)
            for (low, high), (indptr, indices, weights) in zip(
                chunks, map_ahead(sort, chunks, self._budget.threads), strict=True
            ):
                counts[low:high] = np.diff(indptr)
                file.write(indices.data)
                weights_file.write(weights.data)
                self._report("sorting", int(layout.starts[high]), int(layout.starts[-1]))
            self._chunks.unlink()
            header = replace(layout.header, entries=int(counts.sum()))
            if layout.header.weighted:
                file.seek(header.sections()["weights"].offset)
                weights_file.seek(0)
                shutil.copyfileobj(weights_file, file, _MAX_TEXT_CHUNK)
            _write(file, header.sections()["indptr"].offset, _starts(counts))
            # Bytes that were never written are zero, and so is the entry past the end.
            file.truncate(header.size)
            _write(file, 0, np.frombuffer(header.to_bytes(), np.uint8))
        self._write_fingerprint(header)

    def _sort_chunk(self, layout: _RowLayout, low: int, high: int) -> tuple[Offsets, Rows, Weights]:
        """Return the rows of a chunk as CSR arrays, without duplicates."""
        entries, weights = (_read(self._chunks, section) for section in layout.chunk(low, high))
        indptr = layout.starts[low : high + 1] - layout.starts[low]
        indices, sums = np.empty(len(entries) // 2, np.int32), np.empty(len(weights))
        kernel.sort_entries(entries.reshape(-1, 2), weights, low, indptr, indices, sums)
        count = csr.merge_duplicates(indptr, indices, sums)
        if not np.isfinite(sums[:count]).all():
            raise GraphError(f"{self._source.label}: {INFINITE_SUM}")
        return indptr, indices[:count], sums[:count]

    def _write_fingerprint(self, header: Header) -> None:
        """Open the new file, which checks it, and write its fingerprint to the header."""
        fingerprint = Graph.open(self._output).fingerprint()
        with self._output.open("r+b") as file:
            file.write(replace(header, fingerprint=fingerprint).to_bytes())


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
