"""Encoders give names the rows that a dict would give them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import efge
from efge import GraphError
from efge.graph.encoders import FieldEncoder, IntegerEncoder, ObjectEncoder, TextEncoder
from efge.graph.names import (
    Fields,
)

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), max_size=20)
INTEGERS = st.integers(-(2**70), 2**70) | st.sampled_from([0, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1])


def slow_twin(items):
    numbers = {}
    return [numbers.setdefault(item, len(numbers)) for item in items], list(numbers)


@given(st.lists(st.lists(WORDS, max_size=30), max_size=4))
def test_texts_get_the_rows_of_the_slow_twin(runs):
    names = TextEncoder()
    numbers = [number for run in runs for number in names.encode(Fields.from_texts(run)).tolist()]
    assert (numbers, names.texts()) == slow_twin([word for run in runs for word in run])


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30), max_size=4))
def test_integers_get_the_rows_of_the_slow_twin(runs):
    names = IntegerEncoder()
    numbers = [number for run in runs for number in names.encode(np.array(run, np.int64)).tolist()]
    assert (numbers, names.names().tolist()) == slow_twin([value for run in runs for value in run])


def test_integers_may_become_large_or_negative_later():
    runs = [[5, 3, 5], [3, 100_000], [7, 2**62, 5], [-1, 3, 100_000, -1], [5]]
    names = IntegerEncoder()
    numbers = [number for run in runs for number in names.encode(np.array(run, np.int64)).tolist()]
    assert (numbers, names.names().tolist()) == slow_twin([value for run in runs for value in run])


@pytest.mark.parametrize("kind", [TextEncoder, IntegerEncoder])
def test_tables_grow_with_many_names(kind):
    values = np.random.default_rng(4).integers(-(10**6), 10**6, 60_000)
    values[-100:] = values[:100]
    names = kind()
    runs = [values[i : i + 7_001] for i in range(0, len(values), 7_001)]
    as_input = (lambda run: Fields.from_texts(map(str, run.tolist()))) if kind is TextEncoder else (lambda run: run)
    numbers = [number for run in runs for number in names.encode(as_input(run)).tolist()]
    found = [int(text) for text in names.texts()] if kind is TextEncoder else names.names().tolist()
    assert (numbers, found) == slow_twin(values.tolist())


@given(st.lists(st.lists(INTEGERS.map(str) | WORDS.filter(bool), max_size=10), max_size=5))
def test_names_are_integers_only_if_all_fields_are(runs):
    names = FieldEncoder()
    numbers = [number for run in runs for number in names.encode(names.prepare(Fields.from_texts(run))).tolist()]
    texts = [text for run in runs for text in run]
    expected, order = slow_twin(texts)
    assert numbers == expected
    plain = all(text.lstrip("-").isdecimal() and text.isascii() and str(int(text)) == text for text in texts)
    assert names.names().tolist() == ([int(text) for text in order] if plain else order)


def test_fields_prepared_as_integers_can_be_encoded_after_a_word():
    names = FieldEncoder()
    prepared = [names.prepare(Fields.from_texts(run)) for run in (["1", "2"], ["2", "x"], ["3", "1"])]
    assert [names.encode(run).tolist() for run in prepared] == [[0, 1], [1, 2], [3, 0]]
    assert names.names().tolist() == ["1", "2", "x", "3"]


def force_collisions(monkeypatch, seeds, keep_bits=0):
    """Give all names too long to be their own key keys that share all but a few bits, under the given seeds."""
    honest = Fields.keys

    def keys(self, seed):
        found = honest(self, seed)
        if seed in seeds:
            found[self.ends - self.starts >= 16] &= np.uint64((1 << keep_bits) - 1)
        return found

    monkeypatch.setattr(Fields, "keys", keys)


@pytest.mark.parametrize("seeds", [{0}, {0, 1}, {0, 2}, {0, 1, 2, 3}])
@pytest.mark.parametrize("keep_bits", [0, 3])
def test_names_with_the_same_key_get_different_rows(monkeypatch, seeds, keep_bits):
    force_collisions(monkeypatch, seeds, keep_bits)
    x, y, z = "x" * 16, "y" * 16, "zé" * 20
    runs = [[x], [x, "x", x], [y, x, z], ["y", "w" * 99, y], [f"a rather long name {i}" for i in range(50)], [z, "7"]]
    names = TextEncoder()
    numbers = [number for run in runs for number in names.encode(Fields.from_texts(run)).tolist()]
    assert (numbers, names.texts()) == slow_twin([word for run in runs for word in run])


def test_a_file_whose_names_have_the_same_key_is_read_correctly(monkeypatch, tmp_path):
    force_collisions(monkeypatch, {0})
    monkeypatch.setattr("efge.graph.text_lines._CHUNK_SIZE", 64)
    path = tmp_path / "graph.txt"
    edges = [(f"a-rather-long-name-{i % 17}", f"m{i % 23}") for i in range(200)]
    path.write_text("".join(f"{u} {v}\n" for u, v in edges))
    assert efge.read_graph(path).fingerprint() == efge.as_graph(edges).fingerprint()


def test_names_that_differ_in_a_byte_or_in_length_get_different_rows():
    texts = [
        "",
        "\x00",
        "\x00\x00",
        *("a" * size for size in range(1, 40)),
        *("b" + "a" * size for size in range(1, 40)),
    ]
    texts += ["a" * size + "b" for size in range(1, 40)]
    assert TextEncoder().encode(Fields.from_texts(texts)).tolist() == list(range(len(texts)))


@given(st.lists(st.integers() | st.text(max_size=3) | st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=20))
def test_objects_get_the_rows_of_the_slow_twin(items):
    names = ObjectEncoder()
    assert (names.encode(items).tolist(), names.names().tolist()) == slow_twin(items)


def test_more_nodes_than_rows_are_an_error(monkeypatch):
    monkeypatch.setattr("efge.graph.encoders._MAX_NODES", 3)
    for names in (["1", "2", "3"], ["a", "b", "c"], ["1", "2", "c"]):
        numbered = FieldEncoder()
        numbered.encode(numbered.prepare(Fields.from_texts(names)))
        with pytest.raises(GraphError, match="a graph has at most 3 nodes; this one has more"):
            numbered.encode(numbered.prepare(Fields.from_texts(["4"])))
