"""The page as a file: it holds its input, hostile text stays text, and wrong input is refused."""

import re
import sys
import types

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import efge
from efge.explore import write_page
from efge.explore.page import _plotly_source
from example_pages import (
    GRID,
    HOSTILE,
    NAMES,
    grid_edges,
    grid_embedding,
    read_page_data,
    three_clusters,
    write_grid_page,
)
from helpers import assert_fails, run

pytest.importorskip("plotly")


def test_same_input_gives_the_same_bytes_at_any_number_of_threads(tmp_path):
    pages = []
    for number, threads in enumerate((1, 2, 2)):
        with threadpool_limits(threads):
            write_page(three_clusters(), tmp_path / f"{number}.html", columns={"set": {0: {"b", "a", "c"}}}, seed=3)
        pages.append((tmp_path / f"{number}.html").read_bytes())
    assert pages[0] == pages[1] == pages[2]


def test_the_page_holds_its_input(tmp_path):
    data = read_page_data(write_grid_page(tmp_path / "page.html"))
    embedding, graph = grid_embedding(), efge.as_graph(grid_edges())
    rows, scores = embedding.nearest(k=10)
    assert data["names"] == NAMES
    np.testing.assert_array_equal(np.stack([data["maps"][0]["x"], data["maps"][0]["y"]], axis=1), embedding.vectors)
    np.testing.assert_array_equal(data["maps"][0]["neighbors"]["rows"].reshape(-1, 10), rows)
    np.testing.assert_array_equal(data["maps"][0]["neighbors"]["scores"].reshape(-1, 10), scores)
    indptr, indices = data["edges"]["indptr"], data["edges"]["indices"]
    for row, name in enumerate(NAMES):
        assert {NAMES[other] for other in indices[indptr[row] : indptr[row + 1]]} == set(graph.neighbors(name))
    assert data["edges"]["count"] == graph.n_edges
    label, column, right, degree = data["columns"]
    assert (label["categories"], column["categories"][0]) == (["low", "high"], "0")
    assert [c["name"] for c in data["columns"]] == ["label", "column", "right", "degree"]
    assert column["codes"][0] == -1
    assert right["values"].tolist() == [x * 1.5 for x, _ in GRID]
    assert degree["values"].tolist() == [len(graph.neighbors(name)) for name in NAMES]


def test_the_page_is_hardly_larger_than_plotly(tmp_path):
    assert write_grid_page(tmp_path / "page.html").stat().st_size < 6_000_000


def test_hostile_text_stays_text(tmp_path):
    path = tmp_path / "page.html"
    labels = dict(zip(HOSTILE, HOSTILE[::-1], strict=True))
    embedding = efge.Embedding(np.eye(len(HOSTILE)), HOSTILE)
    write_page(embedding, path, labels=labels, columns=dict.fromkeys(HOSTILE, labels), title=HOSTILE[0])
    text, data = path.read_text("utf-8"), read_page_data(path)
    assert data["names"] == HOSTILE
    assert {column["name"] for column in data["columns"]} == {"label", *HOSTILE}
    assert text.count("<script") == 3
    assert text.count("window.broken=1</script>") == 0
    assert "\u2028" not in text
    embedded = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)[1]
    assert "<" not in embedded, "only this character can end a script, or begin a comment in it"


def test_the_security_policy_allows_two_scripts_and_no_network(tmp_path):
    text = write_grid_page(tmp_path / "page.html").read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy
    assert "'unsafe-inline'" not in re.search(r"script-src[^;]*", policy)[0]


def test_the_security_policy_allows_eval_only_because_plotly_calls_function(tmp_path):
    """The Python package has no strict bundle; once it has one, the page can do without."""
    text = write_grid_page(tmp_path / "page.html").read_text("utf-8")
    assert "'unsafe-eval'" in text
    assert "new Function(" in _plotly_source()


def test_directed_edges_count_at_both_nodes(tmp_path):
    graph = efge.as_graph([("a", "b"), ("c", "b"), ("b", "b"), ("b", "z")], directed=True)
    write_page(efge.Embedding(np.eye(3), ["a", "b", "c"]), tmp_path / "page.html", graph=graph)
    data = read_page_data(tmp_path / "page.html")
    assert data["columns"][0]["values"].tolist() == [1, 4, 1]
    assert data["edges"]["indices"].tolist() == [1, 0, 2, 1]
    assert data["edges"]["count"] == 2


def test_an_estimator_is_shown_by_its_embedding(tmp_path):
    write_page(types.SimpleNamespace(embedding_=grid_embedding()), tmp_path / "page.html", neighbors=0)
    assert read_page_data(tmp_path / "page.html")["maps"][0]["neighbors"] is None


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "mds"}, efge.EmbeddingError, "no projection method 'mds'; known: tsne, umap, pca"),
        ({"neighbors": -1}, ValueError, "neighbors is an integer from 0 to 200,000; got -1"),
        (
            {"graph": [("p", "q")]},
            efge.GraphError,
            "the graph has no node of Embedding(40 nodes, 2 dimensions); it has nodes such as 'p'",
        ),
        ({"labels": {"p": 1}}, efge.EvaluationError, "no node of Embedding(40 nodes, 2 dimensions) has a label"),
        ({"columns": {"age": {"p": 1}}}, efge.EvaluationError, "column 'age': no node of Embedding(40 nodes"),
        (
            {"columns": {"age": [1]}},
            efge.EvaluationError,
            "column 'age': a sequence must have a value for each of 40 vectors; got 1",
        ),
        (
            {"columns": 5},
            efge.EvaluationError,
            "columns must be a mapping of names to values, or a data frame; got int",
        ),
    ],
)
def test_wrong_input_is_one_line_and_keeps_the_old_file(tmp_path, options, error, message):
    path = tmp_path / "page.html"
    path.write_text("before")
    with pytest.raises(error, match=re.escape(message)) as caught:
        write_page(grid_embedding(), path, **options)
    assert "\n" not in str(caught.value)
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(("source", "message"), [(5, "got int"), (efge.Embedding(np.empty((0, 2))), "has none")])
def test_only_embeddings_with_nodes_are_shown(tmp_path, source, message):
    with pytest.raises(efge.EmbeddingError, match=message):
        write_page(source, tmp_path / "page.html")


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [("plotly.offline", {}, r"install efge\[explore\]"), ("umap", {"method": "umap"}, "umap-learn")],
)
def test_missing_packages_are_named(tmp_path, monkeypatch, module, options, message):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=message):
        write_page(grid_embedding(), tmp_path / "page.html", **options)


def test_maps_to_compare_are_named_by_their_models_if_these_differ(tmp_path):
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]
    hope, other = efge.HOPE(dim=2, seed=0).fit(edges), efge.NetMF(dim=2, seed=0).fit(edges)
    for source, names in ((other, ["HOPE", "NetMF"]), (hope, ["First", "Second"]), (other.embedding_, None)):
        write_page(hope, tmp_path / "page.html", compare=source)
        found = [part["name"] for part in read_page_data(tmp_path / "page.html")["maps"]]
        assert found == (names or ["First", "Second"])


def test_a_second_embedding_has_a_map_that_fits_the_first_and_its_own_neighbors(tmp_path):
    embedding = grid_embedding()
    turned = efge.Embedding(embedding.vectors[:, ::-1] * 5 + 2, embedding.names.tolist())
    shuffled = turned[embedding.names[::-1].tolist()]
    write_page(embedding, tmp_path / "page.html", compare=shuffled, neighbors=3)
    data = read_page_data(tmp_path / "page.html")
    first, second = (np.stack([part["x"], part["y"]], axis=1) for part in data["maps"])
    np.testing.assert_allclose(second, first, atol=1e-3)
    assert data["columns"][0]["name"] == "neighbors in common"
    rows, others = embedding.nearest(k=3)[0], turned.nearest(k=3)[0]
    expected = [len(set(a) & set(b)) / 3 for a, b in zip(rows.tolist(), others.tolist(), strict=True)]
    np.testing.assert_allclose(data["columns"][0]["values"], expected)
    with pytest.raises(efge.EmbeddingError, match="both embeddings must have the same nodes; the second has no"):
        write_page(embedding, tmp_path / "page.html", compare=efge.Embedding([[1, 2]], ["someone else"]))


def test_a_page_of_very_many_nodes_has_a_sample_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr("efge.explore.page._MAX_NODES", 20)
    embedding = grid_embedding()
    write_page(embedding, tmp_path / "page.html", columns={"row": np.arange(len(embedding)) + 0.5})
    data = read_page_data(tmp_path / "page.html")
    assert len(data["names"]) == 20
    assert data["total"] == len(embedding)
    rows = [embedding.names.tolist().index(name) for name in data["names"]]
    assert data["columns"][0]["values"].tolist() == [row + 0.5 for row in rows]
    np.testing.assert_array_equal(data["maps"][0]["x"], embedding.vectors[rows, 0])
    write_page(embedding, tmp_path / "other.html", seed=1)
    assert read_page_data(tmp_path / "other.html")["names"] != data["names"]


def test_a_page_has_the_suffix_of_a_page(tmp_path):
    embedding = grid_embedding()
    for name in ("map.txt", "map.png", "map.html.zip"):
        with pytest.raises(ValueError, match=rf"{name}: a page is HTML, so its name ends in .html, such as map"):
            write_page(embedding, tmp_path / name)
        with pytest.raises(ValueError, match="a page is HTML"):
            efge.write_report(grid_edges(), tmp_path / name)
        embedding.save(tmp_path / "v.npz")
        assert_fails(run("explore", "v.npz", "-o", name, cwd=tmp_path), f"{name}: a page is HTML")
        assert_fails(run("report", "cora", "-o", name, cwd=tmp_path), f"{name}: a page is HTML")
        assert not (tmp_path / name).exists()
    for name in ("map.HTM", "map", "map.html.gz"):
        write_page(embedding, tmp_path / name, neighbors=0)


@pytest.mark.parametrize("names", [[1, 2, 3], ["1", "2", "ann"], ["001", "002", "003"]])
@pytest.mark.parametrize("other", ["", "zoe,7\n"])
def test_nodes_of_a_table_are_matched_as_those_of_labels(tmp_path, names, other):
    efge.Embedding(np.eye(3), names).save(tmp_path / "v.npz")
    (tmp_path / "t.csv").write_text(
        "node,age\n" + "".join(f"{name},{20 + i}\n" for i, name in enumerate(names[:2])) + other
    )
    done = run("explore", "v.npz", "--table", "t.csv", "-o", "map.html", "--method", "pca", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (column,) = read_page_data(tmp_path / "map.html")["columns"]
    assert column["values"].tolist()[:2] == [20, 21]
