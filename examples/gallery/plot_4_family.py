"""
Write your own family
=====================

A family says how likely an observation is, given the score of two nodes (the inner product of their vectors). Training
needs only its gradient. Here we write a family that is gentler than Poisson on large scores, and train with it.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import efge


class SoftPoisson(efge.Family):
    """A count whose rate is log(1 + exp(s)): it grows linearly with the score, not exponentially."""

    domain = "counts"
    bounds = (-12.0, 16.0)

    def log_partition(self, eta):
        return np.exp(eta)

    def mean(self, eta):
        return np.exp(eta)

    def link(self, s):
        return np.log(np.logaddexp(0, s))

    def link_derivative(self, s):
        return 1 / ((1 + np.exp(-s)) * np.logaddexp(0, s))


# %%
# ``fit`` first checks that the gradient is the derivative of the log-probability, and raises an error if not. The class
# trains as fast as the built-in families, because the gradient is tabulated before training starts.

club = nx.karate_club_graph()
model = efge.EFGE(SoftPoisson(), dim=16, seed=1).fit(club)
print(model, model.embedding_, sep="\n")

# %%
# The gradient decides how training changes a score: up where it is positive, down where it is negative. As the score
# grows, Poisson's gradient falls without bound, while ours stays above -1. For x = 0, ours equals Bernoulli's.

scores = np.linspace(-3, 3, 200)
figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for axes, x in zip(panels, (1, 0), strict=True):
    for family in (efge.Bernoulli(), efge.Poisson(), SoftPoisson()):
        axes.plot(scores, family.gradient(x, scores), label=type(family).__name__)
    axes.axhline(0, color="#999999", linewidth=0.8)
    axes.set(title=f"a pair with x = {x}", xlabel="score", ylim=(-4, 2))
panels[0].set_ylabel("gradient of the log-probability")
panels[0].legend(frameon=False)
plt.show()
