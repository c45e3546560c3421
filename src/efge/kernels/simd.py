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

_FLOAT, _INT32, _INT64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_VECTOR, _CUBIC = ir.VectorType(_FLOAT, ABREAST), ir.VectorType(_FLOAT, 4)
_ORDER = ir.VectorType(_INT32, ABREAST)
_ONE = ir.Constant(_INT64, 1)


class _Eight:
    """Vectors of eight numbers."""

    def __init__(self, builder):
        self.builder = builder

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
        first = self.builder.insert_element(undefined, scalar, ir.Constant(_INT32, 0))
        return self.builder.shuffle_vector(first, undefined, ir.Constant(_ORDER, [0] * ABREAST))

    def constant(self, value):
        return ir.Constant(_VECTOR, [value] * ABREAST)

    def largest(self, a, b):
        """The larger one of two; b where a is not a number."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def smallest(self, a, b):
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

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

    def columns(self, fours):
        """Four vectors of eight from eight vectors of four, by shuffles that join, pair and part them."""

        def shuffled(a, b, order):
            return self.builder.shuffle_vector(a, b, ir.Constant(_ORDER, order))

        joined = [shuffled(fours[i], fours[i + 4], [*range(ABREAST)]) for i in range(4)]
        even, odd = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
        first, second = (shuffled(*joined[:2], order) for order in (even, odd))
        third, fourth = (shuffled(*joined[2:], order) for order in (even, odd))
        low, high = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
        return [shuffled(*pair, order) for pair in ((first, third), (second, fourth)) for order in (low, high)]


class _Rows(_Eight):
    """Code that goes over the entries of one row of `vectors` and eight rows of `table`."""

    def __init__(self, context, builder, kinds, vectors, vector, table, rows, first):
        super().__init__(builder)
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


class _Slopes(_Eight):
    """Code that adds up the slopes of what eight rows observe, given as cubic polynomials for cells of scores."""

    def __init__(self, context, builder, kinds, slopes, seen, first):
        super().__init__(builder)
        slopes = context.make_array(kinds[0])(context, builder, slopes)
        seen = context.make_array(kinds[1])(context, builder, seen)
        self.last = builder.sub(cgutils.unpack_tuple(builder, slopes.shape, 3)[1], ir.Constant(_INT64, 1))
        self.zeros_cubics = slopes.data
        self.ones_cubics = builder.gep(slopes.data, [builder.mul(builder.add(self.last, _ONE), ir.Constant(_INT64, 4))])
        self.zeros = builder.gep(seen.data, [first])
        self.ones = builder.gep(self.zeros, [cgutils.unpack_tuple(builder, seen.shape, 2)[1]])

    def at(self, place):
        """Sums of slopes at places on the scale of the cells, and how they change; outside is the first or last."""
        builder = self.builder
        place = self.largest(place, self.constant(0.0))
        place = self.smallest(place, self.broadcast(builder.sitofp(self.last, _FLOAT)))
        cell = builder.fptosi(place, _ORDER)
        u = builder.fsub(place, builder.sitofp(cell, _VECTOR))
        a, b, c, d = self.columns([self._cubic(cell, i) for i in range(ABREAST)])
        three_d = builder.fmul(d, self.constant(3.0))
        two_c = builder.fadd(c, c)
        change = self.multiply_add(u, self.multiply_add(u, three_d, two_c), b)
        return self.multiply_add(u, self.multiply_add(u, self.multiply_add(u, d, c), b), a), change

    def _cubic(self, cell, row):
        """The polynomial of all that one row observes."""
        builder = self.builder
        index = builder.zext(builder.extract_element(cell, ir.Constant(_INT32, row)), _INT64)
        index = builder.mul(index, ir.Constant(_INT64, 4))
        total = None
        for cubics, seen in ((self.zeros_cubics, self.zeros), (self.ones_cubics, self.ones)):
            one = builder.load(builder.bitcast(builder.gep(cubics, [index]), _CUBIC.as_pointer()), align=4)
            times = builder.load(builder.gep(seen, [ir.Constant(_INT64, row)]))
            undefined = ir.Constant(_CUBIC, ir.Undefined)
            times = builder.insert_element(undefined, times, ir.Constant(_INT32, 0))
            times = builder.shuffle_vector(times, undefined, ir.Constant(ir.VectorType(_INT32, 4), [0] * 4))
            total = builder.fmul(one, times) if total is None else builder.fadd(total, builder.fmul(one, times))
        return total


@intrinsic
def meet_rows(typing_context, vectors, vector, table, rows, first, products, place):
    """Inner products of one row of `vectors` with eight rows of `table`, and, as the ninth, with itself.

    The eight are those from rows[first] on; products go to products[place] and on, where there is room for 16.
    """

    def generate(context, builder, signature, args):
        over = _Rows(context, builder, signature.args, *args[:5])
        sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(ABREAST + 1)]
        for sum_place in sums:
            builder.store(over.constant(0.0), sum_place)
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
def choose_steps(typing_context, slopes, seen, first, products, place, square, low, scale, rate, steps):
    """Add to the steps of eight rows along what meets them, by what they observe, and to their products accordingly.

    A row sees 0 and 1 as often as the first and second row of `seen` say, from `first` on. Were its m observations made
    one after the other, each would meet a slope that those before have changed; so the sum of the slopes is divided by
    1 - (m - 1) / 2m times the change of the sum, where that is against it, with the score that the sum moves. No
    observation moves a score by more than 1. The answer is what the steps are worth along what meets the rows, and not
    a number where a product is not finite.
    """

    def generate(context, builder, signature, args):
        slopes = _Slopes(context, builder, signature.args, *args[:3])
        products, steps = (
            builder.gep(context.make_array(signature.args[i])(context, builder, args[i]).data, [args[4]])
            for i in (3, 9)
        )
        square, low, scale, rate = (slopes.broadcast(scalar) for scalar in args[5:9])
        zero, one, two = (slopes.constant(number) for number in (0.0, 1.0, 2.0))
        score, before = slopes.load(products), slopes.load(steps)
        slope, change = slopes.at(builder.fmul(builder.fsub(score, low), scale))
        often = builder.fadd(slopes.load(slopes.zeros), slopes.load(slopes.ones))
        others = slopes.largest(builder.fsub(often, one), zero)
        others = builder.fdiv(others, builder.fmul(two, slopes.largest(often, one)))
        against = builder.fmul(scale, slopes.smallest(change, zero))
        bend = builder.fmul(builder.fmul(rate, square), builder.fmul(against, others))
        step = builder.fdiv(builder.fmul(rate, slope), builder.fsub(one, bend))
        most = builder.fdiv(often, slopes.largest(square, slopes.constant(1e-9)))
        step = slopes.largest(slopes.smallest(step, most), builder.fneg(most))
        slopes.store(builder.fadd(before, step), steps)
        slopes.store(slopes.multiply_add(step, square, score), products)
        worth = builder.fmul(step, slopes.multiply_add(step, others, before))
        worth = builder.fadd(worth, builder.fmul(score, zero))
        return builder.extract_element(slopes.sums([worth] * ABREAST), ir.Constant(_INT32, 0))

    index, number = types.int64, types.float32
    arguments = (slopes, seen, index, products, index, number, number, number, number, steps)
    return number(*arguments), generate


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
