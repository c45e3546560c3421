"""Lines of bytes -> fields -> integers, floats, or numbers of names.

Kernels return the position of a problem and leave messages to their callers. A name has a key of two 64-bit words: the
name itself if it is short, and a hash otherwise; callers check that long names with the same key are equal.
"""

import numpy as np
from numba import njit

from efge.kernels.caching import entry_point, helper
from efge.kernels.common import GOLDEN, ONE, ZERO, U, mix
from efge.kernels.intrinsics import prefetch

NEWLINE, RETURN, SPACE, TAB, QUOTE = 10, 13, 32, 9, 34
WHITESPACE = 0  # as a delimiter: any run of spaces and tabs

# Keys whose slots are prefetched together.
_AHEAD = 64
_POWERS = 10.0 ** np.arange(23)


@helper
def _is_gap(byte, delimiter):
    """Whether a byte may surround a field without being part of it."""
    return byte == SPACE or byte == RETURN or (byte == TAB and delimiter != TAB)


@helper
def _skip_gap(data, position, high, delimiter):
    while position < high and _is_gap(data[position], delimiter):
        position += ONE
    return position


@helper
def _skip_line(data, position, high):
    while position < high and data[position] != NEWLINE:
        position += ONE
    return position


@helper
def _field_end(data, position, high, delimiter):
    if delimiter == WHITESPACE:
        while position < high:
            byte = data[position]
            if byte <= SPACE and (byte == SPACE or byte == TAB or byte == NEWLINE or byte == RETURN):
                break
            position += ONE
    else:
        while position < high and data[position] != delimiter and data[position] != NEWLINE:
            position += ONE
    return position


@helper
def _closing_quote(data, position, high, delimiter):
    """Return where the quoted field that opens at `position` closes, or `position` itself if it never does."""
    begin = position
    position += ONE
    while position < high and data[position] != NEWLINE:
        if data[position] == QUOTE:
            after = _skip_gap(data, position + ONE, high, delimiter)
            if after == high or data[after] == NEWLINE or data[after] == delimiter:
                return position
            if data[after] == QUOTE and after == position + ONE:
                position += ONE
        position += ONE
    return begin


@helper
def _has_quote(data, start, end):
    for position in range(start, end):
        if data[position] == QUOTE:
            return True
    return False


@helper
def _is_ignored(data, position, high, comments):
    """Whether a line has no visible byte from `position` on, or begins a comment there."""
    if position == high or data[position] == NEWLINE:
        return True
    for comment in comments:
        if data[position] == comment:
            return True
    return False


@helper
def _parse_field(data, position, high, delimiter):
    """Return where the field at `position` starts and ends, where to go on, and whether it has doubled quotes."""
    start = end = position
    if delimiter != WHITESPACE and position < high and data[position] == QUOTE:
        end = _closing_quote(data, position, high, delimiter)
    if end > start:
        after = _skip_gap(data, end + ONE, high, delimiter)
        return start + ONE, end, after, _has_quote(data, start + ONE, end)
    end = after = _field_end(data, position, high, delimiter)
    while end > start and _is_gap(data[end - ONE], delimiter):
        end -= ONE
    return start, end, after, False


@helper
def _next_field(data, position, high, delimiter):
    """Return whether the line has another field after the one that ends at `position`, and where it begins."""
    if delimiter == WHITESPACE:
        position = _skip_gap(data, position, high, delimiter)
        return position < high and data[position] != NEWLINE, position
    more = position < high and data[position] == delimiter
    return more, _skip_gap(data, position + ONE, high, delimiter) if more else position


@entry_point
def tokenize(data, delimiter, comments, starts, ends, line_starts):
    """Split bytes into fields; line i has the fields line_starts[i] .. line_starts[i + 1] - 1.

    Blank lines, and lines that begin with a byte of `comments`, are skipped. Returns the number of fields, of lines,
    and of quoted fields that contain doubled quotes.
    """
    high = U(data.shape[0])
    fields, lines, position = U(0), U(0), U(0)
    doubled = 0
    while position < high:
        # Where tabs delimit, a tab at the beginning of a line is an empty field, but a line of tabs alone is blank.
        visible = _skip_gap(data, position, high, WHITESPACE)
        if _is_ignored(data, visible, high, comments):
            position = _skip_line(data, visible, high) + ONE
            continue
        position = _skip_gap(data, position, high, delimiter)
        line_starts[lines] = fields
        lines += ONE
        more = True
        while more:
            starts[fields], ends[fields], position, has_quote = _parse_field(data, position, high, delimiter)
            doubled += has_quote
            fields += ONE
            more, position = _next_field(data, position, high, delimiter)
        position += ONE
    line_starts[lines] = fields
    return np.int64(fields), np.int64(lines), doubled


@entry_point
def undouble_quotes(data, starts, ends):
    """Replace doubled quotes in quoted fields by single ones, in place; such fields then end earlier."""
    for i in range(starts.shape[0]):
        start, end = starts[i], ends[i]
        if start == 0 or data[start - 1] != QUOTE or end == data.shape[0] or data[end] != QUOTE:
            continue
        written, position = start, start
        while position < end:
            data[written] = data[position]
            position += 2 if data[position] == QUOTE and position + 1 < end and data[position + 1] == QUOTE else 1
            written += 1
        ends[i] = written


@entry_point
def parse_plain_edges(data, delimiter, values):
    """Fill `values` from lines of two plain integers, in one pass; return their count, or -1 if a line is different.

    It finds what `tokenize` and `parse_integers` would find, and exists for speed only.
    """
    size = U(data.shape[0])
    # Where white space delimits, only a single space is plain.
    separator = U(SPACE) if delimiter == WHITESPACE else U(delimiter)
    position, count = U(0), U(0)
    while position < size:
        for after in (separator, U(NEWLINE)):
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


@entry_point
def parse_integers(data, starts, ends, values):
    """Fill `values`; return the first field that is not a plain 64-bit integer, or -1.

    Plain means that printing the value gives the field again: no plus sign, no leading zero.
    """
    for i in range(starts.shape[0]):
        start, end = starts[i], ends[i]
        negative = start < end and data[start] == 45
        start += negative
        digits = end - start
        if digits < 1 or digits > 19 or (data[start] == 48 and (digits > 1 or negative)):
            return i
        value = ZERO
        for position in range(U(start), U(end)):
            digit = np.uint64(data[position]) - np.uint64(48)
            if digit > np.uint64(9):
                return i
            value = value * np.uint64(10) + digit
        if value > np.uint64(0x7FFFFFFFFFFFFFFF):
            return i
        values[i] = -np.int64(value) if negative else np.int64(value)
    return -1


@entry_point
def parse_weights(data, starts, ends, values):
    """Fill `values` with positive decimals that can be read without rounding twice, and with NaN elsewhere.

    A mantissa below 2**53 and a power of ten up to 10**22 are exact floats, so their quotient is rounded correctly.
    """
    for i in range(starts.shape[0]):
        mantissa = ZERO
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
        if plain and mantissa > ZERO and decimals <= 22:
            values[i] = np.float64(mantissa) / _POWERS[decimals]
        else:
            values[i] = np.nan


@entry_point
def key_fields(data, starts, ends, seed, keys):
    """Fill a key of two words for each field: up to 15 bytes, the field and its size; else two hashes and 255."""
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
                low = (low ^ U(data[position])) * GOLDEN
                low ^= low >> U(29)
                high = (high ^ U(data[position])) * U(0xC2B2AE3D27D4EB4F)
                high ^= high >> U(31)
            keys[i, 0], keys[i, 1] = mix(low), mix(high) | U(0xFF00000000000000)


@njit(inline="always")
def _hash_slot(low, high, mask):
    return mix(low ^ (high * GOLDEN)) & mask


@entry_point
def number_keys(keys, begin, slot_keys, slot_numbers, numbers, count, firsts):
    """Number the keys from `begin` on in the order of their first appearance; `count` keys have numbers already.

    Stops when two thirds of the slots of the hash table are taken. Returns where it stopped and the new count; `firsts`
    gets the positions at which new keys appeared. A slot is free while its number is -1.
    """
    mask = U(slot_numbers.shape[0] - 1)
    known = count
    slots = np.empty(_AHEAD, np.uint64)
    for first in range(begin, keys.shape[0], _AHEAD):
        low, high = U(first), U(min(first + _AHEAD, keys.shape[0]))
        if 3 * (count + _AHEAD) > 2 * slot_numbers.shape[0]:
            return first, count
        for i in range(low, high):
            slot = _hash_slot(keys[i, 0], keys[i, 1], mask)
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


@entry_point
def rehash_slots(old_keys, old_numbers, slot_keys, slot_numbers):
    """Copy every taken slot into a larger hash table whose slots are all free."""
    mask = U(slot_numbers.shape[0] - 1)
    for old in range(U(old_numbers.shape[0])):
        if old_numbers[old] >= 0:
            slot = _hash_slot(old_keys[old, 0], old_keys[old, 1], mask)
            while slot_numbers[slot] >= 0:
                slot = (slot + U(1)) & mask
            slot_keys[slot, 0], slot_keys[slot, 1] = old_keys[old, 0], old_keys[old, 1]
            slot_numbers[slot] = old_numbers[old]


@entry_point
def number_small_integers(values, table, numbers, count, firsts):
    """Number integers as `number_keys` does; `table` has the number of each integer below its length, or -1."""
    known = count
    for first in range(0, values.shape[0], _AHEAD):
        low, high = U(first), U(min(first + _AHEAD, values.shape[0]))
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


@entry_point
def append_fields(data, starts, ends, chosen, count, names, name_starts):
    """Append the chosen fields to the `count` names; name i is names[name_starts[i]:name_starts[i + 1]]."""
    end = name_starts[count]
    for i in chosen:
        for position in range(starts[i], ends[i]):
            names[end] = data[position]
            end += 1
        count += 1
        name_starts[count] = end


@entry_point
def first_name_mismatch(data, starts, ends, numbers, names, name_starts):
    """Return the first field, too long to be its own key, that differs from the name of its number, or -1."""
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


@entry_point
def join_names(numbers, line_starts, names, name_starts, data):
    """Write line i as the names of numbers[line_starts[i]:line_starts[i + 1]], separated by spaces; return the size."""
    size = 0
    for line in range(line_starts.shape[0] - 1):
        for i in range(line_starts[line], line_starts[line + 1]):
            for position in range(name_starts[numbers[i]], name_starts[numbers[i] + 1]):
                data[size] = names[position]
                size += 1
            data[size] = SPACE
            size += 1
        data[size - 1] = NEWLINE
    return size
