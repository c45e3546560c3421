"""
Choose a family
===============

Which distribution suits a graph? Train with several, evaluate each on the same splits, and compare. One line changes
between the models.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

import efge

digits = load_digits(n_class=6)
similar = kneighbors_graph(digits.data, 10)
graph = efge.as_graph(similar.maximum(similar.T))
labels = dict(enumerate(digits.target.tolist()))
ratios = [0.01, 0.02, 0.05, 0.1, 0.2]

# %%
# The splits depend on the seed and on the number of labelled nodes, not on the vectors, so every family gets the same
# ones.

figure, axes = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
for family in ("bernoulli", "poisson", "normal", "negative-binomial"):
    vectors = efge.EFGE(family, dim=32, walks_per_node=40, seed=1).fit(graph).embedding_
    scores = efge.node_classification(vectors, labels, ratios=ratios, repeats=5)
    means = [scores.summary(ratio).mean for ratio in ratios]
    deviations = [scores.summary(ratio).sd for ratio in ratios]
    axes.errorbar(ratios, means, deviations, label=family, marker="o", capsize=3)
    print(f"{family:18}", " ".join(f"{mean:.3f}" for mean in means))
axes.set(
    xscale="log", xlabel="fraction of nodes with a label", ylabel="Micro-F1", title="Four families on the same splits"
)
axes.legend(frameon=False)
plt.show()

# %%
# The error bars are standard deviations over splits. Where they overlap, the choice hardly matters. Choose on one seed
# of splits and report the score on another.
#
# Families do not learn equally fast. With 10 walks from each node instead of 40, the scores of the Normal family fall
# far behind on this graph, while those of Poisson and Bernoulli do not.
