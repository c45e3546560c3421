"""The explorer's page: what is in the file, and what a real browser makes of it without a network."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import efge
from efge.explore import columns as columns_module
from efge.explore import lay_out, write_page
from efge.explore.layout import principal_components

pd = pytest.importorskip("pandas")
pytest.importorskip("plotly")

KINDS = {"x": "<f4", "y": "<f4", "rows": "<i4", "scores": "<f4", "starts": "<i4", "ends": "<i4", "codes": "<i4"}
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


def data_of(path):
    """The JSON in a page, its numbers unpacked."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    return json.loads(found[1], object_hook=unpacked)


def unpacked(entry):
    for key in KINDS.keys() & entry.keys():
        entry[key] = np.frombuffer(base64.b64decode(entry[key]), KINDS[key])
    if isinstance(entry.get("values"), str):
        entry["values"] = np.frombuffer(base64.b64decode(entry["values"]), "<f8")
    return entry


def blobs(seed=0, size=20, dim=8):
    """Three far groups of nodes, 0 to 3 * size - 1."""
    random = np.random.default_rng(seed)
    centers = np.eye(3, dim) * 4
    return efge.Embedding(np.repeat(centers, size, axis=0) + random.normal(0, 0.3, (3 * size, dim)))


# Eight columns and five rows of nodes in the plane, named by their column and row; each is joined to the next in its
# row, and the one in the middle to all.
GRID = [(x, y) for x in range(8) for y in range(5)]
NAMES = [f"node {x}{y}" for x, y in GRID]
HUB = NAMES.index("node 42")


def grid():
    return efge.Embedding(np.add(GRID, [1.0, 1.3]), NAMES)


def grid_edges():
    rows = [(f"node {x}{y}", f"node {x + 1}{y}") for x, y in GRID if x < 7]
    return rows + [(NAMES[HUB], name) for name in NAMES if name != NAMES[HUB]]


def grid_page(path, **options):
    labels = {name: ["low", "high"][y > 2] for name, (_, y) in zip(NAMES, GRID, strict=True)}
    table = {
        "column": {name: x for name, (x, y) in zip(NAMES, GRID, strict=True) if y},
        "right": [x * 1.5 for x, _ in GRID],
    }
    write_page(grid(), path, graph=grid_edges(), labels=labels, columns=table, title="A grid", **options)
    return path


# --- the file


def test_same_input_gives_the_same_bytes_at_any_number_of_threads(tmp_path):
    pages = []
    for number, threads in enumerate((1, 2, 2)):
        with threadpool_limits(threads):
            write_page(blobs(), tmp_path / f"{number}.html", columns={"set": {0: {"b", "a", "c"}}}, seed=3)
        pages.append((tmp_path / f"{number}.html").read_bytes())
    assert pages[0] == pages[1] == pages[2]


def test_page_holds_what_was_given(tmp_path):
    data = data_of(grid_page(tmp_path / "page.html"))
    embedding, graph = grid(), efge.as_graph(grid_edges())
    rows, scores = embedding.nearest(k=10)
    assert data["names"] == NAMES
    np.testing.assert_array_equal(np.stack([data["map"]["x"], data["map"]["y"]], axis=1), embedding.vectors)
    np.testing.assert_array_equal(data["neighbors"]["rows"].reshape(-1, 10), rows)
    np.testing.assert_array_equal(data["neighbors"]["scores"].reshape(-1, 10), scores)
    starts, ends = data["links"]["starts"], data["links"]["ends"]
    for row, name in enumerate(NAMES):
        assert {NAMES[end] for end in ends[starts[row] : starts[row + 1]]} == set(graph.neighbors(name))
    assert data["links"]["edges"] == graph.n_edges
    label, column, right, degree = data["columns"]
    assert (label["categories"], column["categories"][0]) == (["low", "high"], "0")
    assert [c["name"] for c in data["columns"]] == ["label", "column", "right", "degree"]
    assert column["codes"][0] == -1
    assert right["values"].tolist() == [x * 1.5 for x, _ in GRID]
    assert degree["values"].tolist() == [len(graph.neighbors(name)) for name in NAMES]


def test_page_is_small_beside_the_library(tmp_path):
    assert grid_page(tmp_path / "page.html").stat().st_size < 6_000_000


def test_hostile_text_stays_text(tmp_path):
    path = tmp_path / "page.html"
    labels = dict(zip(HOSTILE, HOSTILE[::-1], strict=True))
    embedding = efge.Embedding(np.eye(len(HOSTILE)), HOSTILE)
    write_page(embedding, path, labels=labels, columns=dict.fromkeys(HOSTILE, labels), title=HOSTILE[0])
    text, data = path.read_text("utf-8"), data_of(path)
    assert data["names"] == HOSTILE
    assert {column["name"] for column in data["columns"]} == {"label", *HOSTILE}
    assert text.count("<script") == 3
    assert text.count("window.broken=1</script>") == 0
    assert "\u2028" not in text


def test_policy_allows_the_two_scripts_and_no_network(tmp_path):
    text = grid_page(tmp_path / "page.html").read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy
    assert "'unsafe-inline'" not in re.search(r"script-src[^;]*", policy)[0]


def test_directed_edges_count_from_both_ends(tmp_path):
    graph = efge.as_graph([("a", "b"), ("c", "b"), ("b", "b"), ("b", "z")], directed=True)
    write_page(efge.Embedding(np.eye(3), ["a", "b", "c"]), tmp_path / "page.html", graph=graph)
    data = data_of(tmp_path / "page.html")
    assert data["columns"][0]["values"].tolist() == [1, 4, 1]
    assert data["links"]["ends"].tolist() == [1, 0, 2, 1]
    assert data["links"]["edges"] == 2


def test_estimators_are_shown_by_their_embedding(tmp_path):
    write_page(types.SimpleNamespace(embedding_=grid()), tmp_path / "page.html", neighbors=0)
    assert data_of(tmp_path / "page.html")["neighbors"] is None


# --- columns


def column_of(values, embedding=None, name="x"):
    (column,) = columns_module.columns_of(embedding or efge.Embedding(np.eye(4), list("abcd")), table={name: values})
    return column


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["p", "q", "q", None], ["q", "p", "q"]),
        ([1, 1, 2, 2], ["1", "2"]),
        ([1.0, 1.0, 2.0, float("nan")], None),
        ([True, False, True, True], ["True", "False"]),
        ([0.5, 1, 2, np.inf], None),
        ([3, 1, 2, 5], None),
        ([("p", "q"), "r", ["p", "q"], ()], ["p, q", "r"]),
        ({"b": 7, "z": 0.5}, None),
        (pd.Series([pd.NA, "q"], ["a", "b"]), ["q"]),
        (efge.Communities([["a", "b"], ["b", "c"]]), ["0", "0, 1", "1"]),
    ],
)
def test_columns_are_numbers_or_categories(values, expected):
    column = column_of(values)
    found = getattr(column, "categories", None)
    assert (found if found is None else set(found)) == (None if expected is None else set(expected))


def test_most_frequent_categories_come_first():
    assert column_of(["p", "q", "q", "r"]).categories == ["q", "p", "r"]
    assert column_of(["p", "q", "q", "r"]).codes.tolist() == [1, 0, 0, 2]


def test_community_numbers_are_categories_even_if_there_are_many():
    assert hasattr(column_of([1, 2, 3, 4], name="Community"), "categories")


def test_wide_numbers_are_drawn_by_their_logarithms():
    assert column_of([1.5, 0, 2, 300]).by_log
    assert not column_of([1.5, -1, 2, 300]).by_log
    assert not column_of([1.5, 2, 3, 4]).by_log


@pytest.mark.parametrize("kind", ["index", "column", "polars"])
def test_tables_know_nodes_by_index_or_column(kind):
    frame = pd.DataFrame({"Node": ["c", "a", "y"], "kind": ["p", "q", "r"], "size": [0.5, None, 1]})
    table = frame.set_index("Node") if kind == "index" else frame
    if kind == "polars":
        table = pytest.importorskip("polars").DataFrame(frame.to_dict("list"))
    kinds, sizes = columns_module.columns_of(efge.Embedding(np.eye(3), list("abc")), table=table)
    assert (kinds.categories, kinds.codes.tolist()) == (["p", "q"], [1, -1, 0])
    np.testing.assert_array_equal(sizes.values, [np.nan, np.nan, 0.5])


def test_labels_of_several_classes_are_joined():
    labels = {"a": ("x", "y"), "b": "x"}
    (column,) = columns_module.columns_of(efge.Embedding(np.eye(3), list("abc")), labels)
    assert (column.categories, column.codes.tolist()) == (["x", "x, y"], [1, 0, -1])


# --- places


@pytest.mark.parametrize("method", [None, "tsne", "pca"])
@pytest.mark.parametrize("dim", [1, 2, 3, 60])
def test_any_vectors_have_finite_places(method, dim):
    random = np.random.default_rng(0)
    for count in (1, 2, 3, 4, 5, 7):
        for vectors in (random.normal(size=(count, dim)), np.zeros((count, dim)), np.full((count, dim), 3e38)):
            layout = lay_out(efge.Embedding(vectors), method)
            assert layout.places.shape == (count, 2)
            assert np.isfinite(layout.places).all()


def test_default_method_fits_the_vectors():
    def about(count, dim):
        return lay_out(efge.Embedding(np.random.default_rng(0).normal(size=(count, dim)))).about

    assert about(6000, 2) == "the two dimensions as they are"
    assert about(20, 1) == "the one dimension from left to right; heights mean nothing"
    assert about(20, 3) == "t-SNE of 3 dimensions"
    assert about(5001, 3) == "the two principal components of 3 dimensions"
    assert about(4, 3) == "the two principal components of 3 dimensions"


def test_one_dimension_goes_from_left_to_right():
    places = lay_out(efge.Embedding([[1.0], [3.0], [2.0]])).places
    assert places[:, 0].tolist() == [1, 3, 2]
    assert np.abs(places[:, 1]).max() <= 0.1


def test_groups_stay_together_on_a_map_by_tsne():
    places = lay_out(blobs(dim=60), "tsne").places
    distances = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(60) * 1e9
    assert (distances.argmin(axis=1) // 20 == np.arange(60) // 20).all()


def test_other_seeds_give_other_maps():
    assert not np.array_equal(lay_out(blobs(), "tsne", 0).places, lay_out(blobs(), "tsne", 1).places)


@pytest.mark.parametrize("shape", [(30, 6), (5, 12)])
def test_principal_components_are_those_of_scikit_learn(shape):
    from sklearn.decomposition import PCA

    vectors = np.random.default_rng(1).normal(size=shape)
    np.testing.assert_allclose(np.abs(principal_components(vectors, 2)), np.abs(PCA(2).fit_transform(vectors)))


def test_umap_is_called_with_a_seed_if_it_is_there(monkeypatch):
    made = []

    class UMAP:
        def __init__(self, **options):
            made.append(options)

        def fit_transform(self, points):
            return points[:, :2]

    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=UMAP))
    assert lay_out(blobs(), "umap", 1).about == "UMAP of 8 dimensions"
    assert lay_out(blobs(), "umap", 2).places.shape == (60, 2)
    assert made[0]["random_state"] != made[1]["random_state"]


# --- errors


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "mds"}, efge.EmbeddingError, "no method 'mds' of a map; known: tsne, umap, pca"),
        ({"neighbors": -1}, ValueError, "neighbors is a whole number from 1 on; got -1"),
        (
            {"graph": [("p", "q")]},
            efge.GraphError,
            "the graph has no node of Embedding(40 nodes, 2 dimensions); it has 'p'",
        ),
        ({"labels": {"p": 1}}, efge.EvaluationError, "no node of Embedding(40 nodes, 2 dimensions) has a label"),
        ({"columns": {"age": {"p": 1}}}, efge.EvaluationError, "column 'age': no node of Embedding(40 nodes"),
        ({"columns": {"age": [1]}}, efge.EvaluationError, "column 'age': values without names come for each of 40"),
        ({"columns": 5}, efge.EvaluationError, "columns are a mapping of names to values, or a data frame; got int"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_the_old_file(tmp_path, options, error, message):
    path = tmp_path / "page.html"
    path.write_text("before")
    with pytest.raises(error, match=re.escape(message)) as caught:
        write_page(grid(), path, **options)
    assert "\n" not in str(caught.value)
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(("thing", "message"), [(5, "got int"), (efge.Embedding(np.empty((0, 2))), "has none")])
def test_only_embeddings_with_nodes_are_shown(tmp_path, thing, message):
    with pytest.raises(efge.EmbeddingError, match=message):
        write_page(thing, tmp_path / "page.html")


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [("plotly.offline", {}, r"install efge\[explore\]"), ("umap", {"method": "umap"}, "umap-learn")],
)
def test_missing_packages_are_named(tmp_path, monkeypatch, module, options, message):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=message):
        write_page(grid(), tmp_path / "page.html", **options)


# --- the page in a browser

# Without a graphics card, and without looking for any network of its own.
ARGUMENTS = [
    "--no-sandbox",
    "--no-first-run",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="the page is driven by playwright, which is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on this machine, to see the page with")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield browser
        browser.close()


WINDOW = {"width": 1200, "height": 760}


class Opened:
    """A page in a browser without a network, and what one does with it."""

    def __init__(self, browser, path, **options):
        options = {"viewport": WINDOW, "color_scheme": "light"} | options
        self.context = browser.new_context(offline=True, accept_downloads=True, **options)
        self.context.route(re.compile(r"^(?!file:|blob:|data:)"), lambda route: route.abort())
        self.page = self.context.new_page()
        self.requests, self.messages = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.address = Path(path).as_uri()
        self.page.goto(self.address)
        self.page.wait_for_selector("body[data-ready]", timeout=60_000)

    def state(self, field):
        return self.page.evaluate(f"explorer.state.{field}")

    def selected(self):
        return set(self.page.evaluate("[...(explorer.state.selected ?? [])].map((row) => explorer.names[row])"))

    def drawn(self):
        return set(self.page.evaluate("explorer.drawnRows().map((row) => explorer.names[row])"))

    def place(self, row):
        """Where a node is in the window."""
        box, at = self.page.locator("#map").bounding_box(), self.page.evaluate("explorer.placeOf", row)
        return box["x"] + at["x"], box["y"] + at["y"]

    def pixels(self, selector="#view"):
        image = pytest.importorskip("PIL.Image")
        return np.asarray(image.open(io.BytesIO(self.page.locator(selector).screenshot())).convert("RGB"), int)

    def gets_color(self, row, color):
        """Whether it comes to have it: maps are drawn after what they follow, late where the processor is busy."""
        self.until("explorer.state.drawing === 0")
        return any(self.has_color(row, color) or self.page.wait_for_timeout(200) for _ in range(50))

    def has_color(self, row, color, pixels=None):
        """Whether a node's point has about this color."""
        at = self.page.evaluate("explorer.placeOf", row)
        found = (self.pixels() if pixels is None else pixels)[round(at["y"]), round(at["x"])]
        wanted = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
        return np.abs(found - wanted).max() <= 60

    def click(self, row):
        """Click a node as people do: when the page shows that the pointer is on it, and not twice within a moment."""
        self.page.wait_for_timeout(350)
        self.page.mouse.move(*self.place(row), steps=3)
        self.until(f"explorer.state.pointed === {row}")
        self.page.mouse.click(*self.place(row))
        self.until(f"explorer.state.picked === {row}")

    def until(self, condition):
        self.page.wait_for_function(condition)

    def drag(self, points):
        self.page.mouse.move(*points[0])
        self.page.mouse.down()
        for point in points[1:]:
            self.page.mouse.move(*point, steps=4)
        self.page.mouse.up()

    def names_in(self, selector):
        return self.page.locator(selector).all_inner_texts()

    def close(self):
        """Nothing was asked of any network, and nothing complained."""
        asked = [url for url in self.requests if url != self.address and not url.startswith("blob:file:")]
        self.context.close()
        assert not asked
        assert not self.messages


@pytest.fixture(scope="module")
def grid_file(tmp_path_factory):
    return grid_page(tmp_path_factory.mktemp("explore") / "grid.html")


@pytest.fixture(scope="module")
def opened_once(browser, grid_file):
    page = Opened(browser, grid_file)
    yield page
    page.close()


@pytest.fixture
def opened(opened_once):
    """The page of the grid as it was at first: opening it anew would take longer than the tests."""
    page = opened_once.page
    page.mouse.move(600, 740)
    page.keyboard.press("Escape")
    page.select_option("#column", label="label")
    page.fill("#search", "")
    if opened_once.state("dark"):
        page.click("#theme")
    page.click("[data-mode=pan]")
    page.click("#fit")
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0); document.querySelector('aside').scrollTo(0, 0)")
    return opened_once


def test_points_are_drawn_where_their_nodes_are(opened):
    assert opened.names_in("#about") == ["40 nodes · 72 edges · the two dimensions as they are"]
    assert opened.page.title() == "A grid"
    assert opened.page.locator("canvas.gl-canvas").count() > 0
    pixels = opened.pixels()
    for row in range(len(NAMES)):
        expected = "#0072b2" if GRID[row][1] < 3 else "#d55e00"
        assert opened.has_color(row, expected, pixels), NAMES[row]


def test_click_lists_neighbors_as_the_embedding_has_them_and_draws_edges(opened):
    before = opened.pixels()
    opened.click(HUB)
    expected = grid().neighbors(NAMES[HUB])
    assert opened.names_in("#near .name") == [name for name, _ in expected]
    assert [float(text) for text in opened.names_in("#near .score")] == pytest.approx(
        [score for _, score in expected], abs=6e-4
    )
    assert opened.names_in("#node-name") == [NAMES[HUB]]
    assert opened.names_in("#node-values dd") == ["low", "4", "6", "39"]
    # Half-way to the far corner there is nothing but an edge.
    corner = NAMES.index("node 03")
    middle = np.mean([list(opened.page.evaluate("explorer.placeOf", row).values()) for row in (HUB, corner)], axis=0)
    x, y = np.round(middle).astype(int)
    around = slice(y - 3, y + 4), slice(x - 3, x + 4)
    assert (before[around] == before[3, 600]).all()
    assert (opened.pixels()[around] != before[3, 600]).any()


def test_what_is_forgotten_leaves_no_mark_on_the_map(opened):
    opened.until("explorer.state.drawing === 0")
    before = opened.pixels()
    for _ in range(5):
        opened.click(HUB)
        assert (opened.pixels() != before).any()
        opened.page.mouse.move(600, 740)
        opened.page.keyboard.press("Escape")
        opened.until("explorer.state.pointed === -1")
        opened.page.click("#fit")  # Drawn anew, the map has no more on it.
        assert any((opened.pixels() == before).all() or opened.page.wait_for_timeout(200) for _ in range(20))


def test_a_neighbor_in_the_list_is_gone_to_and_escape_clears(opened):
    opened.click(HUB)
    opened.page.locator("#near button").nth(2).click()
    row = opened.state("picked")
    assert NAMES[row] == grid().neighbors(NAMES[HUB])[2][0]
    opened.until(
        "Math.abs(explorer.placeOf(explorer.state.picked).x - document.getElementById('map').clientWidth / 2) < 2"
    )
    opened.page.keyboard.press("Escape")
    assert opened.state("picked") == -1
    assert opened.page.locator("#node").is_hidden()


def test_hover_tells_name_and_values(opened):
    opened.page.mouse.move(*opened.place(HUB))
    opened.page.locator("#tip").wait_for(state="visible")
    assert opened.names_in("#tip > *") == [NAMES[HUB], "label: low", "column: 4", "right: 6", "degree: 39"]
    opened.page.mouse.move(600, 740)
    opened.page.locator("#tip").wait_for(state="hidden")


def test_search_finds_parts_of_names_and_goes_there(opened):
    opened.page.fill("#search", "DE 7")
    assert opened.names_in("#matches li") == [f"node 7{y}" for y in range(5)]
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("Enter")
    assert NAMES[opened.state("picked")] == "node 71"
    assert opened.page.locator("#matches").is_hidden()
    opened.until("Math.abs(explorer.placeOf(36).x - document.getElementById('map').clientWidth / 2) < 2")
    opened.page.fill("#search", "nobody")
    assert opened.names_in("#found") == ["No node has this in its name"]


def test_legend_hides_and_shows_classes(opened):
    high = NAMES.index("node 14")
    opened.page.get_by_role("button", name="high").click()
    assert opened.drawn() == {name for name, (_, y) in zip(NAMES, GRID, strict=True) if y < 3}
    assert opened.gets_color(high, "#ffffff")
    opened.page.click("#hide-all")
    assert opened.drawn() == set()
    opened.page.click("#show-all")
    assert opened.drawn() == set(NAMES)
    assert opened.gets_color(high, "#d55e00")


def test_colors_follow_the_chosen_column(opened):
    assert opened.names_in("#column option") == ["label", "column", "right", "degree", "nothing"]
    opened.page.select_option("#column", label="column")
    assert opened.names_in("#legend .name") == [*"01234567", "no value"]
    assert opened.gets_color(NAMES.index("node 11"), "#d55e00")
    assert opened.gets_color(NAMES.index("node 10"), "#c9ced6")
    opened.page.select_option("#column", label="right")
    assert opened.page.locator("#ramp").is_visible()
    assert opened.names_in("#ticks span") == ["0", "5.25", "10.5"]
    assert opened.gets_color(NAMES.index("node 72"), "#440154")
    assert opened.gets_color(NAMES.index("node 02"), "#a0da39")


def box_around(opened, first, last):
    (left, bottom), (right, top) = opened.place(NAMES.index(first)), opened.place(NAMES.index(last))
    return left - 25, top - 25, right + 25, bottom + 25


def test_box_and_lasso_select_and_names_are_saved(opened, tmp_path):
    left, top, right, bottom = box_around(opened, "node 20", "node 31")
    expected = {"node 20", "node 21", "node 30", "node 31"}
    for mode in ("select", "lasso"):
        opened.page.click(f"[data-mode={mode}]")
        corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
        opened.drag([(left, top), (right, bottom)] if mode == "select" else corners)
        opened.until("explorer.state.selected")
        assert opened.selected() == expected
        assert opened.names_in("#count") == ["4 nodes selected"]
        with opened.page.expect_download() as download:
            opened.page.click("#export")
        download.value.save_as(tmp_path / "nodes.txt")
        assert download.value.suggested_filename == "nodes.txt"
        assert (tmp_path / "nodes.txt").read_text() == "node 20\nnode 21\nnode 30\nnode 31\n"
        opened.page.keyboard.press("Escape")
        assert opened.selected() == set()
    assert opened.page.locator("#export").is_disabled()


def test_selected_names_are_copied(opened):
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.click(HUB)
    opened.page.click("#select-near")
    opened.page.click("#copy")
    opened.page.get_by_role("button", name="Copied").wait_for()
    names = {NAMES[HUB], *(name for name, _ in grid().neighbors(NAMES[HUB]))}
    assert set(opened.page.evaluate("navigator.clipboard.readText()").splitlines()) == names


def test_classes_hidden_from_the_map_are_not_selected(opened):
    opened.page.get_by_role("button", name="high").click()
    opened.page.click("[data-mode=select]")
    left, top, right, bottom = box_around(opened, "node 21", "node 34")
    opened.drag([(left, top), (right, bottom)])
    opened.until("explorer.state.selected")
    assert opened.selected() == {"node 21", "node 22", "node 31", "node 32"}


def test_theme_follows_the_system_and_the_button(opened):
    assert opened.pixels().mean() > 200
    opened.page.click("#theme")
    assert opened.pixels().mean() < 60
    opened.page.click("#theme")
    opened.page.emulate_media(color_scheme="dark")
    opened.until("explorer.state.dark")
    assert opened.pixels().mean() < 60
    opened.page.emulate_media(color_scheme="light")
    opened.until("!explorer.state.dark")


def test_map_moves_and_zooms_by_wheel_and_drag_and_shows_all_again(opened):
    before, view = opened.place(HUB), opened.state("view.x")
    opened.page.mouse.move(500, 600)
    opened.page.mouse.wheel(0, -300)
    opened.until(f"explorer.state.view.x[1] - explorer.state.view.x[0] < {0.95 * (view[1] - view[0])}")
    view = opened.state("view.x")
    opened.drag([(500, 600), (560, 640)])
    opened.until(f"explorer.state.view.x[0] < {view[0]}")
    assert opened.place(HUB) != pytest.approx(before, abs=2)
    opened.page.click("#fit")
    assert opened.place(HUB) == pytest.approx(before, abs=2)
    opened.click(HUB)


def test_narrow_screens_have_the_panel_below_and_no_scroll_to_the_side(opened):
    opened.page.set_viewport_size({"width": 400, "height": 800})
    opened.until("document.getElementById('map')._fullLayout.width < 400")
    opened.click(HUB)
    stage, aside = (opened.page.locator(name).bounding_box() for name in ("#stage", "aside"))
    width = opened.page.evaluate("document.documentElement.scrollWidth")
    opened.page.set_viewport_size(WINDOW)
    opened.until("document.getElementById('map')._fullLayout.width > 400")
    assert width <= 400
    assert aside["y"] >= stage["y"] + stage["height"]


def focused(opened):
    return opened.page.evaluate("document.activeElement.id || document.activeElement.textContent")


def test_everything_can_be_done_by_keyboard(opened):
    keyboard = opened.page.keyboard
    opened.page.locator("#theme").focus()
    seen = ["theme"]
    while "search" not in seen:
        keyboard.press("Tab")
        seen.append(focused(opened))
        outline = opened.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", seen[-1]
    assert seen == ["theme", "Move", "Lasso", "Box", "closer", "farther", "fit", "map", "search"]
    keyboard.type("node 42")
    keyboard.press("Enter")
    assert opened.state("picked") == HUB
    opened.page.locator("#near button").first.focus()
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    assert NAMES[opened.state("picked")] == grid().neighbors(NAMES[HUB])[1][0]
    opened.page.locator("#select-near").focus()
    keyboard.press("Space")
    assert len(opened.selected()) == 11
    opened.page.locator("#legend button").first.focus()
    keyboard.press("Space")
    assert opened.state("hidden.size") == 1
    opened.page.locator("#map").focus()
    before = opened.state("view.x")
    keyboard.press("ArrowRight")
    keyboard.press("+")
    opened.until(f"explorer.state.view.x[0] > {before[0]}")
    keyboard.press("Escape")
    assert (opened.state("picked"), opened.selected()) == (-1, set())


def test_hostile_names_do_not_run(browser, tmp_path):
    labels = dict(zip(HOSTILE, HOSTILE[::-1], strict=True))
    vectors = np.array([(i % 3 + 1, i // 3 + 1) for i in range(len(HOSTILE))], float)
    graph = [(HOSTILE[0], name) for name in HOSTILE[1:]]
    columns = dict.fromkeys(HOSTILE, labels)
    embedding = efge.Embedding(vectors, HOSTILE)
    write_page(embedding, tmp_path / "page.html", graph=graph, labels=labels, columns=columns, title=HOSTILE[0])
    opened = Opened(browser, tmp_path / "page.html", color_scheme="dark")
    assert opened.pixels().mean() < 60
    assert opened.names_in("h1") == [HOSTILE[0]]
    for row in range(len(HOSTILE)):
        opened.click(row)
        opened.page.select_option("#column", index=row + 1)
    opened.page.fill("#search", "<")
    assert opened.page.locator("#matches li").count() == 4
    assert opened.page.locator("aside a, aside img, #tip a, #tip img, aside script").count() == 0
    assert opened.page.evaluate("window.broken") is None
    opened.close()


def test_one_node_is_a_page_too(browser, tmp_path):
    write_page(efge.Embedding(np.ones((1, 3))), tmp_path / "page.html")
    opened = Opened(browser, tmp_path / "page.html")
    opened.click(0)
    assert opened.page.locator("#near button").count() == 0
    opened.close()


def test_a_hundred_thousand_nodes_load_and_answer(browser, tmp_path, monkeypatch):
    count = 100_000
    random = np.random.default_rng(0)
    embedding = efge.Embedding(random.normal(size=(count, 2)), [f"node {row}" for row in range(count)])
    # Finding true neighbors takes minutes; the page has as many of them as ever.
    near = random.integers(0, count, (count, 10)), np.ones((count, 10), np.float32)
    monkeypatch.setattr(efge.Embedding, "nearest", lambda self, k: near)
    graph = efge.as_graph(random.integers(0, count, (3 * count, 2)), nodes=range(count))
    graph = efge.Graph(graph.indptr, graph.indices, names=[f"node {row}" for row in graph.names])
    write_page(embedding, tmp_path / "page.html", graph=graph, columns={"group": random.integers(0, 9, count)})
    opened = Opened(browser, tmp_path / "page.html")
    assert len(opened.drawn()) == count
    opened.page.fill("#search", "node 54321")
    opened.page.keyboard.press("Enter")
    assert opened.state("picked") == 54321
    assert opened.page.locator("#near button").count() == 10
    opened.page.select_option("#column", label="degree")
    opened.page.mouse.move(*opened.place(54321))
    opened.page.locator("#tip").wait_for(state="visible")
    opened.close()


def test_a_figure_shows_classes_in_the_order_of_their_size(tmp_path):
    vectors = efge.Embedding(np.random.default_rng(0).normal(size=(60, 2)))
    axes = efge.plot_embedding(vectors, {i: f"c{min(i // 3, 12)}" for i in range(59)})
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown[0] == "c12"
    assert (len(shown), shown[-1]) == (8, "other")
    axes.figure.savefig(tmp_path / "map.png")
    assert efge.plot_embedding(vectors).get_legend() is None


def test_endless_names_of_columns_and_nodes_do_not_make_endless_messages():
    table = {"x" * 50_000: {"y" * 50_000: 1.0}}
    with pytest.raises(efge.EvaluationError, match="no node of") as caught:
        efge.explore.columns.columns_of(efge.Embedding([[1.0]], ["ann"]), table=table)
    assert len(str(caught.value)) < 500
