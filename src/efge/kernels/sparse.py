"""Products of a sparse matrix and a block of dense columns, which are as many as fill a cache line.

Each row of a product depends on no other row of it, so threads can share the rows without changing a bit. Sums are in
64 bits: a row may have millions of entries.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from efge.kernels.caching import entry_point
from efge.kernels.common import CACHE_LINE, ONE, U
from efge.kernels.intrinsics import emit_prefetch

# A row of x is requested this many entries before it is needed.
_AHEAD = 16
_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_FLOATS, _DOUBLES = ir.VectorType(ir.FloatType(), CACHE_LINE), ir.VectorType(ir.DoubleType(), CACHE_LINE)


class _Rows:
    """Code that combines rows of blocks as wide as a cache line, in 64 bits; sums stay in registers.

    From the source in Python, the compiler would store and load a sum for each entry that is added to it.
    """

    def __init__(self, context, builder, types_, args):
        self.builder = builder
        arrays = [context.make_array(kind)(context, builder, arg) for kind, arg in zip(types_, args, strict=True)]
        self.indices, self.weights, *self.blocks = (array.data for array in arrays)
        n_entries, n_weights = (cgutils.unpack_tuple(builder, array.shape, 1)[0] for array in arrays[:2])
        self.last = builder.sub(n_entries, ir.Constant(_INT64, 1))
        self.has_weights = builder.icmp_signed(">", n_weights, ir.Constant(_INT64, 0))

    def pointer(self, block, row):
        row = self.builder.mul(row, ir.Constant(_INT64, CACHE_LINE))
        return self.builder.bitcast(self.builder.gep(self.blocks[block], [row]), _FLOATS.as_pointer())

    def load(self, block, row):
        return self.builder.fpext(self.builder.load(self.pointer(block, row), align=4), _DOUBLES)

    def store(self, value, block, row):
        self.builder.store(self.builder.fptrunc(value, _FLOATS), self.pointer(block, row), align=4)

    def times(self, scalar, row):
        undefined = ir.Constant(_DOUBLES, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, ir.Constant(_INT32, 0))
        order = ir.Constant(ir.VectorType(_INT32, CACHE_LINE), [0] * CACHE_LINE)
        return self.builder.fmul(row, self.builder.shuffle_vector(first, undefined, order))

    def add_neighbors(self, total, begin, end, weighted):
        """Add the rows of the first block at the indices of entries, by their weights or not, to `total`."""
        builder = self.builder
        with cgutils.for_range_slice(builder, begin, end, ir.Constant(_INT64, 1), inc=True) as (entry, _):
            ahead = builder.add(entry, ir.Constant(_INT64, _AHEAD))
            ahead = builder.select(builder.icmp_signed("<", ahead, self.last), ahead, self.last)
            emit_prefetch(builder, self.pointer(0, self._index(ahead)))
            row = self.load(0, self._index(entry))
            if weighted:
                row = self.times(builder.fpext(builder.load(builder.gep(self.weights, [entry])), ir.DoubleType()), row)
            builder.store(builder.fadd(builder.load(total), row), total)

    def _index(self, entry):
        index = self.builder.load(self.builder.gep(self.indices, [entry]))
        return index if index.type == _INT64 else self.builder.zext(index, _INT64)


@intrinsic
def _combine_row(typing_context, indices, weights, x, y, out, sums, row, begin, end, a, b, c):
    """Set out[row] to a ((A + I) x)[row] + b y[row], and add c times that to sums[row].

    The row of A has the entries begin .. end - 1 of `indices` and `weights`.
    """

    def generate(context, builder, signature, args):
        rows, row = _Rows(context, builder, signature.args[:6], args[:6]), args[6]
        total = cgutils.alloca_once(builder, _DOUBLES)
        builder.store(rows.load(0, row), total)
        with builder.if_else(rows.has_weights) as (weighted, unweighted):
            with weighted:
                rows.add_neighbors(total, args[7], args[8], True)
            with unweighted:
                rows.add_neighbors(total, args[7], args[8], False)
        a, b, c = args[9:]
        result = builder.fadd(rows.times(a, builder.load(total)), rows.times(b, rows.load(1, row)))
        rows.store(result, 2, row)
        with builder.if_then(builder.fcmp_unordered("!=", c, ir.Constant(ir.DoubleType(), 0.0))):
            rows.store(builder.fadd(rows.load(3, row), rows.times(c, rows.load(2, row))), 3, row)
        return context.get_dummy_value()

    index, number = types.int64, types.float64
    return types.void(indices, weights, x, y, out, sums, index, index, index, number, number, number), generate


@entry_point
def combine_rows(indptr, indices, weights, scales, factors, x, y, out, sums, low, high):
    """Fill rows low .. high - 1 of `out` with a scales[i] ((A + I) x)[i] + b y[i], and add c times that to `sums`.

    A is the matrix of `indptr`, `indices` and `weights`, or of ones if there are no weights. The `factors` are a, b and
    c. Blocks have CACHE_LINE columns; `out` must not share memory with `x`, but may be `y`, and `sums` if c is 0.
    """
    a, b, c = factors
    for row in range(U(low), U(high)):
        begin, end = np.int64(indptr[row]), np.int64(indptr[row + ONE])
        scale = a * np.float64(scales[row])
        _combine_row(indices, weights, x, y, out, sums, np.int64(row), begin, end, scale, b, c)
