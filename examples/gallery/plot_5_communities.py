"""
Find communities
================

The characters of *Les Misérables*, connected if they appear in the same chapter. k-means on the vectors finds groups of
characters that belong together.
"""

import matplotlib.pyplot as plt
import networkx as nx
from matplotlib.patheffects import withStroke

import efge

novel = nx.les_miserables_graph()
model = efge.EFGE("poisson", dim=16, seed=1).fit(novel)
groups = efge.communities(model, n_communities=6)
print(groups)

for members in groups:
    print(f"{len(members):3}  {', '.join(members[:6])}{' ...' if len(members) > 6 else ''}")

# %%
# Modularity compares the number of edges inside the groups with what chance would give: 0 means no more than chance.
# Values between 0.3 and 0.7 are typical of networks with clear communities.

modularity = groups.modularity(novel)
print(f"modularity {modularity:.2f}")

# %%
# The network with one color for each group. The vectors do not see the layout, and the layout does not see the vectors.

color = {name: f"C{number}" for number, members in enumerate(groups) for name in members}
places = nx.kamada_kawai_layout(novel, weight=None)
size = [40 + 14 * novel.degree(name) for name in novel]
figure, axes = plt.subplots(figsize=(8, 5.6), layout="constrained")
nx.draw_networkx_edges(novel, places, ax=axes, edge_color="#cccccc", width=0.7)
nx.draw_networkx_nodes(novel, places, ax=axes, node_color=[color[name] for name in novel], node_size=size)
known = ["Valjean", "Javert", "Fantine", "Marius", "Gavroche", "Myriel", "Thenardier", "Champmathieu"]
for name in known:
    text = axes.annotate(name, places[name], xytext=(0, 8), textcoords="offset points", ha="center", fontsize=11)
    text.set_path_effects([withStroke(linewidth=3, foreground="white")])
axes.set_title(f"Six communities, modularity {modularity:.2f}")
axes.axis("off")
plt.show()
