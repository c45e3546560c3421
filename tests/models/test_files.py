"""Files of models: everything survives a round trip to the byte, and a file that is not such a model is refused."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from dataclasses import asdict

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import efge
from efge.cli import options
from efge.models.files import _ESTIMATORS
from efge.models.parameters import decode_parameters, encode_parameters
from helpers_embedding import INTEGERS, TEXTS

CLUB = nx.karate_club_graph()
QUICK = {"walks_per_node": 3, "seed": 1, "threads": 1}
MODELS = {
    "default": efge.EFGE(dim=4, seed=1, threads=1),
    "normal": efge.EFGE.paper(dim=4, **QUICK),
    "family": efge.EFGE(efge.NegativeBinomial(dispersion=2.5), dim=4, **QUICK),
    "strategy": efge.EFGE("bernoulli", dim=4, walk=efge.Node2VecWalk(0.5, 2.0), **QUICK),
    "no seed": efge.EFGE("poisson", dim=4, walks_per_node=3, patience=2, threads=1),
    "deepwalk": efge.DeepWalk(dim=4, **QUICK),
    "node2vec": efge.Node2Vec(dim=4, p=0.5, **QUICK),
    "line": efge.LINE(dim=4, samples=2000, seed=1, threads=1),
    "hope": efge.HOPE(dim=4, seed=1),
    "netmf": efge.NetMF(dim=4, seed=1),
    "prone": efge.ProNE(dim=4, seed=1, threads=1),
    "bigclam": efge.BigClam(n_communities=2, seed=1, threads=1),
}


class Binomial(efge.Family):
    """A family of a user's own."""

    domain = "binary"

    def __init__(self, trials=2):
        self.trials = trials

    def log_partition(self, eta):
        return self.trials * np.logaddexp(0, eta)

    def mean(self, eta):
        return self.trials / (1 + np.exp(-eta))


class Tuned(efge.EFGE):
    """An estimator of a user's own."""

    def __init__(self, dim=4, *, seed=None):
        super().__init__("bernoulli", dim, walks_per_node=3, seed=seed, threads=1)


def assert_same(fitted, again):
    """Compare all attributes: parameters and what `fit` stored."""
    assert type(again) is type(fitted)
    assert vars(again).keys() == vars(fitted).keys()
    for name, value in vars(fitted).items():
        np.testing.assert_equal(getattr(again, name), value, err_msg=name)


def load_error(path, estimator=efge.NodeEmbedder, **options):
    with pytest.raises(efge.EmbeddingError) as caught:
        estimator.load(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_survives_a_round_trip(tmp_path, name):
    model = MODELS[name].fit(CLUB)
    model.save(tmp_path / "model.npz")
    own, any_ = type(model).load(tmp_path / "model.npz"), efge.NodeEmbedder.load(tmp_path / "model.npz")
    for again in (own, any_):
        assert_same(model, again)
        again.save(tmp_path / "again.npz")
        assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()
    if hasattr(model, "score_pairs"):
        assert own.score_pairs(CLUB.edges).tolist() == model.score_pairs(CLUB.edges).tolist()
        assert own.recommend(3, exclude=CLUB) == model.recommend(3, exclude=CLUB)
    # A loaded estimator can be fitted like any other.
    if own.seed is not None:
        assert own.fit(CLUB).embedding_ == model.embedding_


def test_an_updated_model_keeps_how_far_nodes_moved_until_it_is_fitted_again(tmp_path):
    model = efge.EFGE(dim=4, **QUICK).fit(CLUB)
    model.partial_fit([*CLUB.edges, ("new", 33), (0, 20)])
    model.save(tmp_path / "model.npz")
    again = efge.EFGE.load(tmp_path / "model.npz")
    assert again.drift_.names.tolist() == model.drift_.names.tolist()
    np.testing.assert_array_equal(again.drift_.distances, model.drift_.distances)
    assert again.drift_.unexplained == model.drift_.unexplained
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()
    assert not hasattr(again.fit(CLUB), "drift_")


def test_every_model_of_the_command_line_can_be_loaded():
    assert {estimator for estimator, _ in options.MODELS.values()} == set(_ESTIMATORS)
    assert {type(model).__name__ for model in MODELS.values()} == set(_ESTIMATORS)


def test_the_direction_of_scores_survives(tmp_path):
    model = efge.EFGE(dim=4, follow_directions=True, **QUICK).fit(nx.cycle_graph(5, create_using=nx.DiGraph))
    model.save(tmp_path / "model.npz")
    again = efge.EFGE.load(tmp_path / "model.npz")
    assert again.directed_
    assert again.score_pairs([(0, 1), (1, 0)]).tolist() == model.score_pairs([(0, 1), (1, 0)]).tolist()


@given(names=st.lists(TEXTS | INTEGERS | st.tuples(TEXTS, INTEGERS), min_size=2, max_size=5, unique=True))
def test_names_of_every_kind_survive(tmp_path, names):
    model = efge.HOPE(dim=1)
    model.embedding_ = efge.Embedding(np.ones((len(names), 1)), names)
    model.save(tmp_path / "model.npz")
    assert repr(list(efge.HOPE.load(tmp_path / "model.npz").embedding_)) == repr(list(model.embedding_))


def test_the_file_is_an_archive_of_arrays_and_json(tmp_path):
    model = efge.EFGE(efge.Normal(0.5), dim=4, **QUICK).fit(CLUB)
    model.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as arrays:
        assert arrays["format"].item() == b"efge model 1"
        np.testing.assert_array_equal(arrays["vectors"], model.embedding_.vectors)
        np.testing.assert_array_equal(arrays["centers"], model.center_embedding_.vectors)
        np.testing.assert_array_equal(arrays["contexts"], model.context_embedding_.vectors)
        assert arrays["visits"].tolist() == model.visits_.tolist()
        header = json.loads(arrays["model"].tobytes())
    assert header["efge"] == efge.__version__
    assert header["estimator"] == "EFGE"
    assert header["parameters"]["family"] == {"family": "normal", "parameters": {"sigma": 0.5}}
    values = {
        "seed_": 1,
        "walks_per_node_": 3.0,
        "window_": 2,
        "converged_": False,
        "directed_": False,
        "n_updates_": 0,
    }
    assert header["values"] == values
    assert header["diagnostics"] == asdict(model.diagnostics_)
    assert header["history"] == model.history_


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "model.npz"
    efge.HOPE(dim=2, seed=1).fit(CLUB).save(path)
    before = path.read_bytes()
    odd = efge.HOPE(dim=2, seed=1).fit([(frozenset("a"), frozenset("b"))])
    with pytest.raises(efge.EmbeddingError, match=r"model.npz: npz files keep names that are numbers, text, or tuples"):
        odd.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.npz"]
    with pytest.raises(efge.EmbeddingError, match=r"npz files cannot be compressed as a whole; leave out \.gz"):
        odd.save(tmp_path / "model.npz.gz")
    with pytest.raises(ValueError, match="this HOPE is not fitted yet"):
        efge.HOPE().save(path)


def test_a_model_of_another_class_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    efge.HOPE(dim=2, seed=1).fit(CLUB).save(path)
    assert load_error(path, efge.EFGE) == "this is a model of HOPE, not of EFGE; read it with HOPE.load"
    Tuned(seed=1).fit(CLUB).save(path)
    assert "call the load method of your own class Tuned" in load_error(path)
    assert Tuned.load(path).embedding_ == Tuned(seed=1).fit(CLUB).embedding_


def test_a_family_of_the_users_own_is_passed_to_load(tmp_path):
    path = tmp_path / "model.npz"
    model = efge.EFGE(Binomial(3), dim=4, **QUICK).fit(CLUB)
    model.save(path)
    message = "a file cannot contain your own family, Binomial(trials=3); pass it as family= (--family)"
    assert load_error(path, efge.EFGE) == message
    wrong = "this is a model of the family Binomial(trials=3); got family=Binomial(trials=2)"
    assert load_error(path, efge.EFGE, family=Binomial(2)) == wrong
    again = efge.EFGE.load(path, family=Binomial(3))
    assert_same(model, again)
    assert again.score_pairs(CLUB.edges).tolist() == model.score_pairs(CLUB.edges).tolist()


def test_a_family_that_does_not_belong_to_the_model_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    efge.EFGE(efge.Normal(0.5), dim=4, **QUICK).fit(CLUB).save(path)
    assert efge.EFGE.load(path, family=efge.Normal(0.5)).family == efge.Normal(0.5)
    message = "this is a model of the family Normal(sigma=0.5); got family=Normal(sigma=1.0)"
    assert load_error(path, family=efge.Normal()) == message
    efge.HOPE(dim=2, seed=1).fit(CLUB).save(path)
    assert load_error(path, family=efge.Normal()) == "this is a model without a family; got family=Normal(sigma=1.0)"


def test_a_built_in_family_with_other_bounds_is_the_users_own():
    family = efge.Poisson()
    family.bounds = (-4.0, 2.0)
    encoded = encode_parameters({"family": family})
    assert encoded == {"family": {"own family": "Poisson(bounds=(-4.0, 2.0))"}}
    assert decode_parameters(encoded, family) == {"family": family}


@pytest.mark.parametrize(
    ("walk", "restored"),
    [
        ("uniform", "uniform"),
        (efge.UniformWalk(), efge.UniformWalk()),
        (efge.Node2VecWalk(np.float64(0.5), 2), efge.Node2VecWalk(0.5, 2)),
        (efge.CorpusWalk("walks.txt"), efge.CorpusWalk("walks.txt")),
        (efge.CorpusWalk([["a", "b"]]), efge.CorpusWalk(())),
    ],
)
def test_walks_are_parameters_that_survive_except_those_in_memory(walk, restored):
    encoded = json.loads(json.dumps(encode_parameters({"walk": walk, "dim": np.int64(3)})))
    assert decode_parameters(encoded, None) == {"walk": restored, "dim": 3}


def test_parameters_of_other_types_are_refused():
    with pytest.raises(efge.EmbeddingError, match="a file keeps parameters that are numbers, text, families or walks"):
        encode_parameters({"dim": [3]})
    with pytest.raises(efge.EmbeddingError, match="a file keeps walk strategies that are uniform, weighted, node2vec"):
        encode_parameters({"walk": [3]})


HEADER = {
    "efge": "0.1.0",
    "estimator": "EFGE",
    "parameters": {"dim": 2},
    "values": {"seed_": 1, "directed_": False},
    "history": {"pairs": [0, 10], "log_likelihood": [-1.5, -1.0]},
}
TABLE = np.ones((2, 2), np.float32)
ENTRIES = {"format": np.array(b"efge model 1"), "names": np.arange(2), "vectors": TABLE, "contexts": TABLE}


def write_model(path, header=HEADER, **entries):
    """Write a file whose header or entries are changed; an entry that is None is left out."""
    arrays = ENTRIES | {"visits": np.array([3, 4])} | entries
    names = [name for name, array in arrays.items() if array is not None and name not in ("format", "model")]
    text = header if isinstance(header, bytes) else json.dumps({"entries": names} | header).encode()
    arrays = {"model": np.frombuffer(text, np.uint8)} | arrays
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            if array is None:
                continue
            data = io.BytesIO()
            np.save(data, array, allow_pickle=True)
            archive.writestr(f"{name}.npy", array if isinstance(array, bytes) else data.getvalue())
    return path


def npy_header(descr, shape):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"format": np.array(b"efge model 2")}, "has the entry 'format', b'efge model 1'; got b'efge model 2'"),
        ({"format": np.array(b"efge embedding 1")}, "got b'efge embedding 1'"),
        ({"format": None}, "got None"),
        ({"model": None}, "There is no item named 'model.npy'"),
        ({"vectors": None}, "There is no item named 'vectors.npy'"),
        ({"contexts": None}, "a model of EFGE has contexts and directed_; context_embedding_ is missing"),
        ({"contexts": np.ones((2, 3), np.float32)}, "contexts have the shape of vectors, (2, 2); got (2, 3)"),
        ({"contexts": np.full((2, 2), np.nan, np.float32)}, "a vector must be finite in 32 bits; got nan"),
        ({"vectors": np.ones((2, 2))}, "entry 'vectors': the array must have type <f4"),
        ({"vectors": npy_header("<f4", (10**12, 10**6)) + b"\0" * 16}, "cannot reshape"),
        ({"vectors": npy_header("<f4", (0, 10**11))}, "a vector has at most 10,000,000 values"),
        ({"vectors": np.array([[object()]])}, "got |O"),
        ({"visits": np.array([3])}, "entry 'visits': each of 2 nodes has a number of visits, 0 or above"),
        ({"visits": np.array([3, -4])}, "entry 'visits': each of 2 nodes has a number of visits, 0 or above"),
        ({"visits": np.array([3.0, 4.0])}, "entry 'visits': the array must have type <i8"),
        ({"drift_rows": np.array([2]), "drift": np.zeros(1)}, "rows of nodes, and a distance from 0 to 2 for each"),
        ({"drift_rows": np.array([0]), "drift": np.full(1, np.nan)}, "and a distance from 0 to 2 for each"),
        ({"drift_rows": np.array([0, 1]), "drift": np.zeros(1)}, "and a distance from 0 to 2 for each"),
        ({"drift": np.zeros(1)}, "There is no item named 'drift_rows.npy'"),
        ({"names": np.array([4, 4])}, "rows 0 and 1 are both named 4"),
        ({"names": np.arange(3)}, "each of 2 vectors needs a name; got 3 names"),
    ],
)
def test_malformed_entries_are_refused(tmp_path, entries, message):
    assert efge.EFGE.load(write_model(tmp_path / "model.npz")).visits_.tolist() == [3, 4]
    assert message in load_error(write_model(tmp_path / "model.npz", **entries))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": "Path"}, "this is a model of another class; call the load method of your own class Path"),
        ({"estimator": "NodeEmbedder", "parameters": {}}, "this is a model of another class"),
        (
            {"estimator": ["EFGE"]},
            "a model has efge, estimator, parameters, values, entries; estimator is missing or invalid",
        ),
        ({"efge": None}, "efge is missing or invalid"),
        ({"parameters": {"width": 2}}, "EFGE has no parameter 'width'; it has family, dim"),
        ({"parameters": {"dim": [2]}}, "a parameter is a number or text; got dim: list"),
        ({"parameters": {"dim": {"family": "normal", "parameters": {}}}}, "a parameter is a number or text; got dim"),
        ({"parameters": {"family": "cauchy"}}, "no family 'cauchy'; known: bernoulli"),
        ({"parameters": {"family": 3}}, "no family 3"),
        ({"parameters": {"family": {"family": "cauchy", "parameters": {}}}}, "a family is one of bernoulli, poisson"),
        ({"parameters": {"family": {"family": ["normal"], "parameters": {}}}}, "not a readable model file"),
        ({"parameters": {"family": {"family": "normal", "parameters": {"sigma": "1"}}}}, "its parameters are numbers"),
        ({"parameters": {"family": {"family": "normal", "parameters": {"mu": 1}}}}, "unexpected keyword argument 'mu'"),
        ({"parameters": {"family": {"family": "normal", "parameters": {"sigma": 0.0}}}}, "Normal(sigma=0.0) gives no"),
        ({"parameters": {"family": {"family": "normal", "parameters": {"sigma": 1e-300}}}}, "gives no finite probab"),
        ({"parameters": {"family": {"family": "normal", "parameters": {"sigma": 10**400}}}}, "gives no finite probab"),
        ({"parameters": {"family": {"own family": 3}}}, "a file cannot contain your own family, 3"),
        ({"parameters": {"walk": {"walk": "levy", "parameters": {}}}}, "a walk is one of uniform, weighted, node2vec"),
        ({"parameters": {"walk": {"corpus": 3}}}, "a walk is one of uniform, weighted, node2vec"),
        ({"values": {"seed_": 1}}, "a model of EFGE has contexts and directed_; directed_ is missing"),
        ({"values": {"seed_": "1", "directed_": False}}, "have their types; got 'seed_': '1'"),
        ({"values": {"__class__": 1, "directed_": False}}, "have their types; got '__class__': 1"),
        ({"values": {"fit": 1, "directed_": False}}, "have their types; got 'fit': 1"),
        ({"history": []}, "the history of a model has lists of numbers by name"),
        ({"history": {"pairs": ["0"]}}, "the history of a model has lists of numbers by name"),
        ({"history": {"first": {"second": {"pairs": [0]}}}}, "the history of a model has lists of numbers by name"),
    ],
)
def test_malformed_headers_are_refused(tmp_path, change, message):
    path = write_model(tmp_path / "model.npz", HEADER | change)
    assert message in load_error(path)


@pytest.mark.parametrize("header", [b"", b"[]", b"{", b"\xff", b"[" * 100_000], ids=repr)
def test_headers_that_are_no_object_are_refused(tmp_path, header):
    load_error(write_model(tmp_path / "model.npz", header))


@pytest.mark.parametrize("entry", [b"centers.npy", b"visits.npy", b"filter_map.npy", b"neighborhoods.npy"])
def test_an_entry_whose_name_is_damaged_does_not_count_as_left_out(tmp_path, entry):
    path = tmp_path / "model.npz"
    efge.EFGE(dim=4, **QUICK).fit(CLUB).save(path)
    data = path.read_bytes()
    place = data.rindex(entry)
    path.write_bytes(data[:place] + b"X" + data[place + 1 :])
    assert "the entries are not those that were written" in load_error(path)


def test_truncated_and_damaged_files_are_refused(tmp_path):
    path = tmp_path / "model.npz"
    efge.EFGE(dim=4, **QUICK).fit(CLUB).save(path)
    data = path.read_bytes()
    for size in (0, 10, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        load_error(path)
    for name in (b"vectors.npy", b"contexts.npy", b"visits.npy", b"model.npy"):
        # A byte in the content of each entry, far behind its header.
        position = data.index(name) + 250
        path.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
        assert "Bad CRC-32" in load_error(path)
    assert load_error(tmp_path / "nowhere.npz") == "no such file"
