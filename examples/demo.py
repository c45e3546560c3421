"""Walk Zachary's karate club, a network of 34 friends, and print a few walks."""

import networkx as nx

import efge

graph = efge.as_graph(nx.karate_club_graph())
print(graph)
print(f"{graph.n_components} component, fingerprint {graph.fingerprint()[:16]}")

for strategy in (efge.UniformWalk(), efge.WeightedWalk(), efge.Node2VecWalk(p=0.5, q=2)):
    walks = efge.Walks(graph, strategy, walks_per_node=10, walk_length=10, seed=1)
    print(f"\n{len(walks)} walks by {strategy}; the first three:")
    for _, walk in zip(range(3), walks, strict=False):
        print("  " + " ".join(map(str, walk)))
