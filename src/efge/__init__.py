"""Exponential family graph embeddings: any graph in, vectors for its nodes out, under their own names.

Examples
--------
>>> import efge
>>> graph = efge.as_graph([("a", "b"), ("b", "c")])
>>> graph
Graph(3 nodes, 2 edges, undirected, unweighted, 0 isolated)
>>> model = efge.EFGE(dim=16, seed=0).fit(graph)
>>> model.embedding_["a"].shape
(16,)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from efge.baselines.bigclam import BigClam
    from efge.baselines.deepwalk import DeepWalk
    from efge.baselines.hope import HOPE
    from efge.baselines.line import LINE
    from efge.baselines.netmf import NetMF
    from efge.baselines.node2vec import Node2Vec
    from efge.checkpoints import Checkpoints
    from efge.converting import convert_graph
    from efge.datasets.catalogue import DatasetError
    from efge.datasets.loading import Dataset, load_dataset
    from efge.embedding import Embedding
    from efge.errors import CheckpointError, ClusterError, EmbeddingError, EvaluationError, GraphError, TrainingError
    from efge.evaluation.classification import ClassificationScores, node_classification
    from efge.evaluation.labels import read_labels
    from efge.evaluation.links import LinkScores, link_prediction
    from efge.evaluation.splits import LinkSplit, split_links
    from efge.explore.figure import plot_embedding
    from efge.explore.page import write_page
    from efge.families import Bernoulli, BernoulliPoisson, Family, Geometric, NegativeBinomial, Normal, Poisson
    from efge.graph import Graph
    from efge.grouping import Communities, communities
    from efge.heuristics import link_scores
    from efge.inputs import as_graph
    from efge.memory import Memory, estimate_memory
    from efge.model import EFGE
    from efge.readers import read_graph
    from efge.strategies import CorpusWalk, Node2VecWalk, UniformWalk, WeightedWalk
    from efge.training import Progress
    from efge.walks import Walks

# Where each public name lives; a module is imported when one of its names is first used, so that `import efge` and
# `efge --help` answer at once.
_HOMES = {
    "Bernoulli": "families",
    "BernoulliPoisson": "families",
    "BigClam": "baselines.bigclam",
    "CheckpointError": "errors",
    "Checkpoints": "checkpoints",
    "ClassificationScores": "evaluation.classification",
    "ClusterError": "errors",
    "Communities": "grouping",
    "CorpusWalk": "strategies",
    "Dataset": "datasets.loading",
    "DatasetError": "datasets.catalogue",
    "DeepWalk": "baselines.deepwalk",
    "EFGE": "model",
    "Embedding": "embedding",
    "EmbeddingError": "errors",
    "EvaluationError": "errors",
    "Family": "families",
    "Geometric": "families",
    "Graph": "graph",
    "GraphError": "errors",
    "HOPE": "baselines.hope",
    "LINE": "baselines.line",
    "LinkScores": "evaluation.links",
    "LinkSplit": "evaluation.splits",
    "Memory": "memory",
    "NegativeBinomial": "families",
    "NetMF": "baselines.netmf",
    "Node2Vec": "baselines.node2vec",
    "Node2VecWalk": "strategies",
    "Normal": "families",
    "Poisson": "families",
    "Progress": "training",
    "TrainingError": "errors",
    "UniformWalk": "strategies",
    "Walks": "walks",
    "WeightedWalk": "strategies",
    "as_graph": "inputs",
    "communities": "grouping",
    "convert_graph": "converting",
    "estimate_memory": "memory",
    "link_prediction": "evaluation.links",
    "link_scores": "heuristics",
    "load_dataset": "datasets.loading",
    "node_classification": "evaluation.classification",
    "plot_embedding": "explore.figure",
    "read_graph": "readers",
    "read_labels": "evaluation.labels",
    "split_links": "evaluation.splits",
    "write_page": "explore.page",
}

__all__ = [
    "EFGE",
    "HOPE",
    "LINE",
    "Bernoulli",
    "BernoulliPoisson",
    "BigClam",
    "CheckpointError",
    "Checkpoints",
    "ClassificationScores",
    "ClusterError",
    "Communities",
    "CorpusWalk",
    "Dataset",
    "DatasetError",
    "DeepWalk",
    "Embedding",
    "EmbeddingError",
    "EvaluationError",
    "Family",
    "Geometric",
    "Graph",
    "GraphError",
    "LinkScores",
    "LinkSplit",
    "Memory",
    "NegativeBinomial",
    "NetMF",
    "Node2Vec",
    "Node2VecWalk",
    "Normal",
    "Poisson",
    "Progress",
    "TrainingError",
    "UniformWalk",
    "Walks",
    "WeightedWalk",
    "__version__",
    "as_graph",
    "communities",
    "convert_graph",
    "estimate_memory",
    "link_prediction",
    "link_scores",
    "load_dataset",
    "node_classification",
    "plot_embedding",
    "read_graph",
    "read_labels",
    "split_links",
    "write_page",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'efge' has no attribute {name!r}")
    return getattr(import_module(f"efge.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
