"""Generated graphs with known classes: dense, with hubs, where trainers that share negative samples may fall behind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import efge

Integers = npt.NDArray[np.int64]


class BlockModel(NamedTuple):
    """A degree-corrected stochastic block model.

    Attributes
    ----------
    nodes : int
        Number of nodes.
    degree : float
        Mean degree.
    blocks : int
        Number of blocks, which are the classes.
    mixing : float
        Fraction of the edges whose two ends are drawn without regard to blocks.
    exponent : float
        The propensities of nodes to have edges follow a power law with this exponent; the smaller, the larger the hubs.
    seed : int
        The same seed gives the same graph.
    """

    nodes: int = 4000
    degree: float = 50
    blocks: int = 10
    mixing: float = 0.5
    exponent: float = 2.5
    seed: int = 0

    def generate(self) -> tuple[efge.Graph, Integers]:
        """Return a graph and the block of each node."""
        random = np.random.default_rng(self.seed)
        block = random.permutation(np.arange(self.nodes) % self.blocks)
        propensity = self._propensities(random)
        wanted = round(self.nodes * self.degree / 2)
        codes = np.empty(0, np.int64)
        # Pairs that are drawn twice, and loops, leave edges missing; further draws fill them.
        while len(codes) < wanted:
            codes = np.union1d(codes, self._draw(block, propensity, 2 * (wanted - len(codes)) + 100, random))
        codes = random.permutation(codes)[:wanted]
        edges = np.column_stack([codes // self.nodes, codes % self.nodes])
        return efge.as_graph(edges, nodes=range(self.nodes)), block

    def _propensities(self, random: np.random.Generator) -> npt.NDArray[np.float64]:
        """Return propensities of a power law, none above that of a node that every other is linked with."""
        drawn = (1 - random.random(self.nodes)) ** (-1 / (self.exponent - 1))
        bounded: npt.NDArray[np.float64] = np.minimum(drawn, drawn.mean() * self.nodes / self.degree)
        return bounded

    def _draw(
        self, block: Integers, propensity: npt.NDArray[np.float64], count: int, random: np.random.Generator
    ) -> Integers:
        """Draw pairs, as numbers: first ends by propensity, second ends from the same block or from all nodes."""
        order = np.argsort(block, kind="stable")
        total = np.concatenate([[0.0], np.cumsum(propensity[order])])
        begin = total[np.searchsorted(block[order], np.arange(self.blocks), "left")]
        end = total[np.searchsorted(block[order], np.arange(self.blocks), "right")]

        def nodes_at(place: npt.NDArray[np.float64]) -> Integers:
            return order[np.minimum(np.searchsorted(total, place, "right") - 1, self.nodes - 1)]

        first = nodes_at(random.random(count) * total[-1])
        anywhere = random.random(count) < self.mixing
        low, high = np.where(anywhere, 0.0, begin[block[first]]), np.where(anywhere, total[-1], end[block[first]])
        second = nodes_at(low + random.random(count) * (high - low))
        is_pair = first != second
        low_end, high_end = np.minimum(first, second)[is_pair], np.maximum(first, second)[is_pair]
        return np.unique(low_end * self.nodes + high_end)


# Dense graphs with hubs, by name. Fewer edges within blocks where there are more edges, so that no task is easy.
BLOCK_MODELS = {
    "blocks, 1,000 nodes, degree 50": BlockModel(1000, degree=50, blocks=8, mixing=0.8),
    "blocks, 4,000 nodes, degree 50": BlockModel(4000, degree=50, mixing=0.78),
    "blocks, 4,000 nodes, degree 100": BlockModel(4000, degree=100, mixing=0.8),
    "blocks, 4,000 nodes, degree 200": BlockModel(4000, degree=200, mixing=0.8),
}
