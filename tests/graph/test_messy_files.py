"""Files as people have them: decimal commas, blank rows, separator lines, JSON, spreadsheets, bad lines."""

from __future__ import annotations

import json
import re
import time
import warnings
import zipfile

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import efge
from efge.graph.text_numbers import NumberFormat
from helpers import run


@pytest.fixture
def write(tmp_path):
    def write(text, name="e.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def weights_of(graph):
    return {
        (graph.names[i], graph.names[j]): float(w)
        for i, j, w in zip(*graph.to_scipy().tocoo().coords, graph.to_scipy().tocoo().data, strict=True)
        if i < j
    }


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("0,5", {"decimal": ","}, 0.5),
        ("1.234,50", {"decimal": ",", "thousands": "."}, 1234.5),
        ("1,234,567.5", {"thousands": ","}, 1234567.5),
        ("$1,234", {"thousands": ","}, 1234),
        ("1'234", {"thousands": "'"}, 1234),
        ("€ 12.50", {}, 12.5),
        ("12 €", {}, 12),
        ("7", {"decimal": ","}, 7),
    ],
)
def test_weights_are_read_as_spreadsheets_write_them(write, text, options, expected):
    path = write(f"source;target;weight\nann;bob;{text}\n")
    assert weights_of(efge.read_graph(path, **options)) == {("ann", "bob"): expected}


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("0,5", {"decimal": ","}),
        ("1.234,50", {"decimal": ",", "thousands": "."}),
        ("1,234.50", {"thousands": ","}),
        ("$1,234,000", {"thousands": ","}),
    ],
)
def test_a_number_in_another_style_is_answered_with_the_options_that_read_it(write, text, advice):
    path = write(f"source;target;weight\nann;bob;{text}\n")
    with pytest.raises(efge.GraphError, match="line 2: a weight is a number; got") as caught:
        efge.read_graph(path)
    for option, mark in advice.items():
        assert f"{option}={mark!r}" in str(caught.value)
        assert f"--{option} " in str(caught.value)
    efge.read_graph(path, **advice)


def test_an_ambiguous_number_names_both_ways_to_read_it(write):
    path = write("source;target;weight\nann;bob;1,234\n")
    with pytest.raises(efge.GraphError, match=r"thousands=','.*decimal=','"):
        efge.read_graph(path)


@pytest.mark.parametrize("text", ["1.5.2", "1,23,4", "12_3", "none", "1.2345,6"])
def test_a_wrong_group_of_digits_is_no_number(text):
    with pytest.raises(ValueError, match=r"."):
        NumberFormat(",", ".").parse(text)


def test_marks_of_numbers_are_checked(write):
    path = write("a,b,1\n")
    for options, message in (
        ({"decimal": ",,"}, "decimal is one character"),
        ({"thousands": "1"}, "thousands is one character"),
        ({"decimal": ",", "thousands": ","}, "different marks"),
    ):
        with pytest.raises(efge.GraphError, match=message):
            efge.read_graph(path, **options)


def test_a_separator_line_names_the_separator_and_keeps_line_numbers(write):
    path = write("sep=;\r\nsource;target;weight\r\nann, jr.;bob;2\r\nbob;cid;x\r\n")
    with pytest.raises(efge.GraphError, match=r"e.csv, line 4: a weight is a number; got 'x'"):
        efge.read_graph(path)
    path = write("sep=|\nann|bob\nbob|cid\n")
    assert efge.read_graph(path).names.tolist() == ["ann", "bob", "cid"]


def test_blank_rows_of_spreadsheets_are_no_edges(write):
    path = write(',,\nsource,target,weight\nann,bob,1\n,,\n"","",""\nbob,cid,2\n\n,,\n')
    graph = efge.read_graph(path)
    assert (graph.n_nodes, graph.n_edges) == (3, 2)
    with pytest.raises(efge.GraphError, match="line 2: a node name is not empty"):
        efge.read_graph(write("ann,bob,1\n,cid,2\n"))


def test_bad_lines_are_counted_and_listed_if_they_are_left_out(write):
    lines = [
        "source,target,weight",
        "ann,bob,1",
        "bob,cid",
        "bob,,2",
        "cid,dan,-1",
        "dan,ann,x",
        "dan,eve,3",
        "a,b,1,2",
    ]
    path = write("\n".join(lines) + "\n")
    with pytest.raises(efge.GraphError, match="line 3: an edge has 3 fields"):
        efge.read_graph(path)
    with pytest.warns(UserWarning, match="5 of 7 lines") as caught:
        graph = efge.read_graph(path, skip_bad=True)
    assert weights_of(graph) == {("ann", "bob"): 1, ("dan", "eve"): 3}
    (message,) = [str(warning.message) for warning in caught]
    assert "5 of 7 lines are left out: line 3: an edge has 3 fields in this file; got 2; line 4: a node name" in message
    assert (
        "line 5: a weight is finite and positive; got '-1'; line 6: a weight is finite and positive; got 'x'" in message
    )
    assert message.endswith("line 8: an edge has 3 fields in this file; got 4")
    many = write("a,b\n" + "c\n" * 9)
    with pytest.warns(UserWarning, match="9 of 10 lines are left out: .*; and 4 more$"):
        efge.read_graph(many, skip_bad=True)
    with pytest.raises(efge.GraphError, match="no edge remains"):
        efge.read_graph(write("a,b,x\nc,d,y\n"), skip_bad=True, header=False)


@pytest.mark.parametrize(
    "text", ["ann bob\nbob ann\nbob cid\n", "1 2\n2 1\n2 3\n", "ann bob 5\nbob ann 6\nbob cid 7\n"]
)
def test_duplicate_lines_are_counted_on_request(write, tmp_path, text):
    path = write(text, "e.txt")
    graph = efge.read_graph(path, count_duplicates=True)
    assert graph.weights.tolist() == [2, 2, 1, 1]
    efge.convert_graph(path, tmp_path / "e.efge", count_duplicates=True)
    assert efge.Graph.open(tmp_path / "e.efge").fingerprint() == graph.fingerprint()
    with pytest.raises(efge.GraphError, match="is for lists of edges and multigraphs"):
        efge.read_graph(write(text, "e.adj"), count_duplicates=True)


def test_warnings_of_readers_point_to_the_line_of_the_caller(write):
    path = write("user,movie,age\n1,2,5\n2,3,oops\n1,2\n")
    with pytest.warns(UserWarning, match=".") as caught:
        efge.read_graph(path, skip_bad=True)
    assert len(caught) == 3
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("last", ["bob,cid,n/a", "bob,cid,-1", "bob,cid"])
def test_the_error_of_a_bad_line_says_how_to_leave_it_out(write, last):
    path = write(f"ann,bob,1\n{last}\n")
    with pytest.raises(efge.GraphError, match=r"line 2: .*; to leave such lines out, pass skip_bad=True"):
        efge.read_graph(path)
    with pytest.warns(UserWarning, match="1 of 2 lines are left out: line 2"):
        assert efge.read_graph(path, skip_bad=True).n_edges == 1


def test_options_for_text_are_refused_for_other_formats(write):
    path = write('[["ann", "bob"]]', "e.json")
    with pytest.raises(
        efge.GraphError, match=r"skip_bad, .* are for edges as delimited text; this is json, so correct"
    ):
        efge.read_graph(path, skip_bad=True)


EXPECTED = {("ann", "bob"): 2.0, ("bob", "cid"): 0.5}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "e.jsonl",
            '{"source": "ann", "target": "bob", "weight": 2}\n\n{"weight": 0.5, "source": "bob", "target": "cid"}\n',
        ),
        ("e.ndjson", '["ann", "bob", 2]\n["bob", "cid", 0.5]\n'),
        ("e.json", '[{"from": "ann", "to": "bob", "weight": 2}, {"from": "bob", "to": "cid", "weight": 0.5}]'),
        (
            "e.json",
            '{"source": "ann", "target": "bob", "weight": 2}\n{"source": "bob", "target": "cid", "weight": 0.5}\n',
        ),
        ("e.json", '[["ann", "bob", 2], ["bob", "cid", 0.5]]'),
        ("e.json", '{"ann": {"bob": 2}, "bob": {"cid": 0.5}}'),
        ("e.json", '{"source": ["ann", "bob"], "target": ["bob", "cid"], "weight": [2, 0.5]}'),
        (
            "d3.json",
            '{"nodes": [{"name": "ann"}, {"name": "bob"}, {"name": "cid"}],'
            ' "links": [{"source": 0, "target": 1, "value": 2}, {"source": 1, "target": 2, "value": 0.5}]}',
        ),
    ],
)
def test_json_is_read_in_its_usual_forms(write, name, text):
    assert weights_of(efge.read_graph(write(text, name))) == EXPECTED


@pytest.mark.parametrize("edges", ["links", "edges"])
@pytest.mark.parametrize("directed", [False, True])
def test_node_link_data_of_networkx_keeps_nodes_weights_and_direction(write, edges, directed):
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(["zoe", "ann"])
    graph.add_weighted_edges_from([("ann", "bob", 2.0), ("bob", "cid", 0.5)])
    found = efge.read_graph(write(json.dumps(nx.node_link_data(graph, edges=edges)), "g.json"))
    assert found.fingerprint() == efge.as_graph(graph).fingerprint()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.json", "", "a graph has at least one edge; the file is empty|not a valid JSON file"),
        ("e.json", "3", "a graph is a Graph, a path"),
        ("e.json", '{"a": 3}', "a dict is columns"),
        ("e.jsonl", '["a", "b"]\n{', "line 2: this is not valid JSON"),
        (
            "e.jsonl",
            '{"source": 1, "target": 2}\n{"source": 1}',
            r"edge 1: all edges have the keys \['source', 'target'\]",
        ),
        ("e.json", '{"nodes": [{"x": 1}], "links": [{"source": 0, "target": 5}]}', "edge 0: nodes without an id are"),
        ("e.json", '{"nodes": [{"id": 1}], "links": [[]]}', "e.json: "),
        ("e.txt", '{"source": "ann", "target": "bob"}\n', "this looks like JSON, so pass format='json'"),
        ("m.csv", ",ann,bob,cid\nann,0,1,0\nbob,1,0,1\ncid,0,1,0\n", "this looks like an adjacency matrix with names"),
    ],
)
def test_other_content_is_answered_with_what_to_do(write, name, text, message):
    with pytest.raises(efge.GraphError, match=message):
        efge.read_graph(write(text, name))


def test_a_spreadsheet_is_recognized(tmp_path):
    for name, message in (("e.xlsx", "this is a spreadsheet; save its sheet as CSV"), ("e.txt", "a ZIP archive")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("xl/workbook.xml", "<workbook/>")
        with pytest.raises(efge.GraphError, match=message):
            efge.read_graph(tmp_path / name)


AMBIGUOUS = [
    "ev,proteinA,proteinB,score\ne1,P1,P2,0.5\ne2,P2,P3,0.7\n",
    "ev,proteinA,proteinB\ne1,P1,P2\ne2,P2,P3\n",
    "day,person,friend,calls\n1,ann,bob,3\n2,bob,cid,4\n",
    "x,1,2,0.5\ny,2,3,0.7\n",
    "one,source_id,target_id,two\nx,ann,bob,y\nz,bob,cid,y\n",
    "id;first person;second person;calls\n1;ann;bob;3\n",
]


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_ambiguous_columns_are_listed_with_options_that_work_as_typed(write, text):
    path = write(text)
    options = {"header": True} if text.startswith("ev,proteinA,proteinB\n") else {}
    with pytest.raises(
        efge.GraphError, match=r"line 1: an edge has two node names and at most a weight; got"
    ) as caught:
        efge.read_graph(path, **options)
    message = str(caught.value)
    if not text.startswith("x"):
        assert all(name in message for name in re.split("[,;]", text.split("\n")[0]))
    python = re.findall(r"(source|target|weight)=('[^']*'|\d+)", message)
    advice = {name: value.strip("'") if "'" in value else int(value) for name, value in python}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = efge.read_graph(path, **advice)
    assert graph.n_edges == text.count("\n") - (not text.startswith("x"))


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("sender;receiver;amount;channel;date\n1;2;30;web;May\n2;3;5;app;May\n", ("sender", "receiver")),
        ("Nach,Von,Betrag,Kanal\n1,2,30,web\n2,3,5,app\n", ("Von", "Nach")),
        ("day,kunde,partner,sum,note\n1,17,18,30,x\n1,18,19,31,y\n", ("kunde", "partner")),
    ],
)
def test_columns_are_proposed_by_their_names_or_by_what_they_share(write, text, ends):
    path = write(text)
    advice = f"choose them, as source={ends[0]!r}, target={ends[1]!r}"
    rows = [line.split(";" if ";" in text else ",") for line in text.splitlines()]
    frame = pd.DataFrame(rows[1:], columns=rows[0])
    for graph in (path, frame, pa.Table.from_pandas(frame), frame.to_dict("records")):
        with pytest.raises(efge.GraphError, match=advice):
            efge.as_graph(graph)
    error = run("info", path).stderr
    assert (f"--source {ends[0]} --target {ends[1]}" in error, "efge.as_graph" in error) == (True, False)


def test_no_columns_are_proposed_where_nothing_tells_them(write):
    path = write("kunde,partner,amount,channel,region\n1,2,30,web,north\n3,4,50,app,south\n")
    rule = r"\(kunde, partner, amount, channel, region\); choose them, by source= and target= \(--source and --target\)"
    with pytest.raises(efge.GraphError, match=rule):
        efge.read_graph(path)


def test_a_score_is_not_taken_for_a_node(write):
    with pytest.raises(efge.GraphError, match=r"got 3 columns \(score, a, b\); choose them, as source='a', target='b'"):
        efge.read_graph(write("score,a,b\n0.5,x,y\n0.6,y,z\n"))


def test_words_above_numbers_are_a_header(write):
    with pytest.warns(UserWarning, match="line 1: the column 'score' is ignored; if it is the weight"):
        graph = efge.read_graph(write("proteinA,proteinB,score\nP1,P2,0.5\nP2,P3,0.7\n"))
    assert (graph.n_nodes, graph.is_weighted) == (3, False)


def test_an_unread_numeric_column_is_pointed_out_in_wide_tables_too(write):
    path = write("source,target,since,score\nann,bob,2001,0.5\n")
    with pytest.warns(UserWarning, match="the columns 'since', 'score' are ignored; if one is the weight"):
        efge.read_graph(path)


def test_triples_are_read_on_request(write):
    path = write("ann knows bob\nbob likes cid\n", "t.txt")
    with pytest.raises(efge.GraphError, match=r"for triples .*--source 0 --target 2"):
        efge.read_graph(path)
    assert efge.read_graph(path, source=0, target=2).n_edges == 2


def test_an_unknown_column_lists_the_header_and_suggests_the_nearest(write):
    path = write("day,person,friend\n1,ann,bob\n")
    with pytest.raises(
        efge.GraphError, match=r"no column 'frend'; there are: day, person, friend; did you mean 'friend'"
    ):
        efge.read_graph(path, source="person", target="frend")


def test_the_rows_of_a_matrix_are_named_by_a_file(write):
    text = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
    names = write("ann\nbob\ncid\n", "names.txt")
    graph = efge.read_graph(write(text, "m.mtx"), names=names)
    assert graph.neighbors("bob") == ["ann", "cid"]
    with pytest.raises(efge.GraphError, match=r"e.csv: names= .* labels the rows of a matrix"):
        efge.read_graph(write("a,b\n"), names=names)


def test_a_header_that_was_read_as_nodes_is_pointed_out_in_python_too(write):
    for text in ("painter,muse\nann,bob\nbob,cid\n", "painter\tmuse\nx\ty\ny\tz\n"):
        path = write(text)
        with pytest.warns(UserWarning, match=r"occur only in the first line; .* pass header=True \(--header\)"):
            assert efge.read_graph(path).n_nodes == 5
        with pytest.warns(UserWarning, match="occur only in the first line"):
            efge.convert_graph(path, path.with_suffix(".efge"))
        assert efge.read_graph(path, header=True).n_nodes == 3


def test_integers_as_keys_of_json_are_the_same_nodes_as_integers_in_lists(write):
    assert efge.read_graph(write('{"0": [1, 2], "1": [2], "2": []}', "e.json")).names.tolist() == [0, 1, 2]
    assert efge.read_graph(write('{"0": ["1"], "1": []}', "e.json")).names.tolist() == ["0", "1"]


@pytest.mark.parametrize(
    ("text", "message", "options"),
    [
        ("1 -> 2\n2 -> 3\n", "the second field is '->' and names no node", {"source": 0, "target": 2}),
        ("1|2\n2|3\n", "if '|' separates the fields, pass delimiter='|'", {"delimiter": "|"}),
        (",u,v\n0,1,2\n1,2,3\n", "as source='u', target='v' ", {"source": "u", "target": "v"}),
        ("weight,u,v\n2,1,2\n3,2,3\n", "as source='u', target='v', weight='weight'", {"source": "u", "target": "v"}),
        ("1,2,\n2,3,\n", "if lines end in a separator, pass weighted=False", {"weighted": False}),
        ("u,v,weight,weight\n1,2,3,4\n2,3,4,5\n", "2 columns are named 'weight'", {"weight": 2}),
    ],
    ids=["arrows", "bars", "row numbers", "weight first", "trailing comma", "two weights"],
)
def test_fields_that_are_no_nodes_are_answered_with_options_that_work(write, text, message, options):
    path = write(text.replace("u,v,weight,weight", "source,target,weight,weight"))
    with pytest.raises(efge.GraphError, match=re.escape(message)):
        efge.read_graph(path)
    assert efge.read_graph(path, **options).names.tolist() == [1, 2, 3]


def test_a_decimal_comma_in_the_first_line_is_explained(write):
    with pytest.raises(efge.GraphError, match="if ',' is the decimal mark, pass decimal=','"):
        efge.read_graph(write("a;b;1,5\nb;c;2,5\n"))


def test_the_column_of_row_numbers_is_no_weight(write):
    path = write(",source,target\n0,1,2\n1,2,3\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not efge.read_graph(path).is_weighted


def test_lines_that_end_in_a_carriage_return_are_pointed_out(write):
    with pytest.raises(efge.GraphError, match="lines end in a line feed; here they end in a carriage return"):
        efge.read_graph(write("source,target\ra,b\rb,c\r"))


def test_an_edge_that_is_left_out_as_a_comment_is_pointed_out(write):
    path = write("source,target\n#tag,bob\nbob,cid\n")
    with pytest.warns(UserWarning, match=r"e\.csv, line 2: '#tag,bob' is left out as a comment; pass comments=''"):
        assert efge.read_graph(path).n_edges == 1
    assert efge.read_graph(path, comments="").n_edges == 2
    done = run("info", path, "--comments", "")
    assert "edges              2" in done.stdout
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert efge.read_graph(write("# a b\na b\n# part two\nb c\n", "e.txt")).n_edges == 2


def test_weights_that_look_like_times_are_pointed_out(write):
    path = write("1 2 1082040961\n3 4 1082155839\n1 2 1082414391\n", "messages.txt")
    edges = [(1, 2, 1082040961), (3, 4, 1082155839)]
    for graph in (path, edges, np.array([*edges, (5, 6, 1082155839)] * 2)):
        with pytest.warns(UserWarning, match="look like times since 1970; pass weighted=False"):
            efge.as_graph(graph)
        assert not efge.as_graph(graph, weighted=False).is_weighted
    assert efge.read_graph(path, source=0, target=1, weight=2).is_weighted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for graph in (path, edges, nx.from_edgelist([(a, b, {"weight": time}) for a, b, time in edges])):
            assert efge.as_graph(graph, weighted=True).is_weighted


def test_many_comments_before_the_first_edge_take_no_time(write):
    path = write("#\n" * 300_000 + "a b\n#b c\nc a\n", "e.txt")
    start = time.process_time()
    with pytest.warns(UserWarning, match="line 300002: '#b c' is left out as a comment"):
        assert efge.read_graph(path).n_edges == 2
    assert time.process_time() - start < 5


def test_comments_begin_with_characters_of_ascii(write):
    # The line of quotation marks begins with the same byte as the arrow.
    path = write("ann bob\n\u201cx y\n\u2192 z\n")
    with pytest.raises(efge.GraphError, match="comments begin with characters of ASCII; got comments='\u2192'"):
        efge.read_graph(path, comments="\u2192")


def test_a_missing_value_in_json_is_pointed_out_once(write):
    path = write('[["ann", "NA"], ["bob", "ann"]]', "edges.json")
    with pytest.warns(UserWarning, match="the node 'NA'") as caught:
        efge.as_graph(path)
    assert len(caught) == 1
    assert run("info", path).stdout.count("the node 'NA'") == 1


def test_names_that_may_be_missing_values_or_one_number_are_pointed_out(write):
    for text, message in (
        ("ann,nan\nbob,nan\n", "the node 'nan' has 2 edges and may be a missing value"),
        ("ann,bob\nbob,NA\n", "the node 'NA' has 1 edge and may be a missing value; if it is one, leave this edge out"),
        ("00001,2\n1,3\n", "'00001' and '1' are the same number, but different nodes"),
        ("1.0,2\n1,3\n", "'1.0' and '1' are the same number, but different nodes"),
        ("1e5,2\n100000,2\n", "'1e5' and '100000' are the same number"),
        ("ann,bob\nbob,cid\nAnn,cid\n", "names that differ only by case or blanks"),
    ):
        with pytest.warns(UserWarning, match=re.escape(message)):
            efge.read_graph(write(text))
        assert message in run("info", write(text)).stdout
    with pytest.warns(UserWarning, match="the node '' has 2 edges and may be a missing value"):
        efge.as_graph(pd.DataFrame({"source": ["", ""], "target": ["a", "b"]}))


@pytest.mark.parametrize(
    "header",
    ["person_a,person_b", "user,friend", "Sender,Receiver", "author1,author2", "GENE_A,GENE_B", "from_id,to_id"],
)
def test_names_of_columns_above_words_are_a_header(tmp_path, header):
    path = tmp_path / "e.csv"
    path.write_text(f"{header}\nann,bob\nbob,tom\n")
    with pytest.warns(UserWarning, match=r"line 1: '.*' and '.*' were read as names of columns; .*header=False"):
        assert efge.read_graph(path).names.tolist() == ["ann", "bob", "tom"]
    assert efge.read_graph(path, header=False).n_nodes == 5


@pytest.mark.filterwarnings("ignore:.*occur only in the first line")
@pytest.mark.parametrize(
    "edges",
    [
        "user,friend\nann,bob\nbob,friend\n",
        "gene1,gene2\ngene3,gene4\n",
        "GENE1,GENE2\nGENE3,ann\n",
        "gene_a,gene_b\ngene_c,ann\n",
        "teacher,student\nparent,child\n",
        "friend,ann\nbob,cid\n",
        "user,friend\n",
        "user friend\nann bob\n",
    ],
)
def test_names_like_those_of_other_nodes_are_no_header(tmp_path, edges):
    (tmp_path / "e.csv").write_text(edges)
    assert efge.read_graph(tmp_path / "e.csv").n_edges == edges.count("\n")


TITLES = [
    ("Friends of 2024\nsource,target,weight\nann,bob,2\nbob,cid,0.5\n", 1),
    ("My friends\nsource,target,weight\nann,bob,2\nbob,cid,0.5\n", 1),
    ("My friends,,\nsource,target,weight\nann,bob,2\nbob,cid,0.5\n", 1),
    ("My friends\nexported today\n\nsource;target;weight\nann;bob;2\nbob;cid;0.5\n", 3),
    ("# saved\nFriends, all of them\nann,bob,2\nbob,cid,0.5\n", 2),
    ("3\nann bob 2\nbob cid 0.5\n", 1),
    ("All my friends of 2024\nann bob 2\nbob cid 0.5\n", 1),
    ("Friends\nsep=;\nann;bob;2\nbob;cid;0.5\n", 2),
    ("\ufeffFriends\nann\tbob\t2\nbob\tcid\t0.5\n", 1),
]


@pytest.mark.parametrize(("text", "count"), TITLES)
@pytest.mark.parametrize("name", ["e.csv", "e.txt"])
def test_a_title_above_the_table_is_answered_with_the_lines_to_skip(write, tmp_path, text, count, name):
    path = write(text, name)
    advice = rf"pass skip_lines={count} \(--skip-lines {count}\)$"
    for options in ({}, {"skip_bad": True}):
        with pytest.raises(efge.GraphError, match=rf"line \d: '.*' has other fields than line \d and those .*{advice}"):
            efge.read_graph(path, **options)
    graph = efge.read_graph(path, skip_lines=count)
    assert weights_of(graph) == EXPECTED
    efge.convert_graph(path, tmp_path / "e.efge", skip_lines=count)
    assert efge.Graph.open(tmp_path / "e.efge").fingerprint() == graph.fingerprint()
    assert run("info", path, "--skip-lines", count).stdout == run("info", path, "--skip-lines", str(count)).stdout
    assert "edges              2" in run("info", path, "--skip-lines", count).stdout


def test_lines_are_counted_from_the_first_one_of_the_file_though_some_are_skipped(write):
    path = write("Friends\nof mine\nann,bob,1\nbob,cid,x\n")
    with pytest.raises(efge.GraphError, match="line 4: a weight is a number; got 'x'"):
        efge.read_graph(path, skip_lines=2)
    with pytest.raises(efge.GraphError, match="the file is empty"):
        efge.read_graph(path, skip_lines=4)
    for count in (-1, 0.5, "1", True, None):
        with pytest.raises(TypeError, match="skip_lines is a number of lines, from 0 on; got"):
            efge.read_graph(path, skip_lines=count)
    with pytest.raises(efge.GraphError, match=r"skip_bad, skip_lines, .* are for edges as delimited text"):
        efge.read_graph(write('[["ann", "bob"]]', "e.json"), skip_lines=1)


@pytest.mark.parametrize(
    "text",
    [
        "ann,bob\nbob,cid\n",
        "x y\nann,jr bob\ncid,jr dan\n",
        "a b 1\nb c 2\n",
        "ann,bob,1,\nbob,cid,2,x\n",
        "ann;bob\n",
    ],
)
def test_a_regular_table_has_no_title(write, text):
    assert efge.read_graph(write(text, "e.txt"), source=0, target=1, header=False, skip_bad=True).n_edges


@pytest.mark.parametrize("text", ['"a,b\nb,c\n', 'b,c\n"a,b\n', 'a,b\nb,"c\n', 'x;y\n"a;b\n', 'a,b\n"c"" d,b\n'])
def test_a_quote_that_is_not_closed_is_an_error_with_its_line(write, text):
    lines = text.splitlines()
    number = next(i for i, line in enumerate(lines, 1) if '"' in line)
    message = rf"e.csv, line {number}: a name that begins with a quote ends with one on the same line; got '?\""
    with pytest.raises(efge.GraphError, match=message):
        efge.read_graph(write(text))
    with pytest.warns(UserWarning, match=f"line {number}: a name that begins with a quote"):
        graph = efge.read_graph(write(text), skip_bad=True, header=False)
    assert not any('"' in str(name) for name in graph.names)


def test_quotes_within_names_and_between_tabs_are_no_marks(write):
    graph = efge.read_graph(write('"Heroes" (album),bob\n5" disk,"""a"""\n'), header=False)
    assert graph.names.tolist() == ['"Heroes" (album)', "bob", '5" disk', '"a"']
    assert '"a' in efge.read_graph(write('"a\tb\nb\tc\n', "e.tsv"), header=False)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            '<?xml version="1.0"?>\n<!-- mine -->\n<graphml xmlns="x">\n</graphml>\n',
            "GraphML, so pass format='graphml'",
        ),
        ('<gexf version="1.3">\n</gexf>\n', "GEXF, so pass networkx.read_gexf"),
        ("<!DOCTYPE html>\n<html lang=en>\n", "XML or HTML, and no table of edges"),
        ("graph { a -- b; b -- c }\n", "DOT, so pass networkx"),
        ("strict digraph friends {\n  a -> b;\n}\n", "DOT, so pass networkx"),
        ('Creator "me"\ngraph\n[\n  node [\n', "GML, so pass format='gml'"),
        ('*Vertices 3\n1 "a"\n', "Pajek, so pass format='pajek'"),
        ("%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n", "Matrix Market, so pass format='mtx'"),
        ("@prefix x: <http://x/> .\nx:a x:knows x:b .\n", "RDF in Turtle, so pass pairs"),
    ],
)
def test_a_text_of_another_format_is_never_read_as_edges(write, text, kind):
    with pytest.raises(efge.GraphError, match=re.escape(f"e.txt: this file is {kind}")):
        efge.read_graph(write(text, "e.txt"))


def test_nodes_that_are_called_like_a_format_are_nodes(write):
    for first in ("graph theory", "<http://x/a> <http://x/b>", "digraph tree", "creator graph"):
        assert first.split()[0] in efge.read_graph(write(f"{first}\n{first}\n", "e.txt"))


def test_ntriples_are_read_by_subject_and_object(write):
    path = write("<http://x/a> <http://x/knows> <http://x/b> .\n<http://x/b> <http://x/knows> <http://x/c> .\n", "t.nt")
    with pytest.raises(
        efge.GraphError, match=r"this looks like N-Triples; .* source=0, target=2 \(--source 0 --target"
    ):
        efge.read_graph(path)
    assert efge.read_graph(path, source=0, target=2).n_nodes == 3


def test_what_r_writes_is_answered_with_what_to_do(write):
    path = write('"from" "to" "w"\n"1" "ann" "bob" 3\n"2" "bob" "cid" 4\n', "e.txt")
    with pytest.raises(efge.GraphError, match=r"skip_lines=1 .*; if it names columns beside .* by row.names=FALSE"):
        efge.read_graph(path)
    with pytest.warns(UserWarning, match="names such as '\"ann\"' are in quotes; write the file with commas or tabs"):
        efge.read_graph(write('"ann" "bob" 3\n"bob" "cid" 4\n', "e.txt"))


def test_columns_as_pandas_writes_them_to_json_are_read(write):
    frame = pd.DataFrame({"source": ["ann", "bob"], "target": ["bob", "cid"], "weight": [2.0, 0.5]})
    assert weights_of(efge.read_graph(write(frame.to_json(), "e.json"))) == EXPECTED
    assert efge.as_graph(frame.to_dict()).fingerprint() == efge.as_graph(frame).fingerprint()
