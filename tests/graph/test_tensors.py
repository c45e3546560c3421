"""Tensors and graphs of PyTorch Geometric and DGL: stand-ins with the same attributes, and real ones if installed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import efge


class Tensor:
    """A dense tensor; the sparse ones add `layout` and their entries."""

    def __init__(self, values, layout="torch.strided"):
        self.values_, self.layout = np.asarray(values), layout
        self.shape = self.values_.shape

    def detach(self):
        return self

    cpu = to_sparse_coo = coalesce = detach

    def indices(self):
        return Tensor(np.vstack(np.nonzero(self.values_)))

    def values(self):
        return Tensor(self.values_[np.nonzero(self.values_)])

    def __array__(self, dtype=None, copy=None):
        return self.values_

    def __iter__(self):
        return iter(map(Tensor, self.values_))


Tensor.__module__ = "torch"
PATH = [[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]


class HeteroData:
    """Users who rated items; attributes that are not there raise a NotImplementedError without a text."""

    node_types, edge_types = ["user", "item"], [("user", "rates", "item")]

    def __init__(self, **attributes):
        self.rates = SimpleNamespace(edge_index=Tensor([[0, 1, 1], [0, 0, 2]]), **attributes)

    def __getitem__(self, key):
        return self.rates if isinstance(key, tuple) else SimpleNamespace(num_nodes={"user": 3, "item": 3}[key])

    def __getattr__(self, name):
        raise NotImplementedError


class DGLGraph:
    """A graph of DGL; `edges` is both a function and a mapping."""

    def __init__(self, counts, edges, weights=None, key="weight"):
        self.counts, self.ntypes, self.canonical_etypes = counts, list(counts), list(edges)
        self.edges = type(
            "Edges",
            (),
            {
                "__call__": lambda _, etype: tuple(map(Tensor, edges[etype])),
                "__getitem__": lambda _, etype: SimpleNamespace(data={} if weights is None else {key: Tensor(weights)}),
            },
        )()

    def num_nodes(self, kind):
        return self.counts[kind]


DGLGraph.__module__ = "dgl.heterograph"


@pytest.mark.parametrize("layout", ["torch.sparse_coo", "torch.strided"])
def test_a_square_tensor_is_a_matrix(layout):
    graph = efge.as_graph(Tensor([[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 3], [0, 0, 3, 0]], layout))
    assert (graph.n_edges, graph.weights.max()) == (3, 3)


@pytest.mark.parametrize("layout", ["torch.sparse_coo", "torch.strided"])
def test_rows_and_columns_of_a_tensor_may_be_two_kinds(layout):
    ratings = [[5, 0, 0, 1, 0], [0, 3, 0, 0, 0], [0, 0, 4, 0, 2]]
    with pytest.raises(efge.GraphError, match="pass bipartite=True"):
        efge.as_graph(Tensor(ratings, layout))
    graph = efge.as_graph(Tensor(ratings, layout), bipartite=True)
    assert (graph.n_nodes, graph.n_edges, graph.neighbors("row:0")) == (8, 5, ["column:0", "column:3"])
    with pytest.raises(efge.GraphError, match="this graph names its nodes itself, so leave it out"):
        efge.as_graph(Tensor(PATH), bipartite=True)


def test_two_rows_of_integers_are_an_edge_index():
    graph = efge.as_graph(Tensor(PATH))
    assert (graph.n_nodes, graph.n_edges, graph.directed) == (4, 3, False)
    assert efge.as_graph(Tensor(np.transpose(PATH))).n_edges == 3


@pytest.mark.parametrize("values", [[[0, 1], [1, 2]], [[0, 1, 2], [1, 2, 3]]])
def test_an_ambiguous_tensor_is_refused_and_the_advice_works(values):
    with pytest.raises(efge.GraphError, match=r"may be an edge_index or .* pass x.T.tolist\(\) for an edge_index"):
        efge.as_graph(Tensor(values))
    assert efge.as_graph(np.array(values).T.tolist()).n_edges == len(values[0])


def test_a_data_without_edges_is_refused_or_has_a_transposed_matrix():
    with pytest.raises(efge.GraphError, match="has no edges: its edge_index is None"):
        efge.as_graph(SimpleNamespace(edge_index=None, num_nodes=4))


def test_half_precision_is_enough_for_a_matrix():
    assert efge.as_graph(np.array([[0, 2], [2, 0]], np.float16)).weights.tolist() == [2, 2]


def test_an_attribute_of_edges_that_may_be_a_weight_is_pointed_out():
    data = SimpleNamespace(edge_index=Tensor(PATH), num_nodes=4, edge_attr=Tensor(np.ones((6, 1))))
    with pytest.warns(UserWarning, match="'edge_attr' is ignored"):
        efge.as_graph(data)
    assert efge.as_graph(data, weight="edge_attr").is_weighted


def test_nodes_of_several_types_are_named_by_type_and_number():
    graph = efge.as_graph(HeteroData())
    assert (graph.n_nodes, graph.n_edges, graph.directed) == (6, 3, False)
    assert graph.neighbors("user:1") == ["item:0", "item:2"]
    assert efge.as_graph(HeteroData(edge_weight=Tensor([1.0, 2.0, 3.0]))).weights.sum() == 12
    with pytest.raises(efge.GraphError, match="no edge has an attribute 'stars'"):
        efge.as_graph(HeteroData(), weight="stars")


def test_graphs_of_dgl_are_read():
    graph = efge.as_graph(DGLGraph({"_N": 5}, {("_N", "_E", "_N"): PATH}))
    assert (graph.n_nodes, graph.n_edges, graph.directed) == (5, 3, False)
    weighted = efge.as_graph(DGLGraph({"_N": 4}, {("_N", "_E", "_N"): PATH}, [1, 1, 2, 2, 3, 3]))
    assert weighted.weights.sum() == 12
    with pytest.warns(UserWarning, match="the edge attribute 'stars' is ignored"):
        efge.as_graph(DGLGraph({"_N": 4}, {("_N", "_E", "_N"): PATH}, [1, 1, 2, 2, 3, 3], "stars"))
    typed = efge.as_graph(DGLGraph({"user": 2, "item": 2}, {("user", "buys", "item"): [[0, 1], [1, 1]]}))
    assert typed.neighbors("item:1") == ["user:0", "user:1"]


# Real objects ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="these tests need PyTorch, which is not installed")


@pytest.fixture(scope="module")
def geometric():
    return pytest.importorskip("torch_geometric.data", reason="these tests need PyTorch Geometric")


MATRIX = [[0, 2.0, 0, 0], [2.0, 0, 1, 0], [0, 1, 0, 3], [0, 0, 3, 0]]


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_real_tensors_of_every_layout_and_type_are_the_same_matrix(torch):
    dense = torch.tensor(MATRIX)
    expected = efge.as_graph(np.array(MATRIX)).fingerprint()
    variants = [
        dense, dense.to(torch.bfloat16), dense.half(), dense.clone().requires_grad_(), dense.to_sparse_coo(),
        dense.to_sparse_csr(), dense.to_sparse_csc(), dense.half().to_sparse_coo(),
    ]  # fmt: skip
    assert {efge.as_graph(variant).fingerprint() for variant in variants} == {expected}
    with pytest.raises(efge.GraphError, match="this tensor has no values to read"):
        efge.as_graph(torch.empty((4, 4), device="meta"))


def test_single_values_of_real_tensors_are_names_by_value(torch):
    ends = torch.tensor(PATH)
    pairs = [(ends[0, column], ends[1, column]) for column in range(6)]
    assert efge.as_graph(pairs).names.tolist() == [0, 1, 2, 3]
    embedding = efge.Embedding(torch.eye(3, requires_grad=True), names=torch.tensor([5, 6, 7]))
    assert embedding.names.tolist() == [5, 6, 7]
    assert embedding.neighbors(torch.tensor([1.0, 0, 0]), k=1) == [(5, 1.0)]
    assert embedding.nearest(torch.eye(3), k=1)[0].tolist() == [[0], [1], [2]]


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_real_data_of_pytorch_geometric(torch, geometric):
    ends = torch.tensor(PATH)
    assert efge.as_graph(geometric.Data(edge_index=ends)).n_nodes == 4
    assert efge.as_graph(geometric.Data(edge_index=ends, num_nodes=6)).n_isolated == 2
    with pytest.warns(UserWarning, match="'edge_attr' is ignored"):
        efge.as_graph(geometric.Data(edge_index=ends, edge_attr=torch.ones(6, 1)))
    directed = torch.tensor([[0, 2.0], [0, 0]])
    transposed = efge.as_graph(geometric.Data(adj_t=directed.t().to_sparse_csr(), num_nodes=2))
    assert transposed.neighbors(0) == [1]
    with pytest.raises(efge.GraphError, match="its edge_index is None"):
        efge.as_graph(geometric.Data())


def test_real_heterogeneous_data_of_pytorch_geometric(torch, geometric):
    data = geometric.HeteroData()
    data["user"].num_nodes, data["item"].x = 3, torch.randn(4, 2)
    data["user", "rates", "item"].edge_index = torch.tensor([[0, 1, 1], [0, 0, 2]])
    graph = efge.as_graph(data)
    assert (graph.n_nodes, graph.n_edges, graph.neighbors("user:1")) == (7, 3, ["item:0", "item:2"])
    data["user", "rates", "item"].edge_attr = torch.tensor([1.0, 2.0, 3.0])
    with pytest.warns(UserWarning, match="'edge_attr' is ignored"):
        efge.as_graph(data)
    assert efge.as_graph(data, weight="edge_attr").weights.max() == 3
