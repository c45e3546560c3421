"""Rows of float32 tables, eight at a time, in vector instructions that a compiler does not find by itself.

Rows have a multiple of CHUNK entries; what is past the vectors' dimension is zero. The eight rows share one pass over
the vector that meets them, so that it is loaded once, and may be moved without a test that they differ.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

# Entries of a row that are handled together: a cache line, two AVX registers.
CHUNK = 16
# Rows that are handled together: their sums, or their steps, fill half of the registers.
ABREAST = 8

_FLOAT, _INT64 = ir.FloatType(), ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, ABREAST)
_ORDER = ir.VectorType(ir.IntType(32), ABREAST)


class _Rows:
    """Code that goes over the entries of one row of `vectors` and eight rows of `table`."""

    def __init__(self, context, builder, kinds, vectors, vector, table, rows, first):
        self.builder = builder
        vectors = context.make_array(kinds[0])(context, builder, vectors)
        table = context.make_array(kinds[2])(context, builder, table)
        numbers = builder.gep(context.make_array(kinds[3])(context, builder, rows).data, [first])
        self.width = cgutils.unpack_tuple(builder, vectors.shape, 2)[1]
        self.vector = builder.gep(vectors.data, [builder.mul(vector, self.width)])
        numbers = [builder.load(builder.gep(numbers, [ir.Constant(_INT64, i)])) for i in range(ABREAST)]
        self.rows = [builder.gep(table.data, [builder.mul(number, self.width)]) for number in numbers]

    def chunks(self):
        """A loop over the row; in it, the two halves of a chunk."""
        step = ir.Constant(_INT64, CHUNK)
        return cgutils.for_range_slice(self.builder, ir.Constant(_INT64, 0), self.width, step, inc=True)

    def half(self, offset, which):
        return self.builder.add(offset, ir.Constant(_INT64, which * ABREAST))

    def load(self, row, offset=None):
        row = row if offset is None else self.builder.gep(row, [offset])
        return self.builder.load(self.builder.bitcast(row, _VECTOR.as_pointer()), align=4)

    def store(self, value, row, offset=None):
        row = row if offset is None else self.builder.gep(row, [offset])
        self.builder.store(value, self.builder.bitcast(row, _VECTOR.as_pointer()), align=4)

    def multiply_add(self, a, b, c):
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.fmuladd.v{ABREAST}f32")
        return self.builder.call(function, [a, b, c])

    def broadcast(self, scalar):
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(first, undefined, ir.Constant(_ORDER, [0] * ABREAST))

    def sums(self, vectors):
        """One vector with the sum of each of eight: neighbors are added, and the results interleaved, three times."""
        for width in (1, 2, 4):
            low, high = [], []
            for block in range(0, ABREAST, 2 * width):
                low += [*range(block, block + width), *range(ABREAST + block, ABREAST + block + width)]
                high += [i + width for i in low[-2 * width :]]
            low, high = ir.Constant(_ORDER, low), ir.Constant(_ORDER, high)
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [
                self.builder.fadd(self.builder.shuffle_vector(a, b, low), self.builder.shuffle_vector(a, b, high))
                for a, b in pairs
            ]
        return vectors[0]


@intrinsic
def meet_rows(typing_context, vectors, vector, table, rows, first, products, place):
    """Inner products of one row of `vectors` with eight rows of `table`, and, as the ninth, with itself.

    The eight are those from rows[first] on; products go to products[place] and on, where there is room for 16.
    """

    def generate(context, builder, signature, args):
        over = _Rows(context, builder, signature.args, *args[:5])
        zero = ir.Constant(_VECTOR, [0.0] * ABREAST)
        sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(ABREAST + 1)]
        for sum_place in sums:
            builder.store(zero, sum_place)
        with over.chunks() as (offset, _):
            for which in range(2):
                at = over.half(offset, which)
                x = over.load(over.vector, at)
                for sum_place, y in zip(sums, [*(over.load(row, at) for row in over.rows), x], strict=True):
                    builder.store(over.multiply_add(x, y, builder.load(sum_place)), sum_place)
        *rows, itself = (builder.load(sum_place) for sum_place in sums)
        out = builder.gep(context.make_array(signature.args[5])(context, builder, args[5]).data, [args[6]])
        over.store(over.sums(rows), out)
        over.store(over.sums([itself] * ABREAST), builder.gep(out, [ir.Constant(_INT64, ABREAST)]))
        return context.get_dummy_value()

    index = types.int64
    return types.void(vectors, index, table, rows, index, products, index), generate


@intrinsic
def move_rows(typing_context, vectors, vector, table, rows, first, steps, place, gain):
    """Move eight rows of `table` along one of `vectors`, and add to `gain` what they were, each times its step.

    The eight are those from rows[first] on; steps are those from steps[place] on.
    """

    def generate(context, builder, signature, args):
        over = _Rows(context, builder, signature.args, *args[:5])
        steps = builder.gep(context.make_array(signature.args[5])(context, builder, args[5]).data, [args[6]])
        steps = [builder.load(builder.gep(steps, [ir.Constant(_INT64, i)])) for i in range(ABREAST)]
        steps = [over.broadcast(step) for step in steps]
        gain = context.make_array(signature.args[7])(context, builder, args[7]).data
        with over.chunks() as (offset, _):
            for which in range(2):
                at = over.half(offset, which)
                x, total = over.load(over.vector, at), over.load(gain, at)
                for row, step in zip(over.rows, steps, strict=True):
                    y = over.load(row, at)
                    total = over.multiply_add(step, y, total)
                    over.store(over.multiply_add(step, x, y), row, at)
                over.store(total, gain, at)
        return context.get_dummy_value()

    index = types.int64
    return types.void(vectors, index, table, rows, index, steps, index, gain), generate
