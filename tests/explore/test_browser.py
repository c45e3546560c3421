"""The page in a real browser, without a network connection."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import efge
from efge.explore import write_page
from example_pages import GRID, HOSTILE, HUB, NAMES, grid_embedding, write_grid_page

pytest.importorskip("plotly")

# Without a graphics card and without background network requests.
BROWSER_ARGUMENTS = [
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
    api = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright, which is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("browser tests need chromium, which is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER_ARGUMENTS)
        yield browser
        browser.close()


WINDOW = {"width": 1200, "height": 760}


class BrowserPage:
    """A page in an offline browser, and the actions of a user."""

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
        self.page.goto(self.address, timeout=60_000)
        self.page.wait_for_selector("body[data-ready]", timeout=60_000)

    def state(self, field):
        return self.page.evaluate(f"explorer.state.{field}")

    def selected(self):
        return set(self.page.evaluate("[...(explorer.state.selected ?? [])].map((row) => explorer.names[row])"))

    def drawn(self):
        return set(self.page.evaluate("explorer.drawnRows().map((row) => explorer.names[row])"))

    def position(self, row):
        """Return the position of a node in the window."""
        box, offset = self.page.locator("#map").bounding_box(), self.page.evaluate("explorer.nodePosition", row)
        return box["x"] + offset["x"], box["y"] + offset["y"]

    def pixels(self, selector="#view"):
        image = pytest.importorskip("PIL.Image")
        return np.asarray(image.open(io.BytesIO(self.page.locator(selector).screenshot())).convert("RGB"), int)

    def gets_color(self, row, color):
        """Wait until a node has a color: the map is drawn asynchronously, which takes time on a busy machine."""
        self.until("explorer.state.drawing === 0")
        return any(self.has_color(row, color) or self.page.wait_for_timeout(200) for _ in range(50))

    def has_color(self, row, color, pixels=None):
        """Return whether a node has about this color."""
        offset = self.page.evaluate("explorer.nodePosition", row)
        actual = (self.pixels() if pixels is None else pixels)[round(offset["y"]), round(offset["x"])]
        expected = [int(color[start : start + 2], 16) for start in (1, 3, 5)]
        return np.abs(actual - expected).max() <= 60

    def click(self, row):
        """Click a node as a user does: after the page shows that the pointer is on it, and not as a double click."""
        self.page.wait_for_timeout(350)
        self.page.mouse.move(*self.position(row), steps=3)
        self.until(f"explorer.state.hovered === {row}")
        self.page.mouse.click(*self.position(row))
        self.until(f"explorer.state.picked === {row}")

    def until(self, condition):
        self.page.wait_for_function(condition)

    def settle(self):
        """Wait until the map stays as it is: how long it takes to follow a change depends on the machine."""
        before, now = None, self.layout()
        while now != before:
            self.page.wait_for_timeout(300)
            before, now = now, self.layout()

    def layout(self):
        return self.page.evaluate(
            "[explorer.state.view, explorer.state.places, explorer.drawnRows().map(explorer.nodePosition)]"
        )

    def drag(self, points):
        self.page.mouse.move(*points[0])
        self.page.mouse.down()
        for point in points[1:]:
            self.page.mouse.move(*point, steps=4)
        self.page.mouse.up()

    def names_in(self, selector):
        return self.page.locator(selector).all_inner_texts()

    def close(self):
        """Close the page; check that it made no network request and logged no message."""
        requests = [url for url in self.requests if url != self.address and not url.startswith("blob:file:")]
        self.context.close()
        assert not requests
        assert not self.messages


@pytest.fixture(scope="module")
def grid_file(tmp_path_factory):
    return write_grid_page(tmp_path_factory.mktemp("explore") / "grid.html")


@pytest.fixture(scope="module")
def opened_once(browser, grid_file):
    page = BrowserPage(browser, grid_file)
    # Names on the map would cover points whose colors tests look at.
    page.page.click("#labels")
    yield page
    page.close()


@pytest.fixture
def opened(opened_once):
    """The page of the grid, reset to its first state: opening it anew would take longer than the tests."""
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


def test_points_are_drawn_at_the_positions_of_nodes(opened):
    assert opened.names_in("#about") == ["40 nodes · 72 edges · the two dimensions of the vectors"]
    assert opened.page.title() == "A grid"
    assert opened.page.locator("canvas.gl-canvas").count() > 0
    pixels = opened.pixels()
    for row in range(len(NAMES)):
        expected = "#0072b2" if GRID[row][1] < 3 else "#d55e00"
        assert opened.has_color(row, expected, pixels), NAMES[row]


def test_a_click_lists_the_nearest_neighbors_and_draws_edges(opened):
    before = opened.pixels()
    opened.click(HUB)
    expected = grid_embedding().neighbors(NAMES[HUB])
    assert opened.names_in("#neighbors .name") == [name for name, _ in expected]
    assert [float(text) for text in opened.names_in("#neighbors .score")] == pytest.approx(
        [score for _, score in expected], abs=6e-4
    )
    assert opened.names_in("#node-name") == [NAMES[HUB]]
    assert opened.names_in("#node-values dd") == ["low", "4", "6", "39"]
    # Half-way to the far corner there is nothing but an edge.
    corner = NAMES.index("node 03")
    middle = np.mean(
        [list(opened.page.evaluate("explorer.nodePosition", row).values()) for row in (HUB, corner)], axis=0
    )
    x, y = np.round(middle).astype(int)
    around = slice(y - 3, y + 4), slice(x - 3, x + 4)
    assert (before[around] == before[3, 600]).all()
    assert (opened.pixels()[around] != before[3, 600]).any()


def test_a_cleared_node_leaves_nothing_on_the_map(opened):
    opened.until("explorer.state.drawing === 0")
    before = opened.pixels()
    for _ in range(5):
        opened.click(HUB)
        assert (opened.pixels() != before).any()
        opened.page.mouse.move(600, 740)
        opened.page.keyboard.press("Escape")
        opened.until("explorer.state.hovered === -1")
        opened.page.click("#fit")  # Redraws the map.
        assert any((opened.pixels() == before).all() or opened.page.wait_for_timeout(200) for _ in range(20))


def test_a_click_on_a_listed_neighbor_picks_it_and_escape_clears(opened):
    opened.click(HUB)
    opened.page.locator("#neighbors button").nth(2).click()
    row = opened.state("picked")
    assert NAMES[row] == grid_embedding().neighbors(NAMES[HUB])[2][0]
    opened.until(
        "Math.abs(explorer.nodePosition(explorer.state.picked).x - document.getElementById('map').clientWidth / 2) < 2"
    )
    opened.page.keyboard.press("Escape")
    assert opened.state("picked") == -1
    assert opened.page.locator("#node").is_hidden()


def test_hovering_shows_name_and_values(opened):
    opened.page.mouse.move(*opened.position(HUB))
    opened.page.locator("#tooltip").wait_for(state="visible")
    assert opened.names_in("#tooltip > *") == [NAMES[HUB], "label: low", "column: 4", "right: 6", "degree: 39"]
    opened.page.mouse.move(600, 740)
    opened.page.locator("#tooltip").wait_for(state="hidden")


def test_search_finds_parts_of_names_and_centers_the_node(opened):
    opened.page.fill("#search", "DE 7")
    assert opened.names_in("#matches li") == [f"node 7{y}" for y in range(5)]
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("Enter")
    assert NAMES[opened.state("picked")] == "node 71"
    assert opened.page.locator("#matches").is_hidden()
    opened.until("Math.abs(explorer.nodePosition(36).x - document.getElementById('map').clientWidth / 2) < 2")
    opened.page.fill("#search", "nobody")
    assert opened.names_in("#match-count") == ["No node name contains this text"]


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


def test_colors_follow_the_selected_column(opened):
    assert opened.names_in("#column option") == ["label", "column", "right", "degree", "nothing"]
    opened.page.select_option("#column", label="column")
    assert opened.names_in("#legend .name") == [*"01234567", "no value"]
    assert opened.gets_color(NAMES.index("node 11"), "#d55e00")
    assert opened.gets_color(NAMES.index("node 10"), "#c9ced6")
    opened.page.select_option("#column", label="right")
    assert opened.page.locator("#color-bar").is_visible()
    assert opened.names_in("#ticks span") == ["0", "5.25", "10.5"]
    assert opened.gets_color(NAMES.index("node 72"), "#440154")
    assert opened.gets_color(NAMES.index("node 02"), "#a0da39")


def box_around(opened, first, last):
    (left, bottom), (right, top) = opened.position(NAMES.index(first)), opened.position(NAMES.index(last))
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
        assert opened.names_in("#selection-count") == ["4 nodes selected"]
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
    opened.page.click("#select-neighbors")
    opened.page.click("#copy")
    opened.page.get_by_role("button", name="Copied").wait_for()
    names = {NAMES[HUB], *(name for name, _ in grid_embedding().neighbors(NAMES[HUB]))}
    assert set(opened.page.evaluate("navigator.clipboard.readText()").splitlines()) == names


def test_hidden_classes_are_not_selected(opened):
    opened.page.get_by_role("button", name="high").click()
    opened.page.click("[data-mode=select]")
    left, top, right, bottom = box_around(opened, "node 21", "node 34")
    opened.drag([(left, top), (right, bottom)])
    opened.until("explorer.state.selected")
    assert opened.selected() == {"node 21", "node 22", "node 31", "node 32"}


def test_theme_follows_the_system_and_the_button(opened):
    assert opened.pixels().mean() > 200
    assert opened.page.inner_text("#theme") == "Dark"
    opened.page.click("#theme")
    assert opened.pixels().mean() < 60
    assert opened.page.inner_text("#theme") == "Light"
    opened.page.click("#theme")
    opened.page.emulate_media(color_scheme="dark")
    opened.until("explorer.state.dark")
    assert opened.pixels().mean() < 60
    opened.page.emulate_media(color_scheme="light")
    opened.until("!explorer.state.dark")


def test_the_map_zooms_by_wheel_moves_by_drag_and_resets(opened):
    before, view = opened.position(HUB), opened.state("view.x")
    opened.page.mouse.move(500, 600)
    opened.page.mouse.wheel(0, -300)
    opened.until(f"explorer.state.view.x[1] - explorer.state.view.x[0] < {0.95 * (view[1] - view[0])}")
    view = opened.state("view.x")
    opened.drag([(500, 600), (560, 640)])
    opened.until(f"explorer.state.view.x[0] < {view[0]}")
    assert opened.position(HUB) != pytest.approx(before, abs=2)
    opened.page.click("#fit")
    assert opened.position(HUB) == pytest.approx(before, abs=2)
    opened.click(HUB)


def test_on_narrow_screens_the_panel_is_below_the_map(opened):
    opened.page.set_viewport_size({"width": 400, "height": 800})
    opened.until("document.getElementById('map')._fullLayout.width < 400")
    opened.click(HUB)
    stage, aside = (opened.page.locator(name).bounding_box() for name in ("#stage", "aside"))
    width = opened.page.evaluate("document.documentElement.scrollWidth")
    opened.page.set_viewport_size(WINDOW)
    opened.until("document.getElementById('map')._fullLayout.width > 400")
    assert width <= 400
    assert aside["y"] >= stage["y"] + stage["height"]


def extent_on_map(opened):
    """Return the width and height that the nodes take, relative to those of the map, and the number outside."""
    size = opened.page.evaluate("['clientWidth', 'clientHeight'].map((name) => document.getElementById('map')[name])")
    places = opened.page.evaluate("explorer.drawnRows().map(explorer.nodePosition).map(({ x, y }) => [x, y])")
    places = np.array(places) / size
    return np.ptp(places, axis=0), int(((places < 0) | (places > 1)).any(axis=1).sum())


def resize(opened, width, height):
    """Change the size of the window, and wait until the map has that of its frame."""
    opened.page.set_viewport_size({"width": width, "height": height})
    opened.page.wait_for_timeout(300)
    opened.until("document.getElementById('map')._fullLayout.width === document.getElementById('map').clientWidth")
    opened.settle()


def test_all_nodes_fill_the_map_after_any_change_of_its_size(opened):
    for size in ((900, 600), (420, 900), (1400, 500), (900, 600)):
        resize(opened, *size)
        extent, outside = extent_on_map(opened)
        assert outside == 0
        assert extent.max() > 0.6, size
    resize(opened, *WINDOW.values())


def test_a_view_that_the_user_chose_stays_when_the_size_of_the_map_changes(opened):
    actions = {
        "wheel": lambda: (opened.page.mouse.move(500, 600), opened.page.mouse.wheel(0, -600)),
        "button": lambda: opened.page.click("#zoom-in"),
        "drag": lambda: opened.drag([(500, 600), (560, 640)]),
    }
    for name, act in actions.items():
        opened.page.click("#fit")
        opened.until("explorer.state.isFitted")
        act()
        opened.until("!explorer.state.isFitted")
        opened.settle()
        middle = np.mean(opened.state("view.x"))
        resize(opened, 800, 600)
        assert np.mean(opened.state("view.x")) == pytest.approx(middle, abs=0.05), name
        assert not opened.state("isFitted")
        resize(opened, *WINDOW.values())
    opened.page.click("#fit")
    assert opened.state("isFitted")


def focused(opened):
    return opened.page.evaluate("document.activeElement.id || document.activeElement.textContent")


def test_everything_can_be_done_by_keyboard(opened):
    keyboard = opened.page.keyboard
    opened.page.locator("#theme").focus()
    visited = ["theme"]
    while "search" not in visited:
        keyboard.press("Tab")
        visited.append(focused(opened))
        outline = opened.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", visited[-1]
    assert visited == ["theme", "Move", "Lasso", "Box", "zoom-in", "zoom-out", "fit", "labels", "map", "search"]
    keyboard.type("node 42")
    keyboard.press("Enter")
    assert opened.state("picked") == HUB
    opened.page.locator("#neighbors button").first.focus()
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    assert NAMES[opened.state("picked")] == grid_embedding().neighbors(NAMES[HUB])[1][0]
    opened.page.locator("#select-neighbors").focus()
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


def test_hostile_names_are_not_executed(browser, tmp_path):
    labels = dict(zip(HOSTILE, HOSTILE[::-1], strict=True))
    vectors = np.array([(i % 3 + 1, i // 3 + 1) for i in range(len(HOSTILE))], float)
    graph = [(HOSTILE[0], name) for name in HOSTILE[1:]]
    columns = dict.fromkeys(HOSTILE, labels)
    embedding = efge.Embedding(vectors, HOSTILE)
    write_page(embedding, tmp_path / "page.html", graph=graph, labels=labels, columns=columns, title=HOSTILE[0])
    opened = BrowserPage(browser, tmp_path / "page.html", color_scheme="dark")
    assert opened.pixels().mean() < 60
    assert opened.names_in("h1") == [HOSTILE[0]]
    for row in range(len(HOSTILE)):
        opened.click(row)
        opened.page.select_option("#column", index=row + 1)
    opened.page.fill("#search", "<")
    assert opened.page.locator("#matches li").count() == 4
    assert opened.page.locator("aside a, aside img, #tooltip a, #tooltip img, aside script").count() == 0
    assert opened.page.evaluate("window.broken") is None
    opened.close()


def test_an_embedding_of_one_node_has_a_page(browser, tmp_path):
    write_page(efge.Embedding(np.ones((1, 3))), tmp_path / "page.html")
    opened = BrowserPage(browser, tmp_path / "page.html")
    opened.click(0)
    assert opened.page.locator("#neighbors button").count() == 0
    opened.close()


@pytest.mark.slow
def test_a_page_of_a_hundred_thousand_nodes_responds(browser, tmp_path, monkeypatch):
    count = 100_000
    random = np.random.default_rng(0)
    embedding = efge.Embedding(random.normal(size=(count, 2)), [f"node {row}" for row in range(count)])
    # Finding the true neighbors takes minutes; random ones are as many.
    neighbors = random.integers(0, count, (count, 10)), np.ones((count, 10), np.float32)
    monkeypatch.setattr(efge.Embedding, "nearest", lambda self, k: neighbors)
    graph = efge.as_graph(random.integers(0, count, (3 * count, 2)), nodes=range(count))
    graph = efge.Graph(graph.indptr, graph.indices, names=[f"node {row}" for row in graph.names])
    write_page(embedding, tmp_path / "page.html", graph=graph, columns={"group": random.integers(0, 9, count)})
    opened = BrowserPage(browser, tmp_path / "page.html")
    assert len(opened.drawn()) == count
    opened.page.fill("#search", "node 54321")
    opened.page.keyboard.press("Enter")
    assert opened.state("picked") == 54321
    assert opened.page.locator("#neighbors button").count() == 10
    opened.page.select_option("#column", label="degree")
    opened.page.mouse.move(*opened.position(54321))
    opened.page.locator("#tooltip").wait_for(state="visible")
    opened.close()


@pytest.fixture(scope="module")
def fields(browser, tmp_path_factory):
    """A page of four fields with 25 nodes each, dates, edges to the first node of a field, and a second embedding."""
    numbers = np.arange(100)
    within = np.stack([numbers % 5, numbers % 25 // 5], axis=1)
    places = np.array([[8, 0], [0, 8], [-8, 0], [0, -8]])[numbers // 25] + (within - 2) * 0.4
    names = [f"paper {number}" for number in range(100)]
    path = tmp_path_factory.mktemp("fields") / "page.html"
    columns = {
        "field": [f"field {number // 25}" for number in range(100)],
        "day": np.datetime64("2020-01-01") + np.arange(100),
    }
    edges = [(names[number - number % 25], names[number]) for number in range(100) if number % 25]
    write_page(
        efge.Embedding(places, names), path, graph=edges, columns=columns, compare=efge.Embedding(places**3, names)
    )
    page = BrowserPage(browser, path)
    yield page
    page.close()


def test_names_of_categories_are_where_their_nodes_are(fields):
    fields.page.select_option("#column", label="field")
    fields.until("explorer.state.labelsDrawn === 4")
    places = {place["text"]: (round(place["x"]), round(place["y"])) for place in fields.state("places")}
    assert places == {"field 0": (8, 0), "field 1": (0, 8), "field 2": (-8, 0), "field 3": (0, -8)}
    before = fields.pixels()
    fields.page.click("#labels")
    assert (fields.pixels() != before).any()
    fields.page.click("#labels")


def test_a_selection_says_what_is_in_it(fields):
    fields.page.select_option("#column", label="field")
    fields.click(5)
    fields.page.click("#select-neighbors")
    fields.until("explorer.state.selected")
    text = " ".join(fields.page.inner_text("#summary").split())
    assert "field 0 11 (100 %) all nodes: 25 %" in text
    assert "day mean 2020-01-" in text
    assert "all nodes: 2020-02-19" in text
    assert re.search(r"edges within the selection \d+ edges?", text)
    fields.page.click("#clear-selection")
    assert fields.page.inner_text("#summary") == ""


def test_dates_have_a_scale_and_search_lists_well_linked_nodes_first(fields):
    fields.page.select_option("#column", label="day")
    assert fields.page.inner_text("#ticks").split() == ["2020-01-01", "2020-02-19", "2020-04-09"]
    fields.page.fill("#search", "paper")
    items = fields.page.locator("#matches li").all_inner_texts()
    assert items[:4] == ["paper 0", "paper 25", "paper 50", "paper 75"]
    assert items[4:7] == ["paper 1", "paper 2", "paper 3"]
    fields.page.fill("#search", "")


def test_the_second_embedding_has_its_own_map_and_neighbors(fields):
    before = fields.page.evaluate("explorer.nodePosition(0)")
    fields.click(0)
    listed = fields.page.inner_text("#neighbors")
    fields.page.click("[data-map='1']")
    fields.until("explorer.state.map === 1 && !explorer.state.drawing")
    assert "turned and scaled" in fields.page.inner_text("#about")
    assert fields.page.inner_text("#neighbors") != listed
    assert fields.page.evaluate("explorer.nodePosition(0)") != before
    fields.page.click("[data-map='0']")
    fields.until("explorer.state.map === 0 && !explorer.state.drawing")
    assert fields.messages == []


def test_names_are_there_when_a_page_opens_beside_their_nodes_and_without_a_color_of_their_own(browser, tmp_path):
    """Twenty-four groups of four nodes each, on a grid; the last four share a gray."""
    numbers = np.arange(96)
    groups = numbers // 4
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[numbers % 4] * 0.05
    places = np.stack([groups % 6, groups // 6], axis=1) * 2.0 + corners
    write_page(efge.Embedding(places), tmp_path / "page.html", labels=[f"group {group:02}" for group in groups])
    opened = BrowserPage(browser, tmp_path / "page.html")
    opened.until("explorer.state.labelsDrawn === 24")
    assert [place["text"] for place in opened.state("places") if place["isGray"]] == [
        f"group {i}" for i in range(20, 24)
    ]
    # Of a small group, the points are visible: the name is above them.
    assert opened.gets_color(0, efge.explore.palette.LIGHT[0])
    opened.close()


def test_many_long_names_are_short_and_cover_no_other_group(browser, tmp_path):
    """Forty-five groups on a grid, closer than their names are long."""
    numbers = np.arange(45 * 9)
    groups, members = numbers // 9, numbers % 9
    places = np.stack([groups % 9 + (members % 3) * 0.2, (groups // 9) * 1.5 + (members // 3) * 0.2], axis=1)
    labels = [f"{group} Department of Theoretical and Applied Engineering" for group in groups]
    write_page(efge.Embedding(places), tmp_path / "page.html", labels=labels)
    opened = BrowserPage(browser, tmp_path / "page.html")
    opened.until("explorer.state.labelsDrawn > 0")
    for width in (1200, 420):
        resize(opened, width, 800)
        shown = [place["shown"] for place in opened.state("places")]
        drawn = [text for text in shown if text]
        assert 5 < len(drawn) < 45
        assert all(text.endswith("…") and len(text) <= (19 if width == 1200 else 10) for text in drawn)
    # Names cover few points: without them, the map has hardly more pixels in the colors of groups.
    resize(opened, 1200, 800)
    colored = [0, 0]
    for number in range(2):
        opened.page.wait_for_timeout(300)
        pixels = opened.pixels()
        colored[number] = int((np.ptp(pixels, axis=2) > 60).sum())
        opened.page.click("#labels")
    assert colored[0] > 0.9 * colored[1]
    opened.close()


def test_a_narrow_map_keeps_the_names_of_its_groups_and_a_wide_one_gets_its_view_back(browser, tmp_path):
    """Twelve groups whose names begin alike, in four lines, each shifted against the one above."""
    numbers = np.arange(12 * 16)
    groups, members = numbers // 16, numbers % 16
    lines, columns = groups // 3, groups % 3
    places = np.stack([columns * 3 + lines * 0.5 + (members % 4) * 0.3, lines * 2 + (members // 4) * 0.3], axis=1)
    labels = [f"Department of Science {'ABCDEFGHIJKL'[group]}" for group in groups]
    write_page(efge.Embedding(places), tmp_path / "page.html", labels=labels)
    opened = BrowserPage(browser, tmp_path / "page.html")
    for act in (lambda: None, lambda: opened.page.click("#zoom-out")):
        act()
        opened.settle()
        before = extent_on_map(opened)[0]
        resize(opened, 420, 800)
        shown = [place["shown"] for place in opened.state("places")]
        assert len(shown) == 12
        assert {name[-1] for name in shown if name} == set("ABCDEFGHIJKL")
        resize(opened, **WINDOW)
        assert extent_on_map(opened)[0] == pytest.approx(before, abs=0.01)
    opened.close()


def test_a_page_of_a_sample_says_so_where_a_node_may_be_missing(browser, tmp_path, monkeypatch):
    monkeypatch.setattr("efge.explore.page._MAX_NODES", 20)
    page = BrowserPage(browser, write_grid_page(tmp_path / "sample.html", neighbors=3))
    page.click(0)
    assert page.names_in("#neighbors-title") == ["Nearest neighbors by cosine, of the sample"]
    page.page.keyboard.press("Escape")
    page.page.fill("#search", "nobody")
    left_out = len(NAMES) - 20
    assert page.names_in("#match-count") == [
        f"No node of the sample has a name that contains this text; {left_out} are not on this page"
    ]
    page.page.fill("#search", "")
    page.page.click("[data-mode=select]")
    box = page.page.locator("#map").bounding_box()
    corners = [(box["x"] + 5, box["y"] + 5), (box["x"] + box["width"] - 5, box["y"] + box["height"] - 5)]
    page.drag(corners)
    page.until("explorer.state.selected !== null")
    assert page.names_in("#selection-count") == ["20 nodes of the sample selected"]
    page.close()


def test_names_of_categories_are_only_offered_where_there_are_categories(opened):
    assert opened.page.locator("#labels").is_enabled()
    opened.page.select_option("#column", label="right")
    assert opened.page.locator("#labels").is_disabled()
    assert opened.page.locator("#legend").is_hidden()
