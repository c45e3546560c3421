"""The command that finds nearest neighbors: of some nodes as a table, or of all nodes as a file."""

from __future__ import annotations

import json
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import efge
from efge.cli import runs
from efge.cli.console import log_info, print_table, progress
from efge.cli.evaluate import FormatOption, VectorsArgument
from efge.cli.options import GRAPH_OPTIONS, JsonFlag, with_options
from efge.cli.outputs import ForceFlag, check_outputs
from efge.progress import counter

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_SUFFIXES = (".parquet", ".csv", ".tsv")
# Nodes without a direction that a message lists.
_MAX_LISTED = 5
# How to read the graph of --exclude; its isolated nodes have no neighbors to leave out.
_EXCLUDE_OPTIONS = {name: option for name, option in GRAPH_OPTIONS.items() if name != "nodes"}


@with_options(_EXCLUDE_OPTIONS)
def neighbors(
    vectors: VectorsArgument,
    nodes: Annotated[list[str] | None, typer.Argument(metavar="NODE...", help="Names of nodes.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Find the neighbors of all nodes.")] = False,
    k: Annotated[int, typer.Option("--count", "-k", help="Number of neighbors of each node.")] = 10,
    metric: Annotated[str, typer.Option(help="Similarity: cosine or dot.")] = "cosine",
    among: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of candidates, one name per line. \\[default: all nodes]")
    ] = None,
    exclude: Annotated[
        str | None,
        typer.Option(
            metavar="GRAPH",
            help="Graph, read with the options below, whose edges are known: neighbors in it are left out.",
        ),
    ] = None,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Search the index VECTORS.index, which efge index wrote.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the table to a .parquet, .csv or .tsv file.", show_default=False),
    ] = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
    format: FormatOption = None,  # noqa: A002
    **options: Any,
) -> None:
    """Print the nearest neighbors of nodes, or write those of all nodes to a file."""
    import numpy as np

    if every == bool(nodes):
        raise ValueError("give the names of nodes, or --all for all nodes" + (", but not both" if every else ""))
    if output is not None and output.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"{output}: the suffix of a table is one of {', '.join(_SUFFIXES)}")
    if approximate and (metric != "cosine" or among is not None or exclude is not None):
        raise ValueError(
            "an index finds neighbors by cosine among all nodes; leave out --metric, --among and --exclude"
        )
    check_outputs([output], [vectors, among, exclude], force)
    reading = runs.select_reading(options, _EXCLUDE_OPTIONS, "--exclude", exclude)
    embedding = efge.Embedding.load(vectors, format)
    names = None if every else [runs.find_node(embedding, node) for node in nodes or ()]
    queries = np.arange(len(embedding)) if names is None else embedding._rows(names)
    comparable = _find_comparable(embedding, queries)
    if approximate:
        rows, scores = _load_index(vectors, embedding).nearest(names, k)
    else:
        candidates = None if among is None else read_candidates(among, embedding)
        graph = None if exclude is None else runs.read_graph_of(embedding, exclude, reading)
        with progress("neighbors", "nodes") as advance:
            count = counter(advance, len(embedding) if names is None else len(names))
            rows, scores = embedding.nearest(names, k, metric, candidates, graph, progress=count)
    rows, scores = rows[comparable], scores[comparable]
    table = _make_table(embedding, queries[comparable], rows, scores, metric)
    if output is not None:
        _write_table(table, output)
        log_info(f"wrote {table.num_rows:,} neighbors of {len(rows):,} nodes to {output}")
    elif as_json:
        print(json.dumps(table.drop_columns(["rank"]).to_pylist(), default=str))
    else:
        lines = zip(*(table[name].to_pylist() for name in ("node", "neighbor", metric)), strict=True)
        print_table(["node", "neighbor", metric], [[str(a), str(b), f"{score:.4f}"] for a, b, score in lines])


def _find_comparable(embedding: efge.Embedding, queries: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which nodes have a vector that is not zero; say which have not, and raise if that is all of them."""
    import numpy as np

    comparable = np.asarray(embedding.vectors[queries].any(axis=1))
    zero = embedding.names[queries[~comparable]].tolist()
    if not zero:
        return comparable
    listed = ", ".join(map(str, zero[:_MAX_LISTED])) + (
        f" and {len(zero) - _MAX_LISTED:,} more" * (len(zero) > _MAX_LISTED)
    )
    text = f"{listed}: {'its vector is' if len(zero) == 1 else 'their vectors are'} zero, to which no node is near"
    if not comparable.any():
        raise ValueError(text)
    log_info(f"{text}; left out")
    return comparable


def _load_index(vectors: str, embedding: efge.Embedding) -> efge.NeighborIndex:
    path = Path(f"{vectors}.index")
    if not path.exists():
        raise ValueError(f"{path}: no such index; build it with: efge index {vectors}")
    return efge.NeighborIndex.load(path, embedding)


def index(
    vectors: VectorsArgument,
    recall: Annotated[float, typer.Option(help="Fraction of the exact ten nearest neighbors to find.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same index.")] = 0,
    force: ForceFlag = False,
    format: FormatOption = None,  # noqa: A002
) -> None:
    """Build an approximate index for neighbors --approximate, and write it to VECTORS.index."""
    check_outputs([f"{vectors}.index"], [vectors], force)
    found = efge.NeighborIndex.build(efge.Embedding.load(vectors, format), recall, seed)
    found.save(f"{vectors}.index")
    log_info(f"wrote {found!r} to {vectors}.index")


def _make_table(
    embedding: efge.Embedding,
    queries: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    scores: npt.NDArray[np.float32],
    metric: str,
) -> Any:
    """Return an Arrow table with a row for each node and neighbor."""
    import numpy as np
    import pyarrow as pa

    found = rows >= 0
    ranks = np.broadcast_to(np.arange(1, rows.shape[1] + 1, dtype=np.int32), rows.shape)
    items = embedding.names.tolist()
    plain = embedding.names.dtype != object or all(type(name) is str for name in items)
    names = pa.array(items if plain else [str(name) for name in items])
    columns = {
        "node": names.take(pa.array(np.repeat(queries, found.sum(axis=1)))),
        "neighbor": names.take(pa.array(rows[found])),
        "rank": pa.array(ranks[found]),
        metric: pa.array(scores[found]),
    }
    return pa.table(columns)


def _write_table(table: Any, path: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    from efge.io.atomic import atomic_write

    with atomic_write(path) as stream:
        if path.suffix.lower() == ".parquet":
            pyarrow.parquet.write_table(table, stream)
            return
        delimiter = "," if path.suffix.lower() == ".csv" else "\t"
        pyarrow.csv.write_csv(table, stream, pyarrow.csv.WriteOptions(delimiter=delimiter, quoting_style="needed"))


def read_candidates(path: Path, embedding: Any) -> list[Hashable]:
    """Return the nodes that a file lists; as names are text there, they are looked up like arguments."""
    from efge.graph.text_edges import read_node_names
    from efge.graph.text_lines import TextSource
    from efge.io.files import open_input

    with open_input(path) as stream:
        texts = read_node_names(TextSource(stream, str(path)))
    try:
        return [runs.find_node(embedding, text) for text in texts]
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
