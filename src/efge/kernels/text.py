"""Lines of bytes -> fields -> integers, floats, or numbers of names.

Kernels point to bytes by their position and leave messages to their callers. A name is known by a key of two words: the
name itself if it is short; for longer ones, callers verify that names with one key are one name.
"""

import numpy as np
from numba import njit

from efge.kernels.intrinsics import prefetch

NEWLINE, RETURN, SPACE, TAB, QUOTE = 10, 13, 32, 9, 34
WHITESPACE = 0  # as a delimiter: any run of spaces and tabs

_BATCH = 64
U = np.uint64
_ONE = np.uint64(1)
_POWERS = 10.0 ** np.arange(23)


@njit
def _is_gap(byte, delimiter):
    """A byte that may surround a field without belonging to it."""
    return byte == SPACE or byte == RETURN or (byte == TAB and delimiter != TAB)


@njit
def _skip_gap(data, position, high, delimiter):
    while position < high and _is_gap(data[position], delimiter):
        position += _ONE
    return position


@njit
def _skip_line(data, position, high):
    while position < high and data[position] != NEWLINE:
        position += _ONE
    return position


@njit
def _field_end(data, position, high, delimiter):
    if delimiter == WHITESPACE:
        while position < high:
            byte = data[position]
            if byte <= SPACE and (byte == SPACE or byte == TAB or byte == NEWLINE or byte == RETURN):
                break
            position += _ONE
    else:
        while position < high and data[position] != delimiter and data[position] != NEWLINE:
            position += _ONE
    return position


@njit
def _closing_quote(data, position, high, delimiter):
    """Where the quoted field that opens at `position` closes; `position` itself if it never does."""
    begin = position
    position += _ONE
    while position < high and data[position] != NEWLINE:
        if data[position] == QUOTE:
            after = _skip_gap(data, position + _ONE, high, delimiter)
            if after == high or data[after] == NEWLINE or data[after] == delimiter:
                return position
            if data[after] == QUOTE and after == position + _ONE:
                position += _ONE
        position += _ONE
    return begin


@njit
def _has_quote(data, start, end):
    for position in range(start, end):
        if data[position] == QUOTE:
            return True
    return False


@njit(cache=True, nogil=True)
def tokenize(data, delimiter, comments, starts, ends, firsts):
    """Split bytes into fields; line i has the fields firsts[i] .. firsts[i + 1] - 1.

    Blank lines and lines that begin with a byte of `comments` are passed over. Returns the number of fields, of lines,
    and of quoted fields in which quotes are doubled.
    """
    high = U(data.shape[0])
    fields, lines, position = U(0), U(0), U(0)
    doubled = 0
    while position < high:
        # Where tabs delimit, one at the begin of a line is an empty field, but a line of nothing else is blank.
        visible = _skip_gap(data, position, high, WHITESPACE)
        blank = visible == high or data[visible] == NEWLINE
        if not blank:
            for mark in comments:
                blank |= data[visible] == mark
        if blank:
            position = _skip_line(data, visible, high) + _ONE
            continue
        position = _skip_gap(data, position, high, delimiter)
        firsts[lines] = fields
        lines += _ONE
        more = True
        while more:
            start = position
            end = position
            if delimiter != WHITESPACE and position < high and data[position] == QUOTE:
                end = _closing_quote(data, position, high, delimiter)
            if end > start:
                start += _ONE
                doubled += _has_quote(data, start, end)
                position = _skip_gap(data, end + _ONE, high, delimiter)
            else:
                end = position = _field_end(data, position, high, delimiter)
                while end > start and _is_gap(data[end - _ONE], delimiter):
                    end -= _ONE
            starts[fields] = start
            ends[fields] = end
            fields += _ONE
            if delimiter == WHITESPACE:
                position = _skip_gap(data, position, high, delimiter)
                more = position < high and data[position] != NEWLINE
            else:
                more = position < high and data[position] == delimiter
                if more:
                    position = _skip_gap(data, position + _ONE, high, delimiter)
        position += _ONE
    firsts[lines] = fields
    return np.int64(fields), np.int64(lines), doubled


@njit(cache=True, nogil=True)
def undouble_quotes(data, starts, ends):
    """Make one quote of two in fields that stand in quotes; they end earlier then, and nothing else moves."""
    for i in range(starts.shape[0]):
        start, end = starts[i], ends[i]
        if start == 0 or data[start - 1] != QUOTE or end == data.shape[0] or data[end] != QUOTE:
            continue
        place, position = start, start
        while position < end:
            data[place] = data[position]
            position += 2 if data[position] == QUOTE and position + 1 < end and data[position + 1] == QUOTE else 1
            place += 1
        ends[i] = place


@njit(cache=True, nogil=True)
def parse_plain_edges(data, delimiter, values):
    """Fill `values` from lines of two plain integers, in one pass; their count, or -1 where a line is anything else.

    What it reads is what `tokenize` and `parse_integers` would find; it is for speed alone.
    """
    size = U(data.shape[0])
    # A space stands for any white space; only one of it is plain.
    between = U(SPACE) if delimiter == WHITESPACE else U(delimiter)
    position, count = U(0), U(0)
    while position < size:
        for after in (between, U(NEWLINE)):
            value, begin = U(0), position
            digit = U(data[position]) - U(48) if position < size else U(10)
            leading_zero = digit == U(0)
            while digit < U(10):
                value = value * U(10) + digit
                position += U(1)
                digit = U(data[position]) - U(48) if position < size else U(10)
            digits = position - begin
            if after == U(NEWLINE) and position < size and data[position] == RETURN:
                position += U(1)
            ended = U(data[position]) == after if position < size else after == U(NEWLINE)
            if not ended or digits == U(0) or digits > U(18) or (leading_zero and digits > U(1)):
                return -1
            position += U(1)
            values[count] = np.int64(value)
            count += U(1)
    return np.int64(count)


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
        for position in range(U(start), U(end)):
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
def key_fields(data, starts, ends, seed, keys):
    """A key of two words for each field: the field itself and its size up to 15 bytes, two hashes and 255 beyond."""
    for i in range(U(starts.shape[0])):
        size = U(ends[i] - starts[i])
        low, high = U(0), U(0)
        if size < U(16):
            for position in range(U(starts[i]), U(ends[i])):
                high = (high << U(8)) | (low >> U(56))
                low = (low << U(8)) | U(data[position])
            keys[i, 0], keys[i, 1] = low, high | (size << U(56))
        else:
            low, high = seed + size, ~seed
            for position in range(U(starts[i]), U(ends[i])):
                low = (low ^ U(data[position])) * U(0x9E3779B97F4A7C15)
                low ^= low >> U(29)
                high = (high ^ U(data[position])) * U(0xC2B2AE3D27D4EB4F)
                high ^= high >> U(31)
            keys[i, 0], keys[i, 1] = _mix(low), _mix(high) | U(0xFF00000000000000)


@njit(inline="always")
def _slot(low, high, mask):
    return _mix(low ^ (high * U(0x9E3779B97F4A7C15))) & mask


@njit(cache=True, nogil=True)
def number_keys(keys, begin, slot_keys, slot_numbers, numbers, count, firsts):
    """Number the keys from `begin` on in the order of their first appearance, `count` of them being known.

    Stops early when two thirds of the slots are taken. Returns where it stopped and the new count; `firsts` gets the
    positions at which new ones appeared, from firsts[0] on. A slot is free while its number is -1.
    """
    # Unsigned indices: signed ones cost Numba a test for negative ones.
    mask = U(slot_numbers.shape[0] - 1)
    known = count
    slots = np.empty(_BATCH, np.uint64)
    for batch in range(begin, keys.shape[0], _BATCH):
        low, high = U(batch), U(min(batch + _BATCH, keys.shape[0]))
        if 3 * (count + _BATCH) > 2 * slot_numbers.shape[0]:
            return batch, count
        for i in range(low, high):
            slot = _slot(keys[i, 0], keys[i, 1], mask)
            slots[i - low] = slot
            prefetch(slot_keys, np.int64(slot * U(2)))
            prefetch(slot_numbers, np.int64(slot))
        for i in range(low, high):
            slot = slots[i - low]
            while slot_numbers[slot] >= 0 and (slot_keys[slot, 0] != keys[i, 0] or slot_keys[slot, 1] != keys[i, 1]):
                slot = (slot + U(1)) & mask
            if slot_numbers[slot] < 0:
                slot_keys[slot, 0], slot_keys[slot, 1] = keys[i, 0], keys[i, 1]
                slot_numbers[slot] = count
                firsts[count - known] = i
                count += 1
            numbers[i] = slot_numbers[slot]
    return keys.shape[0], count


@njit(cache=True, nogil=True)
def move_slots(old_keys, old_numbers, slot_keys, slot_numbers):
    """Put every taken slot into a larger table whose slots are all free."""
    mask = U(slot_numbers.shape[0] - 1)
    for old in range(U(old_numbers.shape[0])):
        if old_numbers[old] >= 0:
            slot = _slot(old_keys[old, 0], old_keys[old, 1], mask)
            while slot_numbers[slot] >= 0:
                slot = (slot + U(1)) & mask
            slot_keys[slot, 0], slot_keys[slot, 1] = old_keys[old, 0], old_keys[old, 1]
            slot_numbers[slot] = old_numbers[old]


@njit(cache=True, nogil=True)
def number_small(values, table, numbers, count, firsts):
    """As `number_keys`, for integers from 0 to below the length of `table`, which has their numbers or -1."""
    known = count
    for batch in range(0, values.shape[0], _BATCH):
        low, high = U(batch), U(min(batch + _BATCH, values.shape[0]))
        for i in range(low, high):
            prefetch(table, values[i])
        for i in range(low, high):
            value = U(values[i])
            if table[value] < 0:
                table[value] = count
                firsts[count - known] = i
                count += 1
            numbers[i] = table[value]
    return count


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
    """The first field too long to be its own key that is not the name of its number, or -1."""
    for i in range(U(starts.shape[0])):
        start, size = U(starts[i]), U(ends[i] - starts[i])
        if size >= U(16):
            name = U(name_starts[U(numbers[i])])
            if U(name_starts[U(numbers[i]) + U(1)]) - name != size:
                return np.int64(i)
            for j in range(size):
                if names[name + j] != data[start + j]:
                    return np.int64(i)
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
