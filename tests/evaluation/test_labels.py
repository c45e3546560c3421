"""Labels: all types agree, files are read leniently, and errors name the line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import efge
from efge.evaluation.labels import as_targets, read_labels, read_matching_labels
from helpers import blobs


@pytest.mark.parametrize("names", [[1, 2, 3], ["1", "2", "ann"], [1, 2, "ann"]])
@pytest.mark.parametrize("other", ["", "ann b\n"])
def test_one_unknown_name_does_not_change_the_type_of_the_others(tmp_path, names, other):
    (tmp_path / "labels.txt").write_text(f"1 a\n2 b\n{other}")
    targets = as_targets(tmp_path / "labels.txt", efge.Embedding(np.ones((3, 1)), names))
    assert targets.rows.tolist() == ([0, 1, 2] if other and "ann" in names else [0, 1])


def test_all_types_of_labels_agree(tmp_path):
    vectors, labels = blobs(50, classes=3)
    names = [f"n{i}" for i in range(50)]
    embedding = efge.Embedding(vectors, names)
    path = tmp_path / "labels.csv"
    path.write_text("node,label\n" + "".join(f"{name},{label}\n" for name, label in zip(names, labels, strict=True)))
    frame = pd.DataFrame({"label": labels, "node": names})
    by_name = dict(zip(names, labels.tolist(), strict=True))
    sources = [by_name, path, str(path), frame, frame.set_index("node")["label"], labels, labels.tolist()]
    sources += [csr_array(labels[:, None] == np.arange(3)), {name: {label} for name, label in by_name.items()}]
    for source in sources:
        targets = as_targets(source, embedding)
        assert targets.classes == [0, 1, 2]
        assert targets.members.argmax(axis=1).tolist() == labels.tolist()
        assert not targets.is_multilabel


def test_missing_values_of_data_frames_are_not_labels():
    embedding = efge.Embedding([[1.0], [2.0], [3.0]], ["a", "b", "c"])
    frame = pd.DataFrame({"node": ["a", "b", "c"], "label": ["x", None, np.nan]})
    assert as_targets(frame, embedding).rows.tolist() == [0]


def test_a_file_of_labels_may_have_comments_a_header_and_several_labels_for_a_node(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("# from somewhere\n\nnode class\n1 7\n2 8\n1 8\n")
    assert read_labels(path) == {1: (7, 8), 2: (8,)}
    path.write_bytes(b"\xef\xbb\xbfann;a b\nbob;c\n")
    assert read_labels(path) == {"ann": ("a b",), "bob": ("c",)}
    path.write_text("ann,x\nbob,\n")
    assert read_labels(path) == {"ann": ("x",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a 1\nb 2 3\n", "line 2: a line has a node and its class; got 3 fields"),
        (b"a\n", "labels.txt: a line has a node and its class; got 1 field"),
        (b",a\nb,c\n", "line 1: a node name is not empty"),
        (b"a 1\nb \xff\n", "line 2: text is in UTF-8; this is not"),
        (b"", "a table has at least one row; the file is empty"),
        (
            b"a,b,c\nx,y,z\n",
            r"got 3 columns \(a, b, c\); choose .* \(--node a --label c\)",
        ),
    ],
)
def test_malformed_files_are_errors_that_name_the_line(tmp_path, text, message):
    path = tmp_path / "labels.txt"
    path.write_bytes(text)
    with pytest.raises(efge.EvaluationError, match=message):
        read_labels(path)


def test_a_missing_file_is_an_evaluation_error(tmp_path):
    with pytest.raises(efge.EvaluationError, match="no such file"):
        read_labels(tmp_path / "none.txt")


def test_quoted_names_and_chosen_columns_are_read(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text('"Acme, Inc.",high\nBolt,low\n')
    assert read_labels(path) == {"Acme, Inc.": ("high",), "Bolt": ("low",)}
    path.write_text('since,company,risk\n1990,"Acme, Inc.",high\n2001,Bolt,low\n')
    expected = {"Acme, Inc.": ("high",), "Bolt": ("low",)}
    assert read_labels(path, node="company", label="RISK") == expected
    with pytest.raises(efge.EvaluationError, match=r"no column 'compny' for node; .*; did you mean 'company'"):
        read_labels(path, node="compny", label="risk")
    path.write_text('1990;"Acme, Inc.";high\n2001;Bolt;low\n')
    assert read_labels(path, node=1, label=2) == expected
    pd.DataFrame({"group": [1, 2], "node": ["a", "b"], "x": [0, 0]}).to_parquet(tmp_path / "labels.parquet")
    assert read_labels(tmp_path / "labels.parquet") == {"a": (1,), "b": (2,)}


def test_a_data_frame_with_unknown_columns_is_refused():
    embedding = efge.Embedding([[1.0], [2.0]], ["a", "b"])
    frame = pd.DataFrame({"x": [1, 2], "y": ["a", "b"], "z": ["p", "q"]})
    with pytest.raises(efge.EvaluationError, match=r"got \['x', 'y', 'z'\]; pass two of them, as frame"):
        as_targets(frame, embedding)


@pytest.mark.parametrize("header", ["node,team", "company,label", "id,risk"])
def test_one_known_name_makes_the_first_line_a_header(tmp_path, header):
    path = tmp_path / "labels.csv"
    path.write_text(f"{header}\nann,red\nbob,blue\n")
    assert efge.read_labels(path) == {"ann": ("red",), "bob": ("blue",)}


@pytest.mark.parametrize("text", ["paper,topic\n1,a\n2,b\n", "person,level\nann,1\nbob,2\n"])
def test_words_above_integers_are_a_header(tmp_path, text):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    labels = read_labels(path)
    assert len(labels) == 2
    assert not {"paper", "person"} & set(labels)


def test_names_without_a_vector_are_listed(tmp_path):
    embedding = efge.Embedding(np.eye(6), [f"n{i}" for i in range(6)])
    path = tmp_path / "labels.csv"
    path.write_text("person,role\n" + "".join(f"n{i},{'ab'[i % 2]}\n" for i in range(6)))
    scores = efge.node_classification(embedding, path, ratios=[0.5], repeats=2)
    assert "Labelled names without a vector: 1 ('person')." in scores.notes


@pytest.mark.parametrize("header", ["paper_id,field_of_study", "userId,group", "ID,sex", "User ID,team", "pmid_id,x"])
def test_a_first_field_that_names_ids_is_a_header(tmp_path, header):
    path = tmp_path / "labels.csv"
    path.write_text(f"{header}\nann,x\nbob,y\n")
    assert read_labels(path) == {"ann": ("x",), "bob": ("y",)}


@pytest.mark.parametrize("kind", [int, "n{}".format])
def test_a_list_of_edges_in_place_of_classes_gives_a_warning(tmp_path, kind):
    names = [kind(number) for number in range(40)]
    path = tmp_path / "labels.txt"
    path.write_text("".join(f"{names[i]} {names[i // 3]}\n" for i in range(1, 40)))
    with pytest.warns(UserWarning, match=r"labels.txt: this looks like a list of edges.*14 of 14 classes are names"):
        read_matching_labels(path, efge.Embedding(np.eye(40), names).names)
    path.write_text("".join(f"{name} {i % 5}\n" for i, name in enumerate(names)))
    assert len(read_matching_labels(path, efge.Embedding(np.eye(40), names).names)) == 40


def test_a_title_and_an_open_quote_are_pointed_out(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("Customers\nnode,risk\nann,high\nbob,low\n")
    with pytest.raises(efge.EvaluationError, match=r"line 1: 'Customers' has other fields than line 2 .* delete it"):
        read_labels(path)
    path.write_text('node,label\nann,high\n"bob,low\n')
    # Tables have no option to leave lines out.
    with pytest.raises(efge.EvaluationError, match=r"line 3: a name that begins with a quote ends .*; got \"bob$"):
        read_labels(path)
