"""Node2Vec is EFGE with the Bernoulli family."""

from __future__ import annotations

import networkx as nx
import numpy as np

import efge


def test_node2vec_is_efge_with_the_bernoulli_family():
    club = nx.karate_club_graph()
    parameters = {"dim": 8, "p": 0.5, "q": 2.0, "walks_per_node": 3, "seed": 1}
    np.testing.assert_array_equal(
        efge.Node2Vec(**parameters).fit(club).embedding_,
        efge.EFGE.paper("bernoulli", **parameters).fit(club).embedding_,
    )
