"""Lines of bytes -> fields -> integers, floats, or numbers of names.

Kernels point to bytes by their position and leave messages to their callers. A name is known by a 64-bit hash; callers
verify that names with one hash are one name, and hash again with another seed if they are not.
"""

import numpy as np
from numba import njit

from efge.kernels.intrinsics import prefetch

NEWLINE, RETURN, SPACE, TAB, QUOTE = 10, 13, 32, 9, 34
WHITESPACE = 0  # as a delimiter: any run of spaces and tabs

_BATCH = 64
_POWERS = 10.0 ** np.arange(23)


@njit
def _is_gap(byte, delimiter):
    """A byte that may surround a field without belonging to it."""
    return byte == SPACE or byte == RETURN or (byte == TAB and delimiter != TAB)


@njit
def _field_end(data, position, high, delimiter):
    if delimiter == WHITESPACE:
        while position < high:
            byte = data[position]
            if byte == SPACE or byte == TAB or byte == NEWLINE or byte == RETURN:
                break
            position += 1
    else:
        while position < high and data[position] != delimiter and data[position] != NEWLINE:
            position += 1
    return position


@njit
def _closing_quote(data, position, high, delimiter):
    """Where the quoted field that opens at `position` closes, or -1 if it does not close before its field ends."""
    position += 1
    while position < high and data[position] != NEWLINE:
        if data[position] == QUOTE:
            after = position + 1
            while after < high and _is_gap(data[after], delimiter):
                after += 1
            if after == high or data[after] == NEWLINE or data[after] == delimiter:
                return position
            if data[after] == QUOTE and after == position + 1:
                position += 1
        position += 1
    return -1


@njit(cache=True, nogil=True)
def tokenize(data, low, high, delimiter, comments, starts, ends, firsts):
    """Split data[low:high] into fields; line i has the fields firsts[i] .. firsts[i + 1] - 1.

    Blank lines and lines that begin with a byte of `comments` are passed over. Returns the number of fields and lines.
    """
    fields = 0
    lines = 0
    position = low
    while position < high:
        while position < high and _is_gap(data[position], delimiter):
            position += 1
        if position == high:
            break
        byte = data[position]
        if byte == NEWLINE:
            position += 1
            continue
        comment = False
        for mark in comments:
            comment |= byte == mark
        if comment:
            while position < high and data[position] != NEWLINE:
                position += 1
            continue
        firsts[lines] = fields
        lines += 1
        while True:
            while position < high and _is_gap(data[position], delimiter):
                position += 1
            ended = position == high or data[position] == NEWLINE
            if ended and delimiter == WHITESPACE:
                break
            start = position
            end = -1
            if not ended and delimiter != WHITESPACE and data[position] == QUOTE:
                end = _closing_quote(data, position, high, delimiter)
            if end >= 0:
                start += 1
                position = end + 1
                while position < high and _is_gap(data[position], delimiter):
                    position += 1
            else:
                position = _field_end(data, position, high, delimiter)
                end = position
                while end > start and _is_gap(data[end - 1], delimiter):
                    end -= 1
            starts[fields] = start
            ends[fields] = end
            fields += 1
            if delimiter != WHITESPACE:
                if position < high and data[position] == delimiter:
                    position += 1
                else:
                    break
    firsts[lines] = fields
    return fields, lines


@njit(cache=True, nogil=True)
def parse_integers(data, starts, ends, values):
    """Fill `values`; the number of the first field that is not a plain integer of 64 bits, or -1.

    Plain means that printing the value gives the field again: no sign +, no leading zero.
    """
    for i in range(starts.shape[0]):
        start, end = starts[i], ends[i]
        negative = start < end and data[start] == 45
        start += negative
        digits = end - start
        if digits < 1 or digits > 19 or (data[start] == 48 and (digits > 1 or negative)):
            return i
        value = np.uint64(0)
        for position in range(start, end):
            digit = np.uint64(data[position]) - np.uint64(48)
            if digit > np.uint64(9):
                return i
            value = value * np.uint64(10) + digit
        if value > np.uint64(0x7FFFFFFFFFFFFFFF):
            return i
        values[i] = -np.int64(value) if negative else np.int64(value)
    return -1


@njit(cache=True, nogil=True)
def parse_weights(data, starts, ends, values):
    """Fill `values` where a positive decimal can be read without rounding twice, with NaN everywhere else.

    A mantissa below 2**53 and a power of ten up to 10**22 are exact floats, so that one operation rounds correctly.
    """
    for i in range(starts.shape[0]):
        mantissa = np.uint64(0)
        decimals = 0
        point = False
        plain = starts[i] < ends[i]
        for position in range(starts[i], ends[i]):
            digit = np.int64(data[position]) - 48
            if 0 <= digit <= 9 and mantissa < np.uint64(900719925474099):
                mantissa = mantissa * np.uint64(10) + np.uint64(digit)
                decimals += point
            elif data[position] == 46 and not point:
                point = True
            else:
                plain = False
        if plain and mantissa > np.uint64(0) and decimals <= 22:
            values[i] = np.float64(mantissa) / _POWERS[decimals]
        else:
            values[i] = np.nan


@njit(inline="always")
def _mix(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def hash_integers(values, hashes):
    """One-to-one, so that equal hashes are equal integers."""
    for i in range(values.shape[0]):
        hashes[i] = _mix(np.uint64(values[i]))


@njit(cache=True, nogil=True)
def hash_fields(data, starts, ends, seed, hashes):
    for i in range(starts.shape[0]):
        h = seed + np.uint64(ends[i] - starts[i])
        for position in range(starts[i], ends[i]):
            h = (h ^ np.uint64(data[position])) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
        hashes[i] = _mix(h)


@njit(cache=True, nogil=True)
def number_hashes(hashes, begin, slot_hashes, slot_numbers, numbers, count, firsts):
    """Number the hashes from `begin` on in the order of their first appearance, `count` of them being known.

    Stops early when two thirds of the slots are taken. Returns where it stopped and the new count; `firsts` gets the
    positions at which new ones appeared, from firsts[0] on. A slot is free while its number is -1.
    """
    mask = slot_hashes.shape[0] - 1
    known = count
    for batch in range(begin, hashes.shape[0], _BATCH):
        end = min(batch + _BATCH, hashes.shape[0])
        if 3 * (count + _BATCH) > 2 * (mask + 1):
            return batch, count
        for i in range(batch, end):
            slot = np.int64(hashes[i] & np.uint64(mask))
            prefetch(slot_hashes, slot)
            prefetch(slot_numbers, slot)
        for i in range(batch, end):
            slot = np.int64(hashes[i] & np.uint64(mask))
            while slot_numbers[slot] >= 0 and slot_hashes[slot] != hashes[i]:
                slot = (slot + 1) & mask
            if slot_numbers[slot] < 0:
                slot_hashes[slot] = hashes[i]
                slot_numbers[slot] = count
                firsts[count - known] = i
                count += 1
            numbers[i] = slot_numbers[slot]
    return hashes.shape[0], count


@njit(cache=True, nogil=True)
def move_slots(old_hashes, old_numbers, slot_hashes, slot_numbers):
    """Put every taken slot into a larger table whose slots are all free."""
    mask = slot_hashes.shape[0] - 1
    for old in range(old_hashes.shape[0]):
        if old_numbers[old] >= 0:
            slot = np.int64(old_hashes[old] & np.uint64(mask))
            while slot_numbers[slot] >= 0:
                slot = (slot + 1) & mask
            slot_hashes[slot] = old_hashes[old]
            slot_numbers[slot] = old_numbers[old]


@njit(cache=True, nogil=True)
def append_fields(data, starts, ends, chosen, count, names, name_starts):
    """Copy the chosen fields behind the names that are there; name_starts[i] .. name_starts[i + 1] is name i."""
    place = name_starts[count]
    for i in chosen:
        for position in range(starts[i], ends[i]):
            names[place] = data[position]
            place += 1
        count += 1
        name_starts[count] = place


@njit(cache=True, nogil=True)
def first_other_name(data, starts, ends, numbers, names, name_starts):
    """The first field that is not the name of its number, or -1."""
    for batch in range(0, starts.shape[0], _BATCH):
        end = min(batch + _BATCH, starts.shape[0])
        for i in range(batch, end):
            prefetch(name_starts, np.int64(numbers[i]))
        for i in range(batch, end):
            prefetch(names, name_starts[numbers[i]])
        for i in range(batch, end):
            start = name_starts[numbers[i]]
            size = ends[i] - starts[i]
            if name_starts[numbers[i] + 1] - start != size:
                return i
            for j in range(size):
                if names[start + j] != data[starts[i] + j]:
                    return i
    return -1


@njit(cache=True, nogil=True)
def join_names(numbers, firsts, names, name_starts, data):
    """Write line i as the names of numbers[firsts[i]:firsts[i + 1]] with spaces between; the bytes written."""
    place = 0
    for line in range(firsts.shape[0] - 1):
        for i in range(firsts[line], firsts[line + 1]):
            for position in range(name_starts[numbers[i]], name_starts[numbers[i] + 1]):
                data[place] = names[position]
                place += 1
            data[place] = SPACE
            place += 1
        data[place - 1] = NEWLINE
    return place
