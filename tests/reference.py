"""Slow twins of the kernels, in plain Python and NumPy: one walk after the other, one draw after the other."""

from __future__ import annotations

import math
import operator
from functools import reduce
from itertools import pairwise, product

import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
PATIENCE = 48


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Stream:
    """The random numbers of walk `number`."""

    def __init__(self, key: int, number: int) -> None:
        self.state = mix((key + number * GOLDEN) & MASK)

    def bits(self) -> int:
        self.state = (self.state + GOLDEN) & MASK
        return mix(self.state)


def unit(bits: int) -> float:
    return (bits >> 11) * 2.0**-53


def shuffle(key: int, n: int) -> list[int]:
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
    """keep, other: with small slots taken from the end and filled up by the last large one."""
    degree = len(weights)
    heaviest = max(weights, default=0.0)
    total = reduce(operator.add, (weight / heaviest for weight in weights), 0.0)
    share = [weight / heaviest * degree / total for weight in weights]
    keep, other = [0xFFFFFFFF] * degree, list(range(degree))
    small = [i for i in range(degree) if share[i] < 1.0]
    large = [i for i in range(degree) if share[i] >= 1.0]
    while small and large:
        i, j = small.pop(), large[-1]
        keep[i], other[i] = int(min(share[i] * 2.0**32, 2.0**32 - 1)), j
        share[j] -= 1.0 - share[i]
        if share[j] < 1.0:
            small.append(large.pop())
    return keep, other


def choose(graph, node, bits, weighted):
    """An entry of the node's row."""
    slot = (bits * int(graph.degrees[node])) >> 64
    if weighted:
        keep, other = alias_table(edge_weights(graph, node))
        if (bits & 0xFFFFFFFF) >= keep[slot]:
            slot = other[slot]
    return slot


def first_order_walk(graph, start, key, number, length, weighted):
    stream, walk = Stream(key, number), [start]
    while len(walk) < length and graph.degrees[walk[-1]]:
        walk.append(neighbors(graph, walk[-1])[choose(graph, walk[-1], stream.bits(), weighted)])
    return walk


def second_order_walk(graph, start, key, number, length, p, q):
    stream, walk, rejections = Stream(key, number), [start], 0
    weighted = graph.weights is not None
    highest = max(1.0, 1.0 / q)
    near, far, back = 1.0 / highest, 1.0 / q / highest, 1.0 / p / highest
    extra, back = max(back - 1.0, 0.0), min(back, 1.0)
    while len(walk) < length and graph.degrees[walk[-1]]:
        node, before = walk[-1], walk[-2] if len(walk) > 1 else None
        row_nodes, row_weights = neighbors(graph, node), edge_weights(graph, node)
        returns, slot = False, None
        bits = stream.bits()
        if extra > 0:
            way_back = row_weights[row_nodes.index(before)] if before in row_nodes else 0.0
            # The kernel knows the sum of a row's weights from NumPy, which adds in an order of its own.
            heaviest = max(row_weights) if weighted else 1.0
            mass = float(np.add.reduce(np.array(row_weights) / heaviest)) if weighted else float(len(row_nodes))
            way_back /= heaviest
            pick = unit(bits) * (mass + extra * way_back)
            returns = pick >= mass
            if weighted:
                bits = stream.bits()
            else:
                slot = min(int(pick), len(row_nodes) - 1)
        slot = choose(graph, node, bits, weighted) if slot is None else slot
        if back < 1.0 or min(near, far) < 1.0:
            bits = stream.bits()
        target = before if returns else row_nodes[slot]
        accepted = returns or before is None
        if not accepted:
            chance = back if target == before else near if target in neighbors(graph, before) else far
            accepted = unit(bits) < chance or chance == 1.0
        if not accepted:
            rejections += 1
            if rejections < PATIENCE:
                continue
            target = exact_step(graph, node, before, (1.0, 1.0 / q, 1.0 / p), unit(stream.bits()))
        rejections = 0
        walk.append(target)
    return walk


def exact_step(graph, node, before, factors, goal):
    shares = second_order_shares(graph, before, node, factors)
    sums = np.cumsum(list(shares.values()))
    return list(shares)[int(np.searchsorted(sums, goal * sums[-1], side="right"))]


def second_order_shares(graph, before, node, factors):
    """What each neighbor weighs, in units of the heaviest edge and of the largest factor, so that all stay numbers."""
    near, far, back = factors
    targets, weights = neighbors(graph, node), edge_weights(graph, node)
    chosen = [back if target == before else near if target in neighbors(graph, before) else far for target in targets]
    shares = [weight / max(weights) * (factor / max(chosen)) for weight, factor in zip(weights, chosen, strict=True)]
    return dict(zip(targets, shares, strict=True))


def transition_probabilities(graph, before, node, *, p=1.0, q=1.0, weighted=True):
    """Exact probabilities of the next node, given the last two."""
    shares = second_order_shares(graph, before, node, (1.0, 1.0 / q, 1.0 / p))
    if not weighted:
        shares = dict.fromkeys(shares, 1.0)
    total = math.fsum(shares.values())
    return {target: share / total for target, share in shares.items()}


def nearest(queries, vectors, k, *, cosine, own=None):
    """Rows and scores of the k best vectors for each query, by sorting all; of equals, the earlier row first."""
    found = []
    for number, query in enumerate(np.asarray(queries, np.float64)):
        scores = []
        for row, vector in enumerate(np.asarray(vectors, np.float64)):
            size = math.sqrt(math.fsum(query**2)) * math.sqrt(math.fsum(vector**2)) if cosine else 1.0
            if own is None or own[number] != row:
                scores.append((-np.float32(math.fsum(query * vector) / size if size else 0.0), row))
        found.append([(row, -score) for score, row in sorted(scores)[:k]])
    return found


def pick(keep, other, bits: int) -> int:
    slot = (bits * len(keep)) >> 64
    return slot if (bits & 0xFFFFFFFF) < int(keep[slot]) else int(other[slot])


def around(walk, center, plan):
    """Positions of a center's contexts."""
    if plan.stars:
        return [] if center else list(range(1, len(walk)))
    first = max(0, center - plan.window)
    return [p for p in range(first, min(len(walk), center + plan.window + 1)) if p != center]


def slope_of(family, observed, score):
    return float(family.slope(float(observed), min(max(score, family.bounds[0]), family.bounds[1])))


def train_block(walks, centers, contexts, family, noise, plan, stream, first_center, tree):
    """Moves of nodes, as centers and as contexts or places of a tree, by the steps of one block."""
    c = {node: centers[node].copy() for walk in walks for node in walk}
    b = {row: contexts[row].copy() for node in c for row in ([row for row, _ in tree[node]] if tree else [node])}
    pool, at, served, position = [], 0, 40, first_center
    for walk in walks:
        for p, center in enumerate(walk):
            if p and plan.stars:
                position += 1
                continue
            if served == 40 and not tree:
                pool, served = [pick(*noise, stream.bits()) for _ in range(plan.pool)], 0
                b |= {node: contexts[node].copy() for node in pool if node not in b}
            served += 1
            rate = plan.rate - plan.rate_fall * position
            position += 1
            seen, positions = {}, around(walk, p, plan)
            for row, turn in (place for q in positions for place in (tree[walk[q]] if tree else [])):
                seen.setdefault(row, [0, 0])[turn] += 1
            for first in range(0, 0 if tree else len(positions), plan.group):
                group = [walk[q] for q in positions[first : first + plan.group]]
                for context in group:
                    seen.setdefault(context, [0, 0])[1] += 1
                for _ in range(plan.negatives):
                    negative, at = pool[at], (at + 1) % plan.pool
                    against = sum(context != negative for context in group)
                    if against:
                        seen.setdefault(negative, [0, 0])[0] += against
            rows, turns = list(seen), max(1, math.ceil(max(map(sum, seen.values()), default=0) / 8))
            for first in range(0, len(rows), 32):
                step(c, b, center, {row: seen[row] for row in rows[first : first + 32]}, family, rate, turns)
    return {v: c[v] - centers[v] for v in c}, {v: b[v] - contexts[v] for v in b}


def step(c, b, center, seen, family, rate, turns):
    """Rows take what they observe while the center is held, in some turns; then the center gets what it has gained.

    A turn is m observations one after the other, as far as slopes are straight lines over so short a way.
    """
    a = c[center]
    gain = np.zeros_like(a)
    for row, counts in seen.items():
        zeros, ones = (count / turns for count in counts)
        often, others = zeros + ones, max(zeros + ones - 1, 0) / (2 * max(zeros + ones, 1))
        for _ in range(turns):
            slope, change = slope_and_change(family, zeros, ones, a @ b[row])
            g = rate * slope / (1 - rate * (a @ a) * min(change, 0.0) * others)
            most = often / max(a @ a, 1e-9)
            g = min(max(g, -most), most)
            gain += g * b[row] + g * g * others * a
            b[row] = b[row] + g * a
    c[center] = a + gain


def slope_and_change(family, zeros, ones, score):
    low, high = family.bounds
    score = min(max(score, low), high)
    left, right = max(score - 1e-5, low), min(score + 1e-5, high)
    slope, before, after = (
        zeros * slope_of(family, 0, s) + ones * slope_of(family, 1, s) for s in (score, left, right)
    )
    return slope, 0.0 if score == high else (after - before) / (right - left)


def train_rounds(
    blocks, centers, contexts, family, noise, plan, key, first_block, first_center, abreast, tree=None, shares=()
):
    """Tables after rounds of blocks, each of which begins with the tables that the round before has left.

    The path to a node is a list of (place, turn); `shares` of what changes count.
    """
    for begin in range(0, len(blocks), abreast):
        moves = []
        for number, walks in enumerate(blocks[begin : begin + abreast], begin):
            stream = Stream(key, first_block + number)
            moves.append(train_block(walks, centers, contexts, family, noise, plan, stream, first_center, tree))
            first_center += sum(map(len, walks))
        for table, which in ((centers, 0), (contexts, 1)):
            for node in {node for move in moves for node in move[which]}:
                share = shares[node] if which and len(shares) else 1.0
                change = sum(move[which][node] for move in moves if node in move[which])
                table[node] = np.maximum(table[node] + share * change, plan.floor)


def train_plainly(blocks, centers, contexts, family, noise, plan, key, first_block, first_center):
    """One pair after the other, each with negatives of its own."""
    for number, walks in enumerate(blocks, first_block):
        stream = Stream(key, number)
        for walk in walks:
            for p, center in enumerate(walk):
                rate = plan.rate - plan.rate_fall * first_center
                first_center += 1
                for context in (walk[q] for q in around(walk, p, plan)):
                    gain = np.zeros_like(centers[center])
                    drawn = [pick(*noise, stream.bits()) for _ in range(plan.negatives)]
                    for row, observed in [(context, 1), *((row, 0) for row in drawn if row != context)]:
                        g = rate * slope_of(family, observed, centers[center] @ contexts[row])
                        gain += g * contexts[row]
                        contexts[row] = np.maximum(contexts[row] + g * centers[center], plan.floor)
                    centers[center] = np.maximum(centers[center] + gain, plan.floor)


def entries_of(edges, both_ways):
    """The row, the column and the edge of each entry, in the order of the input."""
    for number, (source, target) in enumerate(edges):
        yield source, target, number
        if both_ways and source != target:
            yield target, source, number


def spread_entries(edges, both_ways, cuts):
    """The entries of each part: those whose rows are from cuts[p] to cuts[p + 1] - 1."""
    entries = list(entries_of(edges, both_ways))
    return [[entry for entry in entries if low <= entry[0] < high] for low, high in pairwise(cuts)]


def wrong_rows(indptr, indices, weights):
    """Rows that are none of a graph; where a row begins or ends elsewhere, the rest has no meaning."""
    n = len(indptr) - 1
    for row in range(n):
        begin, end = indptr[row], indptr[row + 1]
        whole = 0 <= begin <= end <= len(indices)
        whole &= (row > 0 or begin == 0) and (row < n - 1 or end == len(indices))
        columns = list(indices[begin:end]) if whole else []
        right = columns == sorted(set(columns)) and all(0 <= column < n for column in columns)
        positive = all(0 < weight < math.inf for weight in weights[begin:end])
        if not (whole and right and positive):
            yield row


def component_labels(indptr, indices):
    """The number of each node's component, by their first nodes; directions do not matter."""
    n = len(indptr) - 1
    labels = list(range(n))
    for _ in range(n):
        for row in range(n):
            for column in indices[indptr[row] : indptr[row + 1]]:
                labels[row] = labels[column] = min(labels[row], labels[column])
    known = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return [known[label] for label in labels]


def route(walks, own_cells, cells, window, most, shares, order_key, negatives_key):
    """Records (center's row, pairs of its group, contexts here, negatives here), by cells of centers and contexts.

    Walks are over (cell, row). A group has about `most` pairs, and each pair `shares` of negatives in each cell.
    """
    around_center = {}
    for walk in walks:
        for p, center in enumerate(walk):
            if center[0] in own_cells:
                met = [walk[q] for q in range(max(0, p - window), min(len(walk), p + window + 1)) if q != p]
                around_center.setdefault(center, []).extend(met)
    groups = []
    for center, met in sorted(around_center.items()):
        count = max(1, (len(met) + most // 2) // most) if met else 0
        groups += [(center, met[len(met) * k // count : len(met) * (k + 1) // count]) for k in range(count)]
    records = {(own, other): [] for own in own_cells for other in range(cells)}
    for number in shuffle(order_key, len(groups)):
        (own, row), met = groups[number]
        stream = Stream(negatives_key, number)
        for other in range(cells):
            contexts = [r for c, r in met if c == other]
            negatives = int(len(met) * shares[other] + unit(stream.bits()))
            if contexts or negatives:
                records[own, other].append((row, len(met), contexts, negatives))
    return records


def train_bucket(records, cells, centers, contexts, family, noise, plan, key):
    """Tables of two parts after a bucket: turn after turn, each cell of centers meets another one of contexts.

    `records` are by cells, which begin and end at cells[0] of the centers and cells[1] of the contexts.
    """
    count = len(cells[0]) - 1
    for turn, own in product(range(count), repeat=2):
        other = (own + turn) % count
        first_center, (first, end) = cells[0][own], cells[1][other : other + 2]
        stream, at, served = Stream(key, own * count + other), 0, plan.served
        of_cell = [table[first:end] for table in noise]
        for number, (center, pairs, met, negatives) in enumerate(records[own, other]):
            if served >= plan.served:
                pool, served = [pick(*of_cell, stream.bits()) for _ in range(plan.pool)], 0
            served += len(met) + negatives
            seen = {}
            for row in met:
                seen.setdefault(first + row, [0.0, 0.0])[1] += 1
            for _ in range(negatives):
                row, at = first + pool[at], (at + 1) % plan.pool
                counts = seen.setdefault(row, [0.0, 0.0])
                counts[0] += plan.weight * (1 - counts[1] / pairs)
            rows, turns = list(seen), max(1, math.ceil(max(map(sum, seen.values()), default=0) / 8))
            rate = plan.rate - plan.rate_fall * (turn + number / len(records[own, other]))
            for begin in range(0, len(rows), 32):
                some = {row: seen[row] for row in rows[begin : begin + 32]}
                step(centers, contexts, first_center + center, some, family, rate, turns)
            centers[first_center + center] = np.maximum(centers[first_center + center], plan.floor)
            contexts[rows] = np.maximum(contexts[rows], plan.floor)
