"""
Predict links
=============

Which pairs of nodes are connected? We remove a third of the edges, train on the rest, and see whether a model ranks the
removed edges above pairs that are not connected. Simple heuristics on the same graph show whether the model is worth
its cost.
"""

import matplotlib.pyplot as plt
import networkx as nx

import efge

novel = efge.as_graph(nx.les_miserables_graph(), weighted=False)
print(novel)

# %%
# ``link_prediction`` takes estimators, not vectors: it trains each one again on each reduced graph, so no model sees a
# removed edge.

models = {
    "EFGE": efge.EFGE(dim=16, seed=1),
    "EFGE, Normal": efge.EFGE("normal", dim=16, seed=1),
    "EFGE, Poisson": efge.EFGE("poisson", dim=16, seed=1),
    "DeepWalk": efge.DeepWalk(dim=16, seed=1),
    "HOPE": efge.HOPE(dim=16),
}
scores = efge.link_prediction(novel, models, test_size=0.3, repeats=5, features=["hadamard", "likelihood"])

# %%
# The rows ``likelihood`` are the models' own scores of pairs. On a graph as small and dense as this one, heuristics
# such as the Katz index are as good as the best model: measure before you choose.

figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
scores.plot("auc", axes=axes)
axes.set_title("AUC of removed edges, 5 splits")
plt.show()
