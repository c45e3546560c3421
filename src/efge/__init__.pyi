# The public names of efge, and the modules that define them.
from .datasets.catalogue import DatasetError as DatasetError
from .datasets.loading import Dataset as Dataset
from .datasets.loading import load_dataset as load_dataset
from .embedding.alignment import Alignment as Alignment
from .embedding.alignment import Drift as Drift
from .embedding.alignment import align as align
from .embedding.alignment import drift as drift
from .embedding.embedding import Embedding as Embedding
from .embedding.index import NeighborIndex as NeighborIndex
from .embedding.propagation import propagate as propagate
from .errors import (
    CheckpointError as CheckpointError,
)
from .errors import (
    ClusterError as ClusterError,
)
from .errors import (
    EmbeddingError as EmbeddingError,
)
from .errors import (
    EvaluationError as EvaluationError,
)
from .errors import (
    GraphError as GraphError,
)
from .errors import (
    QualityWarning as QualityWarning,
)
from .errors import (
    TrainingError as TrainingError,
)
from .evaluation.classification import (
    ClassificationScores as ClassificationScores,
)
from .evaluation.classification import (
    node_classification as node_classification,
)
from .evaluation.classifier import Classifier as Classifier
from .evaluation.communities import Communities as Communities
from .evaluation.communities import communities as communities
from .evaluation.heuristics import link_scores as link_scores
from .evaluation.labels import read_labels as read_labels
from .evaluation.links import LinkScores as LinkScores
from .evaluation.links import link_prediction as link_prediction
from .evaluation.missing_links import missing_links as missing_links
from .evaluation.recommendation import RecommendationScores as RecommendationScores
from .evaluation.recommendation import recommendation as recommendation
from .evaluation.splits import LinkSplit as LinkSplit
from .evaluation.splits import split_links as split_links
from .experiments.benchmark import benchmark as benchmark
from .experiments.standings import BenchmarkScores as BenchmarkScores
from .explore.figure import plot_embedding as plot_embedding
from .explore.page import write_page as write_page
from .explore.report import write_report as write_report
from .families.base import Family as Family
from .families.builtin import (
    Bernoulli as Bernoulli,
)
from .families.builtin import (
    BernoulliPoisson as BernoulliPoisson,
)
from .families.builtin import (
    Geometric as Geometric,
)
from .families.builtin import (
    NegativeBinomial as NegativeBinomial,
)
from .families.builtin import (
    Normal as Normal,
)
from .families.builtin import (
    Poisson as Poisson,
)
from .graph.external import convert_graph as convert_graph
from .graph.graph import Graph as Graph
from .graph.inputs import as_graph as as_graph
from .graph.readers import read_graph as read_graph
from .models.base import NodeEmbedder as NodeEmbedder
from .models.bigclam import BigClam as BigClam
from .models.deepwalk import DeepWalk as DeepWalk
from .models.diagnostics import Diagnostics as Diagnostics
from .models.efge import EFGE as EFGE
from .models.features import NodeFeatures as NodeFeatures
from .models.hope import HOPE as HOPE
from .models.line import LINE as LINE
from .models.memory import Memory as Memory
from .models.memory import estimate_memory as estimate_memory
from .models.netmf import NetMF as NetMF
from .models.node2vec import Node2Vec as Node2Vec
from .models.prone import ProNE as ProNE
from .progress import Progress as Progress
from .training.checkpoints import Checkpoints as Checkpoints
from .tuning.study import Study as Study
from .tuning.tune import tune as tune
from .walks.strategies import (
    CorpusWalk as CorpusWalk,
)
from .walks.strategies import (
    Node2VecWalk as Node2VecWalk,
)
from .walks.strategies import (
    UniformWalk as UniformWalk,
)
from .walks.strategies import (
    WeightedWalk as WeightedWalk,
)
from .walks.walks import Walks as Walks

__all__: list[str]
__version__: str
