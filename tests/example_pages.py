"""Embeddings with known answers and the pages written from them."""

import base64
import json
import re

import numpy as np

import efge
from efge.explore import write_page

DTYPES = {"x": "<f4", "y": "<f4", "rows": "<i4", "scores": "<f4", "indptr": "<i4", "indices": "<i4", "codes": "<i4"}
HOSTILE = [
    "</script><script>window.broken=1</script>",
    "<img src=x onerror='window.broken=1'>",
    "${window.broken=1}`",
    "\"'--><!--<script>",
    "\u2028\u2029\0\ud800",
    "<b>bold</b><a href='javascript:window.broken=1'>link</a>",
    "{{SCRIPT}}{{DATA}}",
    "__proto__",
]


def read_page_data(path):
    """Return the JSON of a page, with its arrays decoded."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    return json.loads(match[1], object_hook=decode_arrays)


def decode_arrays(entry):
    for key in DTYPES.keys() & entry.keys():
        entry[key] = np.frombuffer(base64.b64decode(entry[key]), DTYPES[key])
    if isinstance(entry.get("values"), str):
        entry["values"] = np.frombuffer(base64.b64decode(entry["values"]), "<f8")
    return entry


def three_clusters(seed=0, size=20, dim=8):
    """Return an embedding of three distant clusters; nodes are 0 to 3 * size - 1."""
    random = np.random.default_rng(seed)
    centers = np.eye(3, dim) * 4
    return efge.Embedding(np.repeat(centers, size, axis=0) + random.normal(0, 0.3, (3 * size, dim)))


# Nodes in eight columns and five rows, named by their column and row; each is linked to the next in its row, and the
# hub in the middle to all.
GRID = [(x, y) for x in range(8) for y in range(5)]
NAMES = [f"node {x}{y}" for x, y in GRID]
HUB = NAMES.index("node 42")


def grid_embedding():
    return efge.Embedding(np.add(GRID, [1.0, 1.3]), NAMES)


def grid_edges():
    rows = [(f"node {x}{y}", f"node {x + 1}{y}") for x, y in GRID if x < 7]
    return rows + [(NAMES[HUB], name) for name in NAMES if name != NAMES[HUB]]


def write_grid_page(path, **options):
    labels = {name: ["low", "high"][y > 2] for name, (_, y) in zip(NAMES, GRID, strict=True)}
    table = {
        "column": {name: x for name, (x, y) in zip(NAMES, GRID, strict=True) if y},
        "right": [x * 1.5 for x, _ in GRID],
    }
    write_page(grid_embedding(), path, graph=grid_edges(), labels=labels, columns=table, title="A grid", **options)
    return path
