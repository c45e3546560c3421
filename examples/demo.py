"""Embed Zachary's karate club, a network of 34 friends: nearest neighbors, scores and an interactive page."""

from pathlib import Path
from time import perf_counter

import networkx as nx

import efge
from efge.explore import write_page

network = nx.karate_club_graph()
clubs = nx.get_node_attributes(network, "club")
graph = efge.as_graph(network)
print(graph)

start = perf_counter()
model = efge.EFGE(dim=32, seed=1).fit(graph)
vectors = model.embedding_
print(f"{vectors} in {perf_counter() - start:.1f} s (the first run on a machine compiles)")
first, *_, last = model.history_["log_likelihood"]
print(f"The log-likelihood of held-out pairs rose from {first:.2f} to {last:.2f}.")

for node, role in ((0, "the instructor"), (33, "the president")):
    print(f"\nNearest to node {node}, {role}:")
    for name, cosine in vectors.neighbors(node, k=5):
        print(f"  {name:>3}  cosine {cosine:5.2f}  {clubs[name]}")

print("\nPrediction of each member's club from the clubs of some members:")
print(efge.node_classification(vectors, clubs, ratios=[0.2, 0.5], repeats=20))

print("\nPrediction of removed friendships, compared with two heuristics:")
options = {"test_size": 0.2, "repeats": 3, "features": ["cosine"], "heuristics": ["adamic-adar", "katz"], "hits": 5}
print(efge.link_prediction(graph, efge.EFGE(dim=32, seed=1), **options))

folder = Path("demo")
folder.mkdir(exist_ok=True)
vectors.save(folder / "club.npz")
write_page(vectors, folder / "club.html", graph=graph, labels=clubs, title="Zachary's karate club")
print(f"\nVectors are in {folder / 'club.npz'}; open {folder / 'club.html'} in a browser to explore the map.")
