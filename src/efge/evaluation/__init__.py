"""What an embedding is worth: node classification and link prediction, without leaks and with deviations.

Examples
--------
>>> from efge.evaluation import node_classification
>>> scores = node_classification([[-2.0], [-1.0], [1.0], [3.0]] * 5, ["a", "a", "b", "b"] * 5, ratios=[0.5], repeats=3)
>>> scores.summary(0.5).mean
1.0
"""

from efge.evaluation.classification import ClassificationScores, node_classification
from efge.evaluation.labels import read_labels
from efge.evaluation.links import LinkScores, link_prediction
from efge.evaluation.splits import LinkSplit, split_links

__all__ = [
    "ClassificationScores",
    "LinkScores",
    "LinkSplit",
    "link_prediction",
    "node_classification",
    "read_labels",
    "split_links",
]
