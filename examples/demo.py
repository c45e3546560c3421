"""Embed Zachary's karate club, a network of 34 friends, and print who is near whom."""

from time import perf_counter

import networkx as nx
import numpy as np

import efge

network = nx.karate_club_graph()
clubs = nx.get_node_attributes(network, "club")
graph = efge.as_graph(network)
print(graph)

start = perf_counter()
model = efge.EFGE(family="normal", dim=32, seed=1).fit(graph)
vectors = model.embedding_
print(f"{vectors} in {perf_counter() - start:.1f} s (the first run on a machine compiles)")

print("\nThe likelihood of pairs held apart rose from", end=" ")
print("{:.2f} to {:.2f}.".format(*np.array(model.history_["log_likelihood"])[[0, -1]]))

for node, role in ((0, "the instructor"), (33, "the president")):
    print(f"\nNearest to node {node}, {role}:")
    for name, cosine in vectors.neighbors(node, k=5):
        print(f"  {name:>3}  cosine {cosine:5.2f}  {clubs[name]}")

rows, _ = vectors.nearest(k=3)
sides = np.array([clubs[name] for name in vectors])
print(f"\nOf the three nearest of each node, {np.mean(sides[rows] == sides[:, None]):.0%} joined the same club.")
