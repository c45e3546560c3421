"""Tensors and graphs of PyTorch Geometric and DGL, as stand-ins with the same attributes."""

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

    def __init__(self, counts, edges, weights=None):
        self.counts, self.ntypes, self.canonical_etypes = counts, list(counts), list(edges)
        self.edges = type(
            "Edges",
            (),
            {
                "__call__": lambda _, etype: tuple(map(Tensor, edges[etype])),
                "__getitem__": lambda _, etype: SimpleNamespace(
                    data={} if weights is None else {"weight": Tensor(weights)}
                ),
            },
        )()

    def num_nodes(self, kind):
        return self.counts[kind]


DGLGraph.__module__ = "dgl.heterograph"


@pytest.mark.parametrize("layout", ["torch.sparse_coo", "torch.strided"])
def test_a_square_tensor_is_a_matrix(layout):
    graph = efge.as_graph(Tensor([[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 3], [0, 0, 3, 0]], layout))
    assert (graph.n_edges, graph.weights.max()) == (3, 3)


def test_two_rows_of_integers_are_an_edge_index():
    graph = efge.as_graph(Tensor(PATH))
    assert (graph.n_nodes, graph.n_edges, graph.directed) == (4, 3, False)
    assert efge.as_graph(Tensor(np.transpose(PATH))).n_edges == 3


@pytest.mark.parametrize("values", [[[0, 1], [1, 2]], [[0, 1, 2], [1, 2, 3]]])
def test_an_ambiguous_tensor_is_refused(values):
    with pytest.raises(efge.GraphError, match="may be an edge_index or"):
        efge.as_graph(Tensor(values))


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
    with pytest.raises(efge.GraphError, match="no type of edge has weights 'stars'"):
        efge.as_graph(HeteroData(), weight="stars")


def test_graphs_of_dgl_are_read():
    graph = efge.as_graph(DGLGraph({"_N": 5}, {("_N", "_E", "_N"): PATH}))
    assert (graph.n_nodes, graph.n_edges, graph.directed) == (5, 3, False)
    weighted = efge.as_graph(DGLGraph({"_N": 4}, {("_N", "_E", "_N"): PATH}, [1, 1, 2, 2, 3, 3]))
    assert weighted.weights.sum() == 12
    typed = efge.as_graph(DGLGraph({"user": 2, "item": 2}, {("user", "buys", "item"): [[0, 1], [1, 1]]}))
    assert typed.neighbors("item:1") == ["user:0", "user:1"]
