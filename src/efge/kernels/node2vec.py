"""Second-order random walks (node2vec) by rejection sampling: a step depends on where the walk came from.

As in first order, many walkers advance together, in phases, and each walk draws from a random stream of its own. A
rejected proposal costs a phase of one walker, and a walker whose walk is complete starts the next one, so that no
walker waits for another. The result is exact: a step that is rejected too often is drawn from its full distribution.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from efge.kernels.caching import entry_point, helper
from efge.kernels.common import GOLDEN, ONE, ZERO, U, mix
from efge.kernels.intrinsics import high_product, prefetch
from efge.kernels.random import apply_alias, next_bits, stream_state, uniform

# Walkers that advance together.
N_WALKERS = 64
# After this number of rejections in a row a step is drawn from its exact distribution, whatever p and q are.
MAX_REJECTIONS = 48
# A row is long if it has at least this number of entries, and at least this multiple of the previous node's entries.
# Most of a long row is then far from the previous node; if less than this fraction of its weight is, the row is summed
# up.
_LONG_ROW, _LONG_RATIO, _MIN_FAR = 1024, 8, 1 / 64


class Bias(NamedTuple):
    """node2vec's factors for a step from t over v to x, divided by the largest factor of an x that is not t.

    `near`, `far` and `back` are acceptance probabilities. If going back outweighs everything else, the excess is
    `extra_back`, which is drawn separately, so that a small p rejects nothing. `inverse_p` and `inverse_q` are the
    factors previous the division, which lose nothing where p and q are extreme.
    """

    near: float  # x is a neighbor of t
    far: float  # x is not a neighbor of t
    back: float  # x is t
    extra_back: float  # what 1/p exceeds the largest alias factor by, in units of it; else 0
    inverse_q: float  # 1/q, the factor of a far x
    inverse_p: float  # 1/p, the factor of going back
    directed: bool  # whether the graph is


# The state of all walkers is one array w, uint64[_FIELDS, N_WALKERS + 1], a column for each walker. Its rows: the
# random stream and its last bits; the walk and its number of nodes so far; the node where the walker is and the
# previous node; the entry of the node's row that is proposed and the target it leads to; whether that was accepted;
# rejections in a row.
_STATE, _BITS, _WALK, _STEP, _NODE, _PREVIOUS, _ENTRY, _TARGET, _ACCEPTED, _REJECTIONS = range(10)
# The list of undecided walkers, whose target has to be searched among neighbors: the walker, and the range that is
# searched (begin and size) for the wanted node.
_UNDECIDED, _LOW, _SIZE, _WANTED = range(10, 14)
_FIELDS = 14
_NO_NODE = U(0xFFFFFFFFFFFFFFFF)


@njit(inline="always")
def _filter_bit(source, target, directed, edge_filter):
    """Bit of the edge filter for an edge; in an undirected graph, both directions have the same."""
    low, high = (source, target) if directed or source < target else (target, source)
    return high_product((low << U(32) ^ high) * GOLDEN, U(edge_filter.shape[0]) << U(6))


@entry_point
def fill_edge_filter(indptr, indices, directed, edge_filter):
    """Set the bits of all edges (a Bloom filter with one hash): where the bit of a pair is clear, it is no edge."""
    for node in range(U(indptr.shape[0] - 1)):
        for entry in range(U(indptr[node]), U(indptr[node + ONE])):
            bit = _filter_bit(node, U(indices[entry]), directed, edge_filter)
            edge_filter[bit >> U(6)] |= ONE << (bit & U(63))


@helper
def _find(indices, low, size, node):
    """Return the position of `node` among the sorted indices[low : low + size], or low + size if it is not there."""
    end = low + size
    while size > ONE:
        half = size >> ONE
        low += half if U(indices[low + half]) <= node else ZERO
        size -= half
    return low if size == ONE and U(indices[low]) == node else end


@helper
def _edge_weight(indptr, indices, weights, source, target):
    """Weight of the edge from source to target, 0 if there is none."""
    row, end = U(indptr[source]), U(indptr[source + ONE])
    entry = _find(indices, row, end - row, target)
    if entry == end:
        return 0.0
    return weights[entry] if weights.shape[0] else 1.0


@helper
def _weight_and_factor(indptr, indices, weights, factors, heaviest, entry, previous):
    """Weight of an entry in units of its row's heaviest, and node2vec's factor for a walk that came from `previous`."""
    target = U(indices[entry])
    near, far, back = factors
    weight = weights[entry] / heaviest if weights.shape[0] else 1.0
    if target == previous:
        return weight, back
    return weight, near if _edge_weight(indptr, indices, weights, previous, target) > 0.0 else far


@helper
def _sample_row(indptr, indices, weights, strength, bias, bits, node, previous):
    """Draw an entry of the row of `node` from the exact second-order distribution, by summing up the row."""
    row, end = U(indptr[node]), U(indptr[node + ONE])
    heaviest = strength[node, 0] if weights.shape[0] else 1.0
    factors = (1.0, bias.inverse_q, bias.inverse_p)
    # Factors are divided by the largest one that occurs, so that not all products underflow, whatever p and q are.
    largest = 0.0
    for entry in range(row, end):
        weight, factor = _weight_and_factor(indptr, indices, weights, factors, heaviest, entry, previous)
        if weight > 0.0:
            largest = max(largest, factor)
    goal = np.inf
    for _ in range(2):
        total = 0.0
        for entry in range(row, end):
            weight, factor = _weight_and_factor(indptr, indices, weights, factors, heaviest, entry, previous)
            total += weight * (factor / largest)
            if total > goal:
                return entry
        goal = total * uniform(bits)
    return end - ONE


@helper
def _common_neighbors(indptr, indices, weights, heaviest, node, previous, goal):
    """Total weight of the neighbors that both nodes have in common, and the entry where the sum exceeds a goal."""
    row, end = U(indptr[node]), U(indptr[node + ONE])
    total = 0.0
    for k in range(U(indptr[previous]), U(indptr[previous + ONE])):
        entry = _find(indices, row, end - row, U(indices[k]))
        if entry < end and U(indices[k]) != previous:
            total += weights[entry] / heaviest if weights.shape[0] else 1.0
            if total > goal:
                return total, entry
    return total, end


@helper
def _sample_long_row(indptr, indices, weights, strength, prob, alias, bias, state, node, previous):
    """Draw as `_sample_row` does, in less time: sum up the short row of `previous`, and draw a far entry by rejection.

    Returns the new state and the entry; the entry is the row's end if so little is far that rejection would be slow.
    """
    row, end, weighted = U(indptr[node]), U(indptr[node + ONE]), weights.shape[0] > 0
    heaviest = strength[node, 0] if weighted else 1.0
    mass = strength[node, 1] if weighted else np.float64(np.int64(end - row))
    back = _edge_weight(indptr, indices, weights, node, previous) / heaviest
    near = _common_neighbors(indptr, indices, weights, heaviest, node, previous, np.inf)[0]
    far = mass - near - back
    if far < mass * _MIN_FAR:
        return state, end
    largest = max(bias.inverse_q, 1.0 if near > 0.0 else 0.0, bias.inverse_p if back > 0.0 else 0.0)
    far_mass, near_mass = far * (bias.inverse_q / largest), near / largest
    state += GOLDEN
    pick = uniform(mix(state)) * (far_mass + near_mass + back * (bias.inverse_p / largest))
    if pick >= far_mass + near_mass:
        return state, _find(indices, row, end - row, previous)
    if pick >= far_mass:
        return state, _common_neighbors(
            indptr, indices, weights, heaviest, node, previous, (pick - far_mass) * largest
        )[1]
    while True:
        state += GOLDEN
        bits = mix(state)
        entry = row + high_product(bits, end - row)
        if weighted and (bits & U(0xFFFFFFFF)) >= U(prob[entry]):
            entry = row + U(alias[entry])
        target = U(indices[entry])
        if target != previous and _edge_weight(indptr, indices, weights, previous, target) == 0.0:
            return state, entry


@helper
def _refill_walkers(indptr, w, return_weight, running, started, starts, key, first, walks, lengths):
    """Finish complete walks and start the next ones with their walkers; drop walkers when no walk is left."""
    count, length = U(walks.shape[0]), U(walks.shape[1])
    i = ZERO
    while i < running or (running < U(N_WALKERS) and started < count):
        if i < running:
            if w[_STEP, i] < length and indptr[w[_NODE, i]] < indptr[w[_NODE, i] + ONE]:
                i += ONE
                continue
            lengths[w[_WALK, i]] = w[_STEP, i]
            if started == count:
                running -= ONE
                for field in range(_FIELDS):
                    w[field, i] = w[field, running]
                return_weight[i] = return_weight[running]
                continue
        else:
            running += ONE
        w[_STATE, i] = stream_state(key, first + started)
        w[_WALK, i] = started
        w[_STEP, i] = ONE
        w[_NODE, i] = U(starts[started])
        w[_PREVIOUS, i] = _NO_NODE
        w[_REJECTIONS, i] = ZERO
        return_weight[i] = 0.0
        walks[started, ZERO] = starts[started]
        started += ONE
    return running, started


@helper
def _propose(indptr, indices, strength, simple, extra, w, return_weight, running):
    """Propose an entry of each node's row; or accept going back, where that outweighs everything else.

    In a `simple` graph all edges weigh the same and lead back.
    """
    next_bits(w[_STATE], w[_BITS], running)
    weighted = strength.shape[0] > 0
    if extra > 0.0:
        for i in range(running):
            row = U(indptr[w[_NODE, i]])
            degree = U(indptr[w[_NODE, i] + ONE]) - row
            mass = strength[w[_NODE, i], 1] if weighted else np.float64(np.int64(degree))
            weight_back = return_weight[i] / strength[w[_NODE, i], 0] if weighted else return_weight[i]
            weight_back = np.float64(w[_PREVIOUS, i] != _NO_NODE) if simple else weight_back
            pick = uniform(w[_BITS, i]) * (mass + extra * weight_back)
            w[_ACCEPTED, i] = U(pick >= mass)
            if not weighted:
                w[_ENTRY, i] = row + min(U(np.int64(pick)), degree - ONE)
                prefetch(indices, np.int64(w[_ENTRY, i]))
        if not weighted:
            return
        next_bits(w[_STATE], w[_BITS], running)
    for i in range(running):
        row = U(indptr[w[_NODE, i]])
        degree = U(indptr[w[_NODE, i] + ONE]) - row
        w[_ENTRY, i] = row + high_product(w[_BITS, i], degree)
        w[_ACCEPTED, i] = w[_ACCEPTED, i] if extra > 0.0 else ZERO
        prefetch(indices, np.int64(w[_ENTRY, i]))


@helper
def _accept_certain(indptr, indices, back, certain, w, running):
    """Accept targets that would be accepted whether they are near or far; list the others, and return their number."""
    if back < 1.0 or certain < 1.0:
        next_bits(w[_STATE], w[_BITS], running)
    left = ZERO
    for i in range(running):
        previous = w[_PREVIOUS, i]
        returns = w[_ACCEPTED, i] != ZERO
        target = U(indices[w[_ENTRY, i]])
        target = previous if returns else target
        prefetch(indptr, np.int64(target))
        w[_TARGET, i] = target
        is_back = target == previous
        accepted = returns | (previous == _NO_NODE) | (uniform(w[_BITS, i]) < (back if is_back else certain))
        w[_ACCEPTED, i] = U(accepted)
        w[_UNDECIDED, left] = i
        left += U(not (accepted | is_back))
    return left


@helper
def _resolve_by_filter(edge_filter, directed, accept_near, w, left):
    """Decide targets that the edge filter shows to be far; return the number that is left undecided."""
    for j in range(left):
        i = w[_UNDECIDED, j]
        w[_LOW, j] = _filter_bit(w[_PREVIOUS, i], w[_TARGET, i], directed, edge_filter)
        prefetch(edge_filter, np.int64(w[_LOW, j] >> U(6)))
    remaining = ZERO
    for j in range(left):
        i = w[_UNDECIDED, j]
        w[_ACCEPTED, i] = U(not accept_near)
        w[_UNDECIDED, remaining] = i
        remaining += edge_filter[w[_LOW, j] >> U(6)] >> (w[_LOW, j] & U(63)) & ONE
    return remaining


@helper
def _resolve_by_search(indptr, indices, directed, accept_near, w, left):
    """Decide undecided targets by binary searches, which go on probe by probe together, so that they overlap."""
    widest = ZERO
    for j in range(left):
        source, target = w[_PREVIOUS, w[_UNDECIDED, j]], w[_TARGET, w[_UNDECIDED, j]]
        row, width = U(indptr[source]), U(indptr[source + ONE]) - U(indptr[source])
        if not directed:
            # Either both rows have the edge or neither: search the shorter one.
            other_row, other_width = U(indptr[target]), U(indptr[target + ONE]) - U(indptr[target])
            swap = other_width < width
            row, width = (other_row if swap else row), (other_width if swap else width)
            target = source if swap else target
        w[_LOW, j], w[_SIZE, j], w[_WANTED, j] = row, width, target
        prefetch(indices, np.int64(row + (width >> ONE)))
        widest = max(widest, width)
    while widest > ONE:
        for j in range(left):
            half = w[_SIZE, j] >> ONE
            probe = U(indices[w[_LOW, j] + half])
            w[_LOW, j] += half if probe <= w[_WANTED, j] else ZERO
            w[_SIZE, j] -= half
        widest -= widest >> ONE
    for j in range(left):
        near = U(indices[w[_LOW, j]]) == w[_WANTED, j]
        w[_ACCEPTED, w[_UNDECIDED, j]] = U(near == accept_near)


@helper
def _sample_exactly(indptr, indices, weights, strength, prob, alias, bias, w, running):
    """Draw the step of walkers that were rejected too often from its exact distribution."""
    for i in range(running):
        if not w[_ACCEPTED, i] and w[_REJECTIONS, i] + ONE == U(MAX_REJECTIONS):
            node, previous = w[_NODE, i], w[_PREVIOUS, i]
            entry = end = U(indptr[node + ONE])
            width, previous_width = end - U(indptr[node]), U(indptr[previous + ONE]) - U(indptr[previous])
            if width >= U(_LONG_ROW) and width >= U(_LONG_RATIO) * previous_width:
                w[_STATE, i], entry = _sample_long_row(
                    indptr, indices, weights, strength, prob, alias, bias, w[_STATE, i], node, previous
                )
            if entry == end:
                w[_STATE, i] += GOLDEN
                entry = _sample_row(indptr, indices, weights, strength, bias, mix(w[_STATE, i]), node, previous)
            w[_ENTRY, i] = entry
            w[_TARGET, i] = U(indices[w[_ENTRY, i]])
            w[_ACCEPTED, i] = ONE


@helper
def _update_return_weights(indptr, indices, weights, directed, w, return_weight, running):
    """Store the weight of the edge back for each walker that is about to advance."""
    for i in range(running):
        if directed and w[_ACCEPTED, i]:
            return_weight[i] = _edge_weight(indptr, indices, weights, w[_TARGET, i], w[_NODE, i])
        elif not directed and w[_ACCEPTED, i] and w[_TARGET, i] != w[_PREVIOUS, i]:
            # If the target is the previous node, the walker goes back over the edge that it came by.
            return_weight[i] = weights[w[_ENTRY, i]]


@helper
def _advance(w, running, walks):
    """Move the walkers whose target was accepted; the others stay and will try again.

    Returns whether a walk is complete, and the largest number of rejections in a row.
    """
    length = U(walks.shape[1])
    complete, most = ZERO, ZERO
    for i in range(running):
        accepted = w[_ACCEPTED, i]
        node, target = w[_NODE, i], w[_TARGET, i]
        # Written in any case; if the target was rejected, the next try overwrites it.
        walks[w[_WALK, i], w[_STEP, i]] = target
        w[_STEP, i] += accepted
        w[_PREVIOUS, i] = node if accepted else w[_PREVIOUS, i]
        w[_NODE, i] = target if accepted else node
        w[_REJECTIONS, i] = ZERO if accepted else w[_REJECTIONS, i] + ONE
        complete |= U(w[_STEP, i] == length)
        most = max(most, w[_REJECTIONS, i])
    return complete != ZERO, most


@entry_point
def second_order_walks(tables, bias, starts, key, first, walks, lengths):
    """Fill walks as `first_order_walks` does, with node2vec's steps: exact, by rejection sampling."""
    indptr, indices, weights, strength = tables.indptr, tables.indices, tables.weights, tables.strength
    prob, alias, edge_filter = tables.prob, tables.alias, tables.edge_filter
    w = np.zeros((_FIELDS, N_WALKERS + 1), np.uint64)
    return_weight = np.zeros(N_WALKERS + 1, np.float64)
    certain = min(bias.near, bias.far)
    simple = weights.shape[0] == 0 and not bias.directed
    running, started, rejections, complete = ZERO, ZERO, ZERO, True
    while True:
        # A walk ends when it is complete or, in a directed graph, at a dead end.
        if complete or bias.directed:
            running, started = _refill_walkers(
                indptr, w, return_weight, running, started, starts, key, first, walks, lengths
            )
        if running == ZERO:
            return
        _propose(indptr, indices, strength, simple, bias.extra_back, w, return_weight, running)
        if prob.shape[0]:
            apply_alias(indptr, indices, prob, alias, w[_NODE], w[_BITS], w[_ENTRY], running)
        left = _accept_certain(indptr, indices, bias.back, certain, w, running)
        if left > ZERO:
            left = _resolve_by_filter(edge_filter, bias.directed, bias.near > bias.far, w, left)
            _resolve_by_search(indptr, indices, bias.directed, bias.near > bias.far, w, left)
        if rejections + ONE == U(MAX_REJECTIONS):
            _sample_exactly(indptr, indices, weights, strength, prob, alias, bias, w, running)
        if bias.extra_back > 0.0 and not simple:
            _update_return_weights(indptr, indices, weights, bias.directed, w, return_weight, running)
        complete, rejections = _advance(w, running, walks)
