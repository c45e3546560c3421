"""Slow twins of the kernels, in plain Python and NumPy: one walk and one draw after the other."""

from __future__ import annotations

import math
import operator
from functools import reduce
from itertools import pairwise, product

import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
MAX_REJECTIONS = 48
CENTERS_PER_POOL = 40


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Stream:
    """The random stream with this number, such as that of a walk."""

    def __init__(self, key: int, number: int) -> None:
        self.state = mix((key + number * GOLDEN) & MASK)

    def bits(self) -> int:
        self.state = (self.state + GOLDEN) & MASK
        return mix(self.state)


def uniform(bits: int) -> float:
    return (bits >> 11) * 2.0**-53


def random_permutation(key: int, n: int) -> list[int]:
    stream, order = Stream(key, 0), [0] * n
    for i in range(n):
        j = (stream.bits() * (i + 1)) >> 64
        order[i] = order[j]
        order[j] = i
    return order


def row(graph, node):
    return slice(int(graph.indptr[node]), int(graph.indptr[node + 1]))


def neighbors(graph, node) -> list[int]:
    return graph.indices[row(graph, node)].tolist()


def edge_weights(graph, node) -> list[float]:
    return [1.0] * int(graph.degrees[node]) if graph.weights is None else graph.weights[row(graph, node)].tolist()


def alias_table(weights):
    """Return probabilities and aliases: small slots are taken from the end and filled up by the last large one."""
    degree = len(weights)
    largest = max(weights, default=0.0)
    total = reduce(operator.add, (weight / largest for weight in weights), 0.0)
    scaled = [weight / largest * degree / total for weight in weights]
    prob, alias = [0xFFFFFFFF] * degree, list(range(degree))
    small = [i for i in range(degree) if scaled[i] < 1.0]
    large = [i for i in range(degree) if scaled[i] >= 1.0]
    while small and large:
        i, j = small.pop(), large[-1]
        prob[i], alias[i] = int(min(scaled[i] * 2.0**32, 2.0**32 - 1)), j
        scaled[j] -= 1.0 - scaled[i]
        if scaled[j] < 1.0:
            small.append(large.pop())
    return prob, alias


def sample_entry(graph, node, bits, weighted):
    """Draw an entry of the node's row."""
    slot = (bits * int(graph.degrees[node])) >> 64
    if weighted:
        prob, alias = alias_table(edge_weights(graph, node))
        if (bits & 0xFFFFFFFF) >= prob[slot]:
            slot = alias[slot]
    return slot


def first_order_walk(graph, start, key, number, length, weighted):
    stream, walk = Stream(key, number), [start]
    while len(walk) < length and graph.degrees[walk[-1]]:
        walk.append(neighbors(graph, walk[-1])[sample_entry(graph, walk[-1], stream.bits(), weighted)])
    return walk


def second_order_walk(graph, start, key, number, length, p, q):
    stream, walk, rejections = Stream(key, number), [start], 0
    largest = max(1.0, 1.0 / q)
    near, far, back = 1.0 / largest, 1.0 / q / largest, 1.0 / p / largest
    extra_back, back = max(back - 1.0, 0.0), min(back, 1.0)
    while len(walk) < length and graph.degrees[walk[-1]]:
        node, previous = walk[-1], walk[-2] if len(walk) > 1 else None
        returns, slot = propose(graph, node, previous, extra_back, stream)
        if back < 1.0 or min(near, far) < 1.0:
            bits = stream.bits()
        target = previous if returns else neighbors(graph, node)[slot]
        accepted = returns or previous is None
        if not accepted:
            chance = back if target == previous else near if target in neighbors(graph, previous) else far
            accepted = chance == 1.0 or uniform(bits) < chance
        if not accepted:
            rejections += 1
            if rejections < MAX_REJECTIONS:
                continue
            target = exact_step(graph, node, previous, (1.0, 1.0 / q, 1.0 / p), uniform(stream.bits()))
        rejections = 0
        walk.append(target)
    return walk


def propose(graph, node, previous, extra_back, stream):
    """Return whether the walk goes back at once, because that outweighs all else, and an entry of the node's row."""
    weighted = graph.weights is not None
    row_nodes, row_weights = neighbors(graph, node), edge_weights(graph, node)
    bits = stream.bits()
    if extra_back == 0:
        return False, sample_entry(graph, node, bits, weighted)
    weight_back = row_weights[row_nodes.index(previous)] if previous in row_nodes else 0.0
    # The kernel knows the sum of a row's weights from NumPy, which adds in an order of its own.
    largest = max(row_weights) if weighted else 1.0
    mass = float(np.add.reduce(np.array(row_weights) / largest)) if weighted else float(len(row_nodes))
    drawn = uniform(bits) * (mass + extra_back * (weight_back / largest))
    slot = sample_entry(graph, node, stream.bits(), True) if weighted else min(int(drawn), len(row_nodes) - 1)
    return drawn >= mass, slot


def exact_step(graph, node, previous, factors, goal):
    """Return the next node at which the cumulative distribution reaches a goal from 0 to 1."""
    weights = second_order_weights(graph, previous, node, factors)
    sums = np.cumsum(list(weights.values()))
    return list(weights)[int(np.searchsorted(sums, goal * sums[-1], side="right"))]


def second_order_weights(graph, previous, node, factors):
    """Weight of each neighbor, in units of the heaviest edge and of the largest factor, so that all stay finite."""
    near, far, back = factors
    targets, weights = neighbors(graph, node), edge_weights(graph, node)
    of_target = [
        back if target == previous else near if target in neighbors(graph, previous) else far for target in targets
    ]
    products = [
        weight / max(weights) * (factor / max(of_target)) for weight, factor in zip(weights, of_target, strict=True)
    ]
    return dict(zip(targets, products, strict=True))


def transition_probabilities(graph, previous, node, *, p=1.0, q=1.0, weighted=True):
    """Exact probabilities of the next node, given the last two."""
    weights = second_order_weights(graph, previous, node, (1.0, 1.0 / q, 1.0 / p))
    if not weighted:
        weights = dict.fromkeys(weights, 1.0)
    total = math.fsum(weights.values())
    return {target: weight / total for target, weight in weights.items()}


def nearest(queries, vectors, k, *, cosine, own=None):
    """Rows and scores of the k best vectors for each query, by sorting all; of equals, the earlier row first."""
    best = []
    for number, query in enumerate(np.asarray(queries, np.float64)):
        scores = []
        for row, vector in enumerate(np.asarray(vectors, np.float64)):
            size = math.sqrt(math.fsum(query**2)) * math.sqrt(math.fsum(vector**2)) if cosine else 1.0
            if own is None or own[number] != row:
                scores.append((-np.float32(math.fsum(query * vector) / size if size else 0.0), row))
        best.append([(row, -score) for score, row in sorted(scores)[:k]])
    return best


def sample_alias(prob, alias, bits: int) -> int:
    slot = (bits * len(prob)) >> 64
    return slot if (bits & 0xFFFFFFFF) < int(prob[slot]) else int(alias[slot])


def context_positions(walk, center, config):
    """Positions of a center's contexts."""
    first = max(0, center - config.window)
    return [p for p in range(first, min(len(walk), center + config.window + 1)) if p != center]


def clipped_gradient(family, observed, score):
    return float(family.gradient(float(observed), min(max(score, family.bounds[0]), family.bounds[1])))


def train_block(walks, centers, contexts, family, noise, config, stream, first_position, tree):
    """Changes of nodes, as centers and as contexts or inner nodes of a tree, by the steps of one block."""
    c = {node: centers[node].copy() for walk in walks for node in walk}
    b = {row: contexts[row].copy() for node in c for row in ([row for row, _ in tree[node]] if tree else [node])}
    pool, at, served, position = [], 0, CENTERS_PER_POOL, first_position
    for walk in walks:
        for p, center in enumerate(walk):
            if served == CENTERS_PER_POOL and not tree:
                pool, served = [sample_alias(*noise, stream.bits()) for _ in range(config.pool_size)], 0
                b |= {node: contexts[node].copy() for node in pool if node not in b}
            served += 1
            rate = config.learning_rate - config.rate_decay * position
            position += 1
            observed = [walk[q] for q in context_positions(walk, p, config)]
            if tree:
                observations = path_observations(observed, tree)
            else:
                observations, at = pair_observations(observed, pool, at, config)
            train_center(c, b, center, observations, family, rate, config.rows_per_step, config.max_observations)
    return {v: c[v] - centers[v] for v in c}, {v: b[v] - contexts[v] for v in b}


def path_observations(contexts, tree):
    """How often the paths to contexts take branch 0 and 1 at each inner node."""
    observations = {}
    for row, branch in (step for context in contexts for step in tree[context]):
        observations.setdefault(row, [0, 0])[branch] += 1
    return observations


def pair_observations(contexts, pool, at, config):
    """How often each context, and each negative, is observed as 0 and as 1; and where in the pool to go on."""
    observations = {}
    for first in range(0, len(contexts), config.group_size):
        group = contexts[first : first + config.group_size]
        for context in group:
            observations.setdefault(context, [0, 0])[1] += 1
        for _ in range(config.negatives):
            negative, at = pool[at], (at + 1) % config.pool_size
            times = sum(context != negative for context in group)
            if times:
                observations.setdefault(negative, [0, 0])[0] += times
    return observations, at


def train_center(c, b, center, observations, family, rate, rows_per_step=32, max_observations=8):
    """Do the step of one center: some rows together, and at most some observations of a row in a pass."""
    most = max(map(sum, observations.values()), default=0)
    rows, passes = list(observations), max(1, math.ceil(most / max_observations))
    for first in range(0, len(rows), rows_per_step):
        together = {row: observations[row] for row in rows[first : first + rows_per_step]}
        sgd_step(c, b, center, together, family, rate, passes)


def sgd_step(c, b, center, observations, family, rate, passes):
    """Move rows by what they observe while the center is held, in some passes; then add to the center what it gains.

    A pass is m observations one after the other, as if gradients were straight lines over so short a distance.
    """
    a = c[center]
    gain = np.zeros_like(a)
    for row, counts in observations.items():
        zeros, ones = (count / passes for count in counts)
        m, others = zeros + ones, max(zeros + ones - 1, 0) / (2 * max(zeros + ones, 1))
        for _ in range(passes):
            gradient, derivative = gradient_and_derivative(family, zeros, ones, a @ b[row])
            g = rate * gradient / (1 - rate * (a @ a) * min(derivative, 0.0) * others)
            limit = m / max(a @ a, 1e-9)
            g = min(max(g, -limit), limit)
            gain += g * b[row] + g * g * others * a
            b[row] = b[row] + g * a
    c[center] = a + gain


def gradient_and_derivative(family, zeros, ones, score):
    """The summed gradient of some observations, and its derivative by differences."""
    low, high = family.bounds
    score = min(max(score, low), high)
    left, right = max(score - 1e-5, low), min(score + 1e-5, high)
    gradient, before, after = (
        zeros * clipped_gradient(family, 0, s) + ones * clipped_gradient(family, 1, s) for s in (score, left, right)
    )
    return gradient, 0.0 if score == high else (after - before) / (right - left)


def train_rounds(work, centers, contexts, family, noise, config, blocks_per_round, tree=None, merge_scale=()):
    """Train rounds of blocks in place; each block of a round starts from the tables that the round before has left.

    The path to a node is a list of (inner node, branch); `merge_scale` is the fraction of its change that a row keeps.
    """
    first_position, blocks = work.first_position, walks_of(work)
    for begin in range(0, len(blocks), blocks_per_round):
        changes = []
        for number, walks in enumerate(blocks[begin : begin + blocks_per_round], begin):
            stream = Stream(int(work.key), int(work.first_block) + number)
            changes.append(train_block(walks, centers, contexts, family, noise, config, stream, first_position, tree))
            first_position += sum(map(len, walks))
        for table, which in ((centers, 0), (contexts, 1)):
            for node in {node for change in changes for node in change[which]}:
                scale = merge_scale[node] if which and len(merge_scale) else 1.0
                total = sum(change[which][node] for change in changes if node in change[which])
                table[node] = np.maximum(table[node] + scale * total, config.floor)


def train_reference(work, centers, contexts, family, noise, config):
    """Train one pair after the other, each with negatives of its own."""
    position = work.first_position
    for number, walks in enumerate(walks_of(work), int(work.first_block)):
        stream = Stream(int(work.key), number)
        for walk in walks:
            for p, center in enumerate(walk):
                rate = config.learning_rate - config.rate_decay * position
                position += 1
                for context in (walk[q] for q in context_positions(walk, p, config)):
                    gain = np.zeros_like(centers[center])
                    drawn = [sample_alias(*noise, stream.bits()) for _ in range(config.negatives)]
                    for row, observed in [(context, 1), *((row, 0) for row in drawn if row != context)]:
                        g = rate * clipped_gradient(family, observed, centers[center] @ contexts[row])
                        gain += g * contexts[row]
                        contexts[row] = np.maximum(contexts[row] + g * centers[center], config.floor)
                    centers[center] = np.maximum(centers[center] + gain, config.floor)


def train_edges(batch, centers, contexts, family, config):
    """Train one edge of a batch after the other, in the order of a single thread."""
    n_cells = len(batch.cells) - 1
    for turn, own in product(range(n_cells), repeat=2):
        other = (turn - own) % n_cells
        pairs = [(own, other)] if not config.one_table else [(own, other), (other, own)][: 1 + (own != other)]
        for pair in pairs if not config.one_table or own <= other else []:
            train_cells(
                *pair, batch, centers, contexts, family, config, config.learning_rate - config.rate_decay * turn
            )


def train_cells(own, other, batch, centers, contexts, family, config, rate):
    """Train the edges from one cell to another; all steps of an edge are those of the vectors before it."""
    n_cells = len(batch.cells) - 1
    number, cell = own * n_cells + other, slice(batch.cells[other], batch.cells[other + 1])
    nodes, noise, stream = batch.nodes[cell], (batch.prob[cell], batch.alias[cell]), Stream(int(batch.key), number)
    for center, context in batch.edges[batch.begins[number] : batch.begins[number + 1]]:
        drawn = [nodes[sample_alias(*noise, stream.bits())] for _ in range(config.negatives)]
        rows = [(context, 1), *((row, 0) for row in drawn if row != context)]
        steps = [rate * clipped_gradient(family, observed, centers[center] @ contexts[row]) for row, observed in rows]
        before = centers[center].copy()
        gain = np.zeros_like(before)
        for (row, _), step in zip(rows, steps, strict=True):
            # A node that observes itself, in one table, moves as a center and as a row.
            step *= 1 + (config.one_table and row == center)
            gain += step * contexts[row]
            contexts[row] += step * before
        centers[center] = before + gain


def walks_of(work):
    """The blocks of some work, as lists of walks."""
    walks = [work.nodes[a:b].tolist() for a, b in zip(work.offsets[:-1], work.offsets[1:], strict=True)]
    return [walks[a:b] for a, b in zip(work.blocks[:-1], work.blocks[1:], strict=True)]


def entries_of(edges, both_ways):
    """Yield the row, the column and the edge of each entry, in the order of the input."""
    for number, (source, target) in enumerate(edges):
        yield source, target, number
        if both_ways and source != target:
            yield target, source, number


def split_entries(edges, both_ways, bounds):
    """The entries of each chunk c: those whose rows are from bounds[c] to bounds[c + 1] - 1."""
    entries = list(entries_of(edges, both_ways))
    return [[entry for entry in entries if low <= entry[0] < high] for low, high in pairwise(bounds)]


def invalid_rows(indptr, indices, weights):
    """Yield the rows that no graph has; of a row with wrong bounds, the neighbors are not looked at."""
    n = len(indptr) - 1
    for row in range(n):
        begin, end = indptr[row], indptr[row + 1]
        bounded = 0 <= begin <= end <= len(indices)
        bounded &= (row > 0 or begin == 0) and (row < n - 1 or end == len(indices))
        columns = list(indices[begin:end]) if bounded else []
        ascending = columns == sorted(set(columns)) and all(0 <= column < n for column in columns)
        positive = all(0 < weight < math.inf for weight in weights[begin:end])
        if not (bounded and ascending and positive):
            yield row


def component_labels(indptr, indices):
    """Number of each node's component, in the order of their first nodes; directions do not matter."""
    n = len(indptr) - 1
    labels = list(range(n))
    for _ in range(n):
        for row in range(n):
            for column in indices[indptr[row] : indptr[row + 1]]:
                labels[row] = labels[column] = min(labels[row], labels[column])
    known = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return [known[label] for label in labels]


def route(walks, own_cells, n_cells, window, group_size, negatives_per_pair, order_key, negatives_key):
    """Records (center's row, pairs of its group, contexts here, negatives here), by cells of centers and contexts.

    Walks are over (cell, row). A group has about `group_size` pairs, and each pair `negatives_per_pair` in each cell.
    """
    contexts_of = {}
    for walk in walks:
        for p, center in enumerate(walk):
            if center[0] in own_cells:
                around = [walk[q] for q in range(max(0, p - window), min(len(walk), p + window + 1)) if q != p]
                contexts_of.setdefault(center, []).extend(around)
    groups = []
    for center, contexts in sorted(contexts_of.items()):
        count = max(1, (len(contexts) + group_size // 2) // group_size) if contexts else 0
        cuts = [len(contexts) * k // count for k in range(count + 1)] if count else []
        groups += [(center, contexts[begin:end]) for begin, end in pairwise(cuts)]
    records = {(own, other): [] for own in own_cells for other in range(n_cells)}
    for number in random_permutation(order_key, len(groups)):
        (own, row), contexts = groups[number]
        stream = Stream(negatives_key, number)
        for other in range(n_cells):
            here = [r for c, r in contexts if c == other]
            negatives = int(len(contexts) * negatives_per_pair[other] + uniform(stream.bits()))
            if here or negatives:
                records[own, other].append((row, len(contexts), here, negatives))
    return records


def train_bucket(records, cells, centers, contexts, family, noise, config, key):
    """Train the tables of two partitions in place: in each diagonal, every cell of centers has another of contexts.

    `records` are by cells, which begin and end at cells[0] of the centers and cells[1] of the contexts.
    """
    n_cells = len(cells[0]) - 1
    for diagonal, own in product(range(n_cells), repeat=2):
        other = (own + diagonal) % n_cells
        first_center, (first, end) = cells[0][own], cells[1][other : other + 2]
        stream, at, served = Stream(key, own * n_cells + other), 0, config.rows_per_pool
        cell_noise = [table[first:end] for table in noise]
        for number, (row, pairs, observed, negatives) in enumerate(records[own, other]):
            if served >= config.rows_per_pool:
                pool, served = [sample_alias(*cell_noise, stream.bits()) for _ in range(config.pool_size)], 0
            served += len(observed) + negatives
            observations, center = {}, first_center + row
            for context in observed:
                observations.setdefault(first + context, [0.0, 0.0])[1] += 1
            for _ in range(negatives):
                negative, at = first + pool[at], (at + 1) % config.pool_size
                counts = observations.setdefault(negative, [0.0, 0.0])
                counts[0] += config.negative_weight * (1 - counts[1] / pairs)
            rate = config.learning_rate - config.rate_decay * (diagonal + number / len(records[own, other]))
            train_center(centers, contexts, center, observations, family, rate)
            centers[center] = np.maximum(centers[center], config.floor)
            contexts[list(observations)] = np.maximum(contexts[list(observations)], config.floor)


def combine_rows(matrix, scales, factors, x, y, sums):
    """Return a scales ((A + I) x) + b y, of a dense matrix A, and sums with c times that."""
    a, b, c = factors
    out = a * scales[:, None] * (matrix @ x + x) + b * y
    return out, sums + c * out


def fold_in(vectors, table, family, work, config):
    """Move vectors by their steps against a table that stays as it is."""
    for i, walks_of_steps in enumerate(work.walks):
        stream, c = Stream(int(work.key), int(work.first) + i), {0: vectors[i]}
        for step, walks in enumerate(walks_of_steps):
            nodes = [node for walk in walks for node in walk[1:] if node >= 0]
            observed = [int(work.table_row[node]) for node in nodes if work.table_row[node] >= 0]
            observations = {row: [0, observed.count(row)] for row in observed}
            rows, contexts = list(observations), set(observations)
            counts = list(observations.values())
            for first in range(0, len(observed), config.group_size):
                times = min(config.group_size, len(observed) - first)
                for _ in range(config.negatives):
                    negative = sample_alias(work.prob, work.alias, stream.bits())
                    if negative not in contexts:
                        rows.append(negative)
                        counts.append([times, 0])
            copy = {at: table[row].copy() for at, row in enumerate(rows)}
            rate = config.learning_rate - config.rate_decay * step
            if rows:
                train_center(c, copy, 0, dict(enumerate(counts)), family, rate)
            c[0] = np.maximum(c[0], config.floor)
        vectors[i] = c[0]
