"""What notebooks show: tables and pictures of every result, a map inline, and a bar where a person waits."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import efge
from efge import display, progress
from efge.evaluation.results import Scores
from efge.tuning.results import Row
from efge.tuning.space import Candidate
from efge.tuning.study import Study

EDGES = [("<ann>", "bob"), ("bob", "cid"), ("cid", "<ann>"), ("cid", "dan")]


def parse(html):
    """Parse HTML, which here must be well-formed XML."""
    return ElementTree.fromstring(f"<body>{html}</body>")


def row(score):
    return Row(Candidate(efge.HOPE(dim=4)), score, 0.01, {"auc": score}, 1.0, 1, 2.0, 0.0, "best")


def shown():
    graph = efge.as_graph(EDGES)
    model = efge.HOPE(dim=4, seed=0).fit(graph)
    return {
        "graph": graph,
        "empty graph": efge.as_graph([], nodes=[]),
        "embedding": model.embedding_,
        "wide embedding": efge.Embedding(np.eye(9)),
        "empty embedding": efge.Embedding(np.empty((0, 2))),
        "model": efge.EFGE(dim=8),
        "fitted model": model,
        "diagnostics": model.diagnostics_,
        "classifier": efge.Classifier(),
        "fitted classifier": efge.Classifier().fit(model.embedding_, {"<ann>": "<b>", "bob": "c", "cid": "c"}),
        "communities": efge.Communities([["<ann>", "bob"], ["cid"]]),
        "scores": Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5, 0.75])}}, ("A <note>.",)),
        "no scores": Scores((), {}),
        "study": Study([row(0.75), row(float("nan"))], "auc", graph, 0, "Use <it>."),
    }


@pytest.mark.parametrize("name", shown())
def test_a_notebook_shows_well_formed_html_without_scripts(name):
    html = shown()[name]._repr_html_()
    tags = {element.tag for element in parse(html).iter()}
    assert "script" not in tags
    assert not tags & {"ann", "note"}
    assert "NaN" not in html


def test_tables_and_pictures_have_the_content():
    found = shown()
    texts = {name: " ".join(parse(thing._repr_html_()).itertext()) for name, thing in found.items()}
    assert "nodes 4 edges 4" in " ".join(texts["graph"].replace("nodes", " nodes ").replace("edges", " edges ").split())
    assert "<ann>" in texts["embedding"]
    assert "0.6250 ± 0.1768" in texts["scores"]
    assert "A <note>." in texts["scores"]
    assert "0.7500 ± 0.0100" in texts["study"]
    assert "Use <it>." in texts["study"]
    assert "separation" in texts["fitted model"]
    assert "separation" not in texts["model"]
    assert "separation" in texts["diagnostics"]
    assert "<b>" not in texts["classifier"]
    assert texts["fitted classifier"].endswith("class nodes c 2 <b> 1 without a label 1")
    for name, picture in {
        "graph": "rect",
        "embedding": "circle",
        "communities": "rect",
        "scores": "rect",
        "study": "rect",
    }.items():
        assert f"<{picture} " in found[name]._repr_html_()
    heights = [float(bar.get("height")) for bar in parse(display.bars([1, 2, 4], "sizes")).iter("rect")]
    assert heights == pytest.approx([22.5, 45, 90])
    assert "polyline" in display.line([1.0, float("nan"), 2.0, 3.0], "likelihood")


def test_a_map_is_shown_inline_and_saved(tmp_path):
    page = efge.Embedding([[1, 0], [0.6, 0.8]], ["<ann>", "bob"]).explore(title="friends", height=321)
    frame = page._repr_html_()
    assert frame.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert "height:321px" in frame
    assert frame.count("<") == 2
    page.save(tmp_path / "map.html")
    assert (tmp_path / "map.html").read_text("utf-8") == page.html


class Terminal(io.StringIO):
    def isatty(self):
        return True


def drawn(monkeypatch, wanted, *, prompt=False, notebook=False, slow=True, terminal=True):
    """Return whether a fit that is slow or not draws a bar."""
    bars = []

    class Recorder:
        def __init__(self, label):
            bars.append(label)

        def __enter__(self):
            return lambda done, total, note: bars.append(done)

        def __exit__(self, *details):
            pass

    shell = SimpleNamespace(kernel=1) if notebook else None
    monkeypatch.setattr(progress, "_find_shell", lambda: shell)
    monkeypatch.setattr(progress, "_terminal_bar", Recorder)
    monkeypatch.setattr(progress, "_notebook_bar", Recorder)
    monkeypatch.setattr(progress, "_SECONDS_BEFORE_BAR", 0.0 if slow else 1e9)
    monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
    monkeypatch.delattr(sys, "ps1", raising=False)
    if prompt:
        monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    efge.HOPE(dim=4, seed=0).fit(EDGES, progress=wanted)
    return bool(bars)


def test_a_bar_is_drawn_where_a_person_waits_for_long_or_asks_for_it(monkeypatch):
    assert drawn(monkeypatch, True)
    assert drawn(monkeypatch, True, slow=False)
    assert drawn(monkeypatch, None, prompt=True)
    assert drawn(monkeypatch, None, notebook=True, terminal=False)
    assert not drawn(monkeypatch, None, prompt=True, slow=False)
    assert not drawn(monkeypatch, None, prompt=True, terminal=False)
    assert not drawn(monkeypatch, None), "a script is silent"
    for where in ("prompt", "notebook"):
        assert not drawn(monkeypatch, False, **{where: True})
    with pytest.raises(ValueError, match="progress is True, False, None or a function; got 'yes'"):
        drawn(monkeypatch, "yes")


def test_the_bar_of_a_terminal_and_of_a_notebook_end_empty(monkeypatch, capsys):
    ipython = pytest.importorskip("IPython.display")
    contents = []
    handle = SimpleNamespace(update=lambda html: contents.append(html.data))
    monkeypatch.setattr(ipython, "display", lambda html, display_id: handle)
    with progress._notebook_bar("training <x>") as draw:
        draw(3, 4, "log-likelihood -1")
    assert "training &lt;x&gt;" in contents[0]
    assert 'value="3" max="4"' in contents[0]
    assert contents[-1] == ""
    with progress.show_bar("training", "pairs") as advance:
        advance(1, 2, "note")
