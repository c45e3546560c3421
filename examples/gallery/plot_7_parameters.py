"""
Study parameters
================

How do the size of the vectors and of the window affect the result? A small grid, with the score of node classification
in each cell. ``sklearn.model_selection.ParameterGrid`` lists the combinations and ``set_params`` applies them, because
every model is a scikit-learn estimator.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import ParameterGrid
from sklearn.neighbors import kneighbors_graph

import efge

digits = load_digits(n_class=6)
similar = kneighbors_graph(digits.data, 10)
graph = efge.as_graph(similar.maximum(similar.T))
labels = dict(enumerate(digits.target.tolist()))

dims, windows = [4, 8, 16, 32], [2, 5, 10]
model = efge.EFGE("poisson", walks_per_node=20, seed=1)
found = np.zeros((len(dims), len(windows)))
for setting in ParameterGrid({"dim": dims, "window": windows}):
    vectors = model.set_params(**setting).fit(graph).embedding_
    scores = efge.node_classification(vectors, labels, ratios=[0.05], repeats=3)
    found[dims.index(setting["dim"]), windows.index(setting["window"])] = scores.summary(0.05).mean

# %%
# Small vectors need a wide window. With 32 dimensions, the window hardly matters on this graph.

figure, axes = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
image = axes.imshow(found, cmap="viridis", origin="lower")
axes.set(xticks=range(len(windows)), xticklabels=windows, yticks=range(len(dims)), yticklabels=dims)
axes.set(xlabel="window", ylabel="dimensions", title="Micro-F1 with 5 % of the labels")
for (row, column), value in np.ndenumerate(found):
    axes.text(column, row, f"{value:.3f}", ha="center", va="center", color="white" if value < found.mean() else "black")
figure.colorbar(image, shrink=0.85)
plt.show()
