"""Random walks of second order, by rejection: a step also weighs where the walk came from.

As in first order, many walkers advance together, in phases, and each walk draws from a stream of its own. A try that is
rejected costs a phase of one walker, and walkers that are done take up the next walk, so that none waits for another.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from efge.kernels.intrinsics import high_product, prefetch
from efge.kernels.random import GOLDEN, U, apply_alias, draw_bits, mix, stream, unit

ABREAST = 64
# After so many rejections in a row a second-order step is drawn from its exact distribution, whatever p and q are.
PATIENCE = 48
# A row is long if it has so many entries, and so many for each of the row that a walk came from; most of a long row is
# far from there, unless this small a part of its weight is.
LONG, LONGER, SMALL_PART = 1024, 8, 1 / 64

_NONE, _ONE = np.uint64(0), np.uint64(1)


class Bias(NamedTuple):
    """node2vec's weights for a step from t over v to x, all divided by the largest weight of an x that is not t.

    `near` (x is a neighbor of t), `far` (it is not) and `back` (x is t) are acceptance probabilities; `extra` is by
    how much going back outweighs everything else, and is drawn apart, so that a small p rejects nothing. `away` (1/q)
    and `home` (1/p) are what the weights are before they are divided, and lose nothing where p and q are extreme.
    """

    near: float
    far: float
    back: float
    extra: float
    away: float
    home: float
    directed: bool


# The walkers abreast: rows of one array, an entry for each walker. It is on walk WALK, which has STEP nodes so far, at
# NODE, and came from BEFORE; it thinks of going over the entry PLACE to TARGET.
_STATE, _BITS, _WALK, _STEP, _NODE, _BEFORE, _PLACE, _TARGET, _ACCEPTED, _REJECTIONS = range(10)
# Those of them that need a look at the graph to decide, by their number, and the row that is searched.
_UNDECIDED, _LOW, _SIZE, _SOUGHT = range(10, 14)
_FIELDS = 14
_NOBODY = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(inline="always")
def _bit_of(source, target, directed, hints):
    """Which bit of the hints stands for an edge; in an undirected graph, for both its directions."""
    low, high = (source, target) if directed or source < target else (target, source)
    return high_product((low << U(32) ^ high) * GOLDEN, U(hints.shape[0]) << U(6))


@njit(cache=True, nogil=True)
def hint_at_edges(indptr, indices, directed, hints):
    """Set the bits that stand for edges: where one is clear, there is no edge."""
    for node in range(U(indptr.shape[0] - 1)):
        for place in range(U(indptr[node]), U(indptr[node + _ONE])):
            bit = _bit_of(node, U(indices[place]), directed, hints)
            hints[bit >> U(6)] |= _ONE << (bit & U(63))


@njit
def _find(indices, low, size, node):
    """The place of `node` among the sorted indices[low : low + size], or low + size."""
    end = low + size
    while size > _ONE:
        half = size >> _ONE
        low += half if U(indices[low + half]) <= node else _NONE
        size -= half
    return low if size == _ONE and U(indices[low]) == node else end


@njit
def _edge_weight(indptr, indices, weights, source, target):
    """Weight of the edge from source to target, 0 where there is none."""
    row, end = U(indptr[source]), U(indptr[source + _ONE])
    place = _find(indices, row, end - row, target)
    if place == end:
        return 0.0
    return weights[place] if weights.shape[0] else 1.0


@njit
def _share(indptr, indices, weights, factors, heaviest, place, before):
    """What an entry weighs in units of its row's heaviest, and the factor for where a walk from `before` would go."""
    target = U(indices[place])
    near, away, home = factors
    weight = weights[place] / heaviest if weights.shape[0] else 1.0
    if target == before:
        return weight, home
    return weight, near if _edge_weight(indptr, indices, weights, before, target) > 0.0 else away


@njit
def _exact_place(indptr, indices, weights, strength, bias, bits, node, before):
    """A place in the row of `node`, drawn from the exact second-order distribution by summing it up."""
    row, end = U(indptr[node]), U(indptr[node + _ONE])
    heaviest = strength[node, 0] if weights.shape[0] else 1.0
    factors = (1.0, bias.away, bias.home)
    # Beside the largest factor that occurs, so that whatever p and q are, some share is no smaller than its weight.
    largest = 0.0
    for place in range(row, end):
        weight, factor = _share(indptr, indices, weights, factors, heaviest, place, before)
        if weight > 0.0:
            largest = max(largest, factor)
    goal = np.inf
    for _ in range(2):
        total = 0.0
        for place in range(row, end):
            weight, factor = _share(indptr, indices, weights, factors, heaviest, place, before)
            total += weight * (factor / largest)
            if total > goal:
                return place
        goal = total * unit(bits)
    return end - _ONE


@njit
def _near(indptr, indices, weights, heaviest, node, before, goal):
    """What the entries of a row that `before` has too weigh together; and the place where that exceeds a goal."""
    row, end = U(indptr[node]), U(indptr[node + _ONE])
    total = 0.0
    for k in range(U(indptr[before]), U(indptr[before + _ONE])):
        place = _find(indices, row, end - row, U(indices[k]))
        if place < end and U(indices[k]) != before:
            total += weights[place] / heaviest if weights.shape[0] else 1.0
            if total > goal:
                return total, place
    return total, end


@njit
def _place_in_long_row(indptr, indices, weights, strength, keep, other, bias, state, node, before):
    """As `_exact_place`, by a look at the other row, which is short, and by tries for what is far from `before`.

    The place is the row's end if only a small part is far, and tries would be many.
    """
    row, end, weighted = U(indptr[node]), U(indptr[node + _ONE]), weights.shape[0] > 0
    heaviest = strength[node, 0] if weighted else 1.0
    mass = strength[node, 1] if weighted else np.float64(np.int64(end - row))
    home = _edge_weight(indptr, indices, weights, node, before) / heaviest
    near = _near(indptr, indices, weights, heaviest, node, before, np.inf)[0]
    far = mass - near - home
    if far < mass * SMALL_PART:
        return state, end
    largest = max(bias.away, 1.0 if near > 0.0 else 0.0, bias.home if home > 0.0 else 0.0)
    far_share, near_share = far * (bias.away / largest), near / largest
    state += GOLDEN
    pick = unit(mix(state)) * (far_share + near_share + home * (bias.home / largest))
    if pick >= far_share + near_share:
        return state, _find(indices, row, end - row, before)
    if pick >= far_share:
        return state, _near(indptr, indices, weights, heaviest, node, before, (pick - far_share) * largest)[1]
    while True:
        state += GOLDEN
        bits = mix(state)
        place = row + high_product(bits, end - row)
        if weighted and (bits & U(0xFFFFFFFF)) >= U(keep[place]):
            place = row + U(other[place])
        target = U(indices[place])
        if target != before and _edge_weight(indptr, indices, weights, before, target) == 0.0:
            return state, place


@njit
def _take_up(indptr, w, return_weight, running, begun, starts, key, first, walks, lengths):
    """End walks that are at their end, and let their walkers take up the next ones; close ranks when none is left."""
    count, length = U(walks.shape[0]), U(walks.shape[1])
    i = _NONE
    while i < running or (running < U(ABREAST) and begun < count):
        if i < running:
            if w[_STEP, i] < length and indptr[w[_NODE, i]] < indptr[w[_NODE, i] + _ONE]:
                i += _ONE
                continue
            lengths[w[_WALK, i]] = w[_STEP, i]
            if begun == count:
                running -= _ONE
                for field in range(_FIELDS):
                    w[field, i] = w[field, running]
                return_weight[i] = return_weight[running]
                continue
        else:
            running += _ONE
        w[_STATE, i] = stream(key, first + begun)
        w[_WALK, i] = begun
        w[_STEP, i] = _ONE
        w[_NODE, i] = U(starts[begun])
        w[_BEFORE, i] = _NOBODY
        w[_REJECTIONS, i] = _NONE
        return_weight[i] = 0.0
        walks[begun, _NONE] = starts[begun]
        begun += _ONE
    return running, begun


@njit
def _propose(indptr, indices, strength, simple, extra, w, return_weight, running):
    """Choose an entry of each node's row; or, where that outweighs everything else, accept to go back.

    In a simple graph all edges weigh as much and lead back.
    """
    draw_bits(w[_STATE], w[_BITS], running)
    weighted = strength.shape[0] > 0
    if extra > 0.0:
        for i in range(running):
            row = U(indptr[w[_NODE, i]])
            degree = U(indptr[w[_NODE, i] + _ONE]) - row
            mass = strength[w[_NODE, i], 1] if weighted else np.float64(np.int64(degree))
            way_back = return_weight[i] / strength[w[_NODE, i], 0] if weighted else return_weight[i]
            way_back = np.float64(w[_BEFORE, i] != _NOBODY) if simple else way_back
            pick = unit(w[_BITS, i]) * (mass + extra * way_back)
            w[_ACCEPTED, i] = U(pick >= mass)
            if not weighted:
                w[_PLACE, i] = row + min(U(np.int64(pick)), degree - _ONE)
                prefetch(indices, np.int64(w[_PLACE, i]))
        if not weighted:
            return
        draw_bits(w[_STATE], w[_BITS], running)
    for i in range(running):
        row = U(indptr[w[_NODE, i]])
        degree = U(indptr[w[_NODE, i] + _ONE]) - row
        w[_PLACE, i] = row + high_product(w[_BITS, i], degree)
        w[_ACCEPTED, i] = w[_ACCEPTED, i] if extra > 0.0 else _NONE
        prefetch(indices, np.int64(w[_PLACE, i]))


@njit
def _judge(indptr, indices, back, sure, w, running):
    """Accept targets that either answer to "near or far" would accept; how many are left undecided."""
    if back < 1.0 or sure < 1.0:
        draw_bits(w[_STATE], w[_BITS], running)
    left = _NONE
    for i in range(running):
        before = w[_BEFORE, i]
        returns = w[_ACCEPTED, i] != _NONE
        target = U(indices[w[_PLACE, i]])
        target = before if returns else target
        prefetch(indptr, np.int64(target))
        w[_TARGET, i] = target
        is_back = target == before
        accepted = returns | (before == _NOBODY) | (unit(w[_BITS, i]) < (back if is_back else sure))
        w[_ACCEPTED, i] = U(accepted)
        w[_UNDECIDED, left] = i
        left += U(not (accepted | is_back))
    return left


@njit
def _ask_hints(hints, directed, accept_near, w, left):
    """Decide what is surely far, as its bit is clear; how many are left undecided."""
    for j in range(left):
        i = w[_UNDECIDED, j]
        w[_LOW, j] = _bit_of(w[_BEFORE, i], w[_TARGET, i], directed, hints)
        prefetch(hints, np.int64(w[_LOW, j] >> U(6)))
    still = _NONE
    for j in range(left):
        i = w[_UNDECIDED, j]
        w[_ACCEPTED, i] = U(not accept_near)
        w[_UNDECIDED, still] = i
        still += hints[w[_LOW, j] >> U(6)] >> (w[_LOW, j] & U(63)) & _ONE
    return still


@njit
def _decide(indptr, indices, directed, accept_near, w, left):
    """Look up whether undecided targets are near: binary searches, a probe of each in turn, so that they overlap."""
    widest = _NONE
    for j in range(left):
        source, target = w[_BEFORE, w[_UNDECIDED, j]], w[_TARGET, w[_UNDECIDED, j]]
        row, width = U(indptr[source]), U(indptr[source + _ONE]) - U(indptr[source])
        if not directed:
            # Both rows have the edge or neither: search the shorter one.
            other_row, other_width = U(indptr[target]), U(indptr[target + _ONE]) - U(indptr[target])
            swap = other_width < width
            row, width = (other_row if swap else row), (other_width if swap else width)
            target = source if swap else target
        w[_LOW, j], w[_SIZE, j], w[_SOUGHT, j] = row, width, target
        prefetch(indices, np.int64(row + (width >> _ONE)))
        widest = max(widest, width)
    while widest > _ONE:
        for j in range(left):
            half = w[_SIZE, j] >> _ONE
            probe = U(indices[w[_LOW, j] + half])
            w[_LOW, j] += half if probe <= w[_SOUGHT, j] else _NONE
            w[_SIZE, j] -= half
        widest -= widest >> _ONE
    for j in range(left):
        near = U(indices[w[_LOW, j]]) == w[_SOUGHT, j]
        w[_ACCEPTED, w[_UNDECIDED, j]] = U(near == accept_near)


@njit
def _insist(indptr, indices, weights, strength, keep, other, bias, w, running):
    """Draw the step of walkers that are rejected too often from its exact distribution."""
    for i in range(running):
        if not w[_ACCEPTED, i] and w[_REJECTIONS, i] + _ONE == U(PATIENCE):
            node, before = w[_NODE, i], w[_BEFORE, i]
            place = end = U(indptr[node + _ONE])
            width, width_before = end - U(indptr[node]), U(indptr[before + _ONE]) - U(indptr[before])
            if width >= U(LONG) and width >= U(LONGER) * width_before:
                w[_STATE, i], place = _place_in_long_row(
                    indptr, indices, weights, strength, keep, other, bias, w[_STATE, i], node, before
                )
            if place == end:
                w[_STATE, i] += GOLDEN
                place = _exact_place(indptr, indices, weights, strength, bias, mix(w[_STATE, i]), node, before)
            w[_PLACE, i] = place
            w[_TARGET, i] = U(indices[w[_PLACE, i]])
            w[_ACCEPTED, i] = _ONE


@njit
def _weigh_return(indptr, indices, weights, directed, w, return_weight, running):
    """What the edges back will weigh for the walkers that are about to go on."""
    for i in range(running):
        if directed and w[_ACCEPTED, i]:
            return_weight[i] = _edge_weight(indptr, indices, weights, w[_TARGET, i], w[_NODE, i])
        elif not directed and w[_ACCEPTED, i] and w[_TARGET, i] != w[_BEFORE, i]:
            # Where the target is BEFORE, the walker goes back over the edge that it came by.
            return_weight[i] = weights[w[_PLACE, i]]


@njit
def _advance(w, running, walks):
    """Let the walkers whose target was accepted go there; the others stay and will try again.

    The answer is whether a walk has all its nodes, and how often in a row a walker was rejected at most.
    """
    length = U(walks.shape[1])
    whole, most = _NONE, _NONE
    for i in range(running):
        accepted = w[_ACCEPTED, i]
        node, target = w[_NODE, i], w[_TARGET, i]
        # Written before it is sure; where it was rejected, the next try writes over it.
        walks[w[_WALK, i], w[_STEP, i]] = target
        w[_STEP, i] += accepted
        w[_BEFORE, i] = node if accepted else w[_BEFORE, i]
        w[_NODE, i] = target if accepted else node
        w[_REJECTIONS, i] = _NONE if accepted else w[_REJECTIONS, i] + _ONE
        whole |= U(w[_STEP, i] == length)
        most = max(most, w[_REJECTIONS, i])
    return whole != _NONE, most


@njit(cache=True, nogil=True)
def second_order_walks(steps, bias, starts, key, first, walks, lengths):
    """As `first_order_walks`, but a step also weighs where the walk came from; by rejection, and exact."""
    indptr, indices, weights, strength = steps.indptr, steps.indices, steps.weights, steps.strength
    keep, other, hints = steps.keep, steps.other, steps.hints
    w = np.zeros((_FIELDS, ABREAST + 1), np.uint64)
    return_weight = np.zeros(ABREAST + 1, np.float64)
    sure = min(bias.near, bias.far)
    simple = weights.shape[0] == 0 and not bias.directed
    running, begun, rejections, whole = _NONE, _NONE, _NONE, True
    while True:
        # A walk is over when it has all its nodes or, in a directed graph, at a dead end.
        if whole or bias.directed:
            running, begun = _take_up(indptr, w, return_weight, running, begun, starts, key, first, walks, lengths)
        if running == _NONE:
            return
        _propose(indptr, indices, strength, simple, bias.extra, w, return_weight, running)
        if keep.shape[0]:
            apply_alias(indptr, indices, keep, other, w[_NODE], w[_BITS], w[_PLACE], running)
        left = _judge(indptr, indices, bias.back, sure, w, running)
        if left > _NONE:
            left = _ask_hints(hints, bias.directed, bias.near > bias.far, w, left)
            _decide(indptr, indices, bias.directed, bias.near > bias.far, w, left)
        if rejections + _ONE == U(PATIENCE):
            _insist(indptr, indices, weights, strength, keep, other, bias, w, running)
        if bias.extra > 0.0 and not simple:
            _weigh_return(indptr, indices, weights, bias.directed, w, return_weight, running)
        whole, rejections = _advance(w, running, walks)
