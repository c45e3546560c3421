"""
Embed and plot a graph
======================

Zachary's karate club: 34 members and their friendships, before the club split in two. We learn a vector for each
member and draw the vectors in two dimensions. The colors show which side a member chose later. The model never sees
them.
"""

import matplotlib.pyplot as plt
import networkx as nx

import efge

club = nx.karate_club_graph()
sides = nx.get_node_attributes(club, "club")

model = efge.EFGE(dim=16, seed=1).fit(club)
vectors = model.embedding_
print(vectors)

# %%
# ``plot_embedding`` projects the vectors to two dimensions and colors them by label. Pass your own axes to add to the
# plot. Member 0 is the instructor and member 33 the president: the two people that the club split around.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
colors = ["#0072b2" if sides[node] == "Mr. Hi" else "#d55e00" for node in club]
nx.draw_networkx(
    club,
    nx.spring_layout(club, seed=4),
    ax=left,
    node_color=colors,
    node_size=160,
    edge_color="#bbbbbb",
    font_size=7,
    font_color="white",
)
left.set_title("the graph")
left.axis("off")
efge.plot_embedding(vectors, sides, method="pca", axes=right)
right.set_title("the embedding, by its two principal components")
plt.show()

# %%
# The nearest neighbors of a member, by cosine similarity:

for node in (0, 33):
    names = ", ".join(f"{name} ({cosine:.2f})" for name, cosine in vectors.neighbors(node, k=4))
    print(f"nearest to {node}: {names}")
