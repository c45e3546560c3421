"""The methods that EFGE is compared with, as estimators with the same contract.

Examples
--------
>>> from efge.baselines import DeepWalk
>>> DeepWalk(dim=8, seed=0).fit([("a", "b"), ("b", "c")]).embedding_
Embedding(3 nodes, 8 dimensions)
"""

from efge.baselines.bigclam import BigClam
from efge.baselines.deepwalk import DeepWalk
from efge.baselines.hope import HOPE
from efge.baselines.line import LINE
from efge.baselines.netmf import NetMF
from efge.baselines.node2vec import Node2Vec

__all__ = ["HOPE", "LINE", "BigClam", "DeepWalk", "NetMF", "Node2Vec"]
