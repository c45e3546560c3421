"""efge info: what was read and guessed, what the graph is, what looks wrong; files of labels with chosen columns."""

from __future__ import annotations

import json

import numpy as np
import pytest

import efge
from helpers import assert_fails, run


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def lines_of(done):
    assert done.returncode == 0, done.stderr
    return [" ".join(line.split()) for line in done.stdout.splitlines()]


def test_rows_duplicates_loops_weights_and_guesses_are_shown(write):
    path = write("e.csv", "source;target;weight\nann;bob;2\nbob;ann;3\nbob;cid;0.5\ncid;cid;1\n")
    lines = lines_of(run("info", path))
    for expected in (
        "rows read 4",
        "merged duplicates 1",
        "self loops 1",
        "weights 0.5 to 5",
        "bipartite no",
        "guessed separator semicolon",
        "guessed header yes: source, target, weight",
        "guessed columns source and target, weights in weight",
    ):
        assert expected in lines, lines
    assert not any(line.startswith("looks wrong") for line in lines)
    chosen = lines_of(run("info", path, "--delimiter", ";", "--header", "--source", "source", "--target", "target"))
    assert not any(line.startswith("guessed") for line in chosen)


def test_lost_counts_of_duplicates_are_told_with_the_option_that_keeps_them(write):
    path = write("e.csv", "ann,bob\nbob,ann\nbob,cid\n")
    hint = "add --count-duplicates to weigh edges by how often they are listed"
    assert f"merged duplicates 1; {hint}" in lines_of(run("info", path))
    assert json.loads(run("info", path, "--json").stdout)["merged duplicates"] == 1
    counted = lines_of(run("info", path, "--count-duplicates"))
    assert "merged duplicates 1" in counted
    assert "weights 1 to 2" in counted


@pytest.mark.parametrize(
    ("edges", "reason"),
    [
        (20, "fewer than 300 edges"),
        (400, "too few edges can exchange their ends, as in trees, rings and complete graphs"),
    ],
)
def test_a_predictability_that_cannot_be_told_has_its_reason(write, edges, reason):
    path = write("e.csv", "".join(f"{i},{i // 2}\n" for i in range(1, edges + 1)))
    assert f"predictability unknown: {reason}" in lines_of(run("info", path))
    assert json.loads(run("info", path, "--json").stdout)["predictability"] is None


def test_a_bipartite_graph_has_two_sides(write):
    path = write("e.csv", "".join(f"u{i},i{i % 4}\n" for i in range(15)))
    assert "bipartite 15 + 4" in lines_of(run("info", path))
    assert json.loads(run("info", path, "--json").stdout)["bipartite"] == "15 + 4"


def test_what_looks_wrong_is_pointed_out(write):
    path = write("e.csv", "painter,muse\nann,bob\nbob,cid\nAnn,cid\n")
    done = run("info", path, "--json")
    warnings = json.loads(done.stdout)["warnings"]
    assert warnings[0].startswith("'painter' and 'muse' occur only in the first line")
    advice = "if they are the same, write them in one way in the file"
    assert warnings[1] == f"names that differ only by case or blanks are different nodes: 'ann' and 'Ann'; {advice}"
    assert sum(line.startswith("looks wrong") for line in lines_of(run("info", path))) == 2


def test_every_command_that_reads_a_graph_points_out_similar_names(write, tmp_path):
    path = write("e.csv", "ann,bob\nbob,cid\nAnn,cid\n")
    for command in (("walks", path, "-o", tmp_path / "w.txt"), ("convert-graph", path, tmp_path / "g.efge")):
        done = run(*command)
        assert done.returncode == 0, done.stderr
        is_mapped = command[0] == "convert-graph"
        assert (f"efge: {path}: names that differ only by case or blanks" in done.stderr) != is_mapped


def test_a_header_that_was_found_is_not_pointed_out(write, tmp_path):
    path = write("e.csv", "src,dst\n00123,0456\n124,7\n7,124\n")
    done = run("info", path, "--json")
    assert json.loads(done.stdout)["guessed"]["header"] == "yes: src, dst"
    assert json.loads(done.stdout)["warnings"] == []
    assert "occur only in the first line" not in run("walks", path, "-o", tmp_path / "w.txt").stderr
    bare = write("bare.csv", "00123,0456\n124,7\n7,124\n")
    for command in (("walks", bare, "-o", tmp_path / "b.txt"), ("convert-graph", bare, tmp_path / "b.efge")):
        assert "'00123' and '0456' occur only in the first line" in run(*command).stderr


@pytest.mark.filterwarnings("default")
def test_lines_that_are_left_out_are_counted_and_listed(write):
    path = write("e.csv", "ann,bob\nbob\nbob,cid\n")
    done = run("info", path, "--skip-bad")
    assert "rows left out 1" in lines_of(done)
    warning = f"{path}: 1 of 3 lines are left out: line 2: an edge has 2 fields in this file; got 1"
    assert f"looks wrong {warning}" in lines_of(done)
    assert json.loads(run("info", path, "--skip-bad", "--json").stdout)["warnings"] == [warning]


def test_the_options_that_an_error_suggests_work_as_typed(write):
    path = write("e.csv", "ev,proteinA,proteinB,score\ne1,P1,P2,0.5\ne2,P2,P3,0.7\n")
    done = run("info", path)
    assert_fails(done, f"{path}, line 1: an edge has two node names and at most a weight; got 4 columns (ev, proteinA")
    advice = done.stderr.rpartition("(")[2].partition(")")[0].split()
    assert advice == ["--source", "proteinA", "--target", "proteinB", "--weight", "score"]
    assert "edges 2" in lines_of(run("info", path, *advice))


def test_explore_has_the_options_that_its_messages_name(write, tmp_path):
    write("e.csv", "ev,a,b,x\ne1,P1,P2,y\ne2,P2,P3,y\n")
    write("t.csv", 'company,age\n"P1",3\nP2,4\nP3,5\n')
    efge.Embedding(np.eye(3), ["P1", "P2", "P3"]).save(tmp_path / "v.npz")
    command = ("explore", "v.npz", "--graph", "e.csv", "-o", "m.html", "--method", "pca")
    done = run(*command, cwd=tmp_path)
    assert done.returncode == 2
    advice = done.stderr.rpartition("(")[2].partition(")")[0].split()
    done = run(*command, *advice, "--table", "t.csv", "--node", "company", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_labels_of_chosen_columns_are_used_by_every_command(write, tmp_path):
    names = [f"n{i}" for i in range(8)]
    write("e.csv", "".join(f"{names[i]},{names[j]}\n" for i in range(8) for j in range(i) if i % 2 == j % 2))
    rows = "".join(f'{i},"{name}","class, {i % 2}"\n' for i, name in enumerate(names))
    write("l.csv", f"age,who,kind\n{rows}")
    efge.Embedding(np.eye(8), names).save(tmp_path / "v.npz")
    columns = ("--node", "who", "--label", "kind")
    for command in (
        ("classify", "v.npz", "l.csv", "--ratios", "0.5", "--repeats", 2),
        ("communities", "e.csv", "-o", "g.tsv", "-m", "hope", "--dim", 2, "--n-communities", 2, "--labels", "l.csv"),
        ("explore", "v.npz", "--labels", "l.csv", "-o", "m.html", "--method", "pca"),
    ):
        done = run(*command, cwd=tmp_path)
        assert_fails(done, "l.csv: a table of labels has a node and its class; got 3 columns (age, who, kind)")
        done = run(*command, *columns, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dim", [0, -3])
def test_dimensions_of_an_estimate_are_positive(write, tmp_path, dim):
    write("e.csv", "ann,bob\nbob,cid\n")
    assert_fails(run("info", "e.csv", "--dim", dim, cwd=tmp_path), f"dim must be a positive integer; got {dim}")


def test_a_saved_model_is_shown_with_its_parameters_and_what_it_can_do(tmp_path):
    edges = [(i, (i + step) % 12) for i in range(12) for step in (1, 2)]
    efge.EFGE("normal", dim=4, walks_per_node=2, seed=3).fit(edges).save(tmp_path / "efge.npz")
    lines = lines_of(run("info", "efge.npz", cwd=tmp_path))
    expected = ["model EFGE", "nodes 12", "dimensions 4", "family normal", "walks_per_node 2", "seed 3"]
    for line in [*expected, "new nodes both, fold-in, average", "recommend yes", "update yes", "directed no"]:
        assert line in lines, lines
    efge.HOPE(dim=2, seed=1).fit(edges).save(tmp_path / "hope.model")
    shown = json.loads(run("info", "hope.model", "--json", cwd=tmp_path).stdout)
    assert (shown["model"], shown["parameters"]["dim"], shown["new nodes"]) == ("HOPE", 2, "projection")
    assert (shown["recommend"], shown["update"]) == (False, False)
    assert_fails(run("info", "hope.model", "--directed", cwd=tmp_path), "hope.model is a saved model, which takes no")
    (tmp_path / "e.csv").write_text("a,b\n")
    assert_fails(run("info", "e.csv", "--family", "m:F", cwd=tmp_path), "--family is for saved models; e.csv is none")


def test_a_saved_model_of_an_own_family_is_shown_with_it(tmp_path):
    (tmp_path / "own.py").write_text("import efge\n\nclass Own(efge.Poisson):\n    pass\n")
    arguments = ("embed", "e.csv", "-o", "v.npz", "-m", "own.py:Own", "--dim", 2, "--walks-per-node", 1)
    (tmp_path / "e.csv").write_text("a,b\nb,c\n")
    assert run(*arguments, "--save-model", "m.npz", cwd=tmp_path).returncode == 0
    assert_fails(run("info", "m.npz", cwd=tmp_path), "m.npz: a file cannot contain your own family, Own()")
    assert "family Own()" in lines_of(run("info", "m.npz", "--family", "own.py:Own", cwd=tmp_path))


@pytest.mark.parametrize("option", ["--node", "--label"])
def test_columns_of_a_file_of_labels_that_is_not_given_are_refused(write, tmp_path, option):
    write("e.csv", "ann,bob\nbob,cid\n")
    efge.Embedding(np.eye(3), ["ann", "bob", "cid"]).save(tmp_path / "v.npz")
    commands = ("communities e.csv -o g.tsv", "explore v.npz -o m.html", "benchmark e.csv -o scores")
    for command in map(str.split, commands):
        assert_fails(run(*command, option, "x", cwd=tmp_path), f"{option} is for the file of --labels")
