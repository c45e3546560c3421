"""Rows of float32 tables, eight at a time or one by one, in vector instructions that no compiler finds by itself.

Rows are padded with zeros to a multiple of CACHE_LINE entries, which are handled together: two AVX registers. The eight
rows share one pass over the center's vector, so that it is loaded once. They are updated without a test that they are
different rows: the caller makes sure of that. The formulas are in docs/mathematics.md.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from efge.kernels.common import CACHE_LINE

# Rows that are handled together: their sums, or their steps, fill half of the registers.
LANES = 8

_FLOAT, _INT32, _INT64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_VECTOR, _CUBIC = ir.VectorType(_FLOAT, LANES), ir.VectorType(_FLOAT, 4)
_ORDER = ir.VectorType(_INT32, LANES)
_ONE = ir.Constant(_INT64, 1)


class _Vectors:
    """Code for vectors of numbers."""

    def __init__(self, builder, lanes=LANES):
        self.builder = builder
        self.lanes, self.vector = lanes, ir.VectorType(_FLOAT, lanes)

    def load(self, row, offset=None):
        row = row if offset is None else self.builder.gep(row, [offset])
        return self.builder.load(self.builder.bitcast(row, self.vector.as_pointer()), align=4)

    def store(self, value, row, offset=None):
        row = row if offset is None else self.builder.gep(row, [offset])
        self.builder.store(value, self.builder.bitcast(row, self.vector.as_pointer()), align=4)

    def multiply_add(self, a, b, c):
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.fmuladd.v{self.lanes}f32")
        return self.builder.call(function, [a, b, c])

    def broadcast(self, scalar):
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, ir.Constant(_INT32, 0))
        order = ir.Constant(ir.VectorType(_INT32, self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, undefined, order)

    def constant(self, value):
        return ir.Constant(self.vector, [value] * self.lanes)

    def maximum(self, a, b):
        """Larger one of two; b where a is NaN."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def minimum(self, a, b):
        """Smaller one of two; b where a is NaN."""
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

    def sums(self, vectors):
        """Return one vector with the sums of eight vectors: three times, add neighbors and interleave the results."""
        for width in (1, 2, 4):
            low, high = [], []
            for block in range(0, LANES, 2 * width):
                low += [*range(block, block + width), *range(LANES + block, LANES + block + width)]
                high += [i + width for i in low[-2 * width :]]
            low, high = ir.Constant(_ORDER, low), ir.Constant(_ORDER, high)
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [
                self.builder.fadd(self.builder.shuffle_vector(a, b, low), self.builder.shuffle_vector(a, b, high))
                for a, b in pairs
            ]
        return vectors[0]

    def transpose(self, fours):
        """Transpose eight vectors of four into four vectors of eight, by shuffles."""

        def shuffled(a, b, order):
            return self.builder.shuffle_vector(a, b, ir.Constant(_ORDER, order))

        joined = [shuffled(fours[i], fours[i + 4], [*range(LANES)]) for i in range(4)]
        even, odd = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
        first, second = (shuffled(*joined[:2], order) for order in (even, odd))
        third, fourth = (shuffled(*joined[2:], order) for order in (even, odd))
        low, high = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
        return [shuffled(*pair, order) for pair in ((first, third), (second, fourth)) for order in (low, high)]


class _RowLoop(_Vectors):
    """Code that goes over the entries of one center and eight rows of `table`."""

    def __init__(self, context, builder, types_, centers, center, table, rows, first):
        super().__init__(builder)
        centers = context.make_array(types_[0])(context, builder, centers)
        table = context.make_array(types_[2])(context, builder, table)
        numbers = builder.gep(context.make_array(types_[3])(context, builder, rows).data, [first])
        self.width = cgutils.unpack_tuple(builder, centers.shape, 2)[1]
        self.center = builder.gep(centers.data, [builder.mul(center, self.width)])
        numbers = [builder.load(builder.gep(numbers, [ir.Constant(_INT64, i)])) for i in range(LANES)]
        self.rows = [builder.gep(table.data, [builder.mul(number, self.width)]) for number in numbers]

    def cache_lines(self):
        """Loop over the cache lines of a row."""
        step = ir.Constant(_INT64, CACHE_LINE)
        return cgutils.for_range_slice(self.builder, ir.Constant(_INT64, 0), self.width, step, inc=True)

    def half(self, offset, which):
        """Offset of the first or second half of a cache line."""
        return self.builder.add(offset, ir.Constant(_INT64, which * LANES))


class _CacheLines(_Vectors):
    """Code that goes over the cache lines of single rows of a table."""

    def __init__(self, context, builder, kind, table):
        super().__init__(builder, CACHE_LINE)
        table = context.make_array(kind)(context, builder, table)
        self.data, self.width = table.data, cgutils.unpack_tuple(builder, table.shape, 2)[1]

    def row(self, number):
        return self.builder.gep(self.data, [self.builder.mul(number, self.width)])

    def offsets(self):
        """Loop over the cache lines of a row."""
        step = ir.Constant(_INT64, CACHE_LINE)
        return cgutils.for_range_slice(self.builder, ir.Constant(_INT64, 0), self.width, step, inc=True)


class _Splines(_Vectors):
    """Code that evaluates the gradient of all that eight rows observe, by cubic splines."""

    def __init__(self, context, builder, types_, splines, observations, first):
        super().__init__(builder)
        splines = context.make_array(types_[0])(context, builder, splines)
        observations = context.make_array(types_[1])(context, builder, observations)
        self.last = builder.sub(cgutils.unpack_tuple(builder, splines.shape, 3)[1], ir.Constant(_INT64, 1))
        self.splines_of_0 = splines.data
        self.splines_of_1 = builder.gep(
            splines.data, [builder.mul(builder.add(self.last, _ONE), ir.Constant(_INT64, 4))]
        )
        self.zeros = builder.gep(observations.data, [first])
        self.ones = builder.gep(self.zeros, [cgutils.unpack_tuple(builder, observations.shape, 2)[1]])

    def evaluate(self, position):
        """Return gradients, and their derivatives, at positions on the scale of the spline's intervals.

        A position outside the spline counts as its first or last one.
        """
        builder = self.builder
        position = self.maximum(position, self.constant(0.0))
        position = self.minimum(position, self.broadcast(builder.sitofp(self.last, _FLOAT)))
        interval = builder.fptosi(position, _ORDER)
        u = builder.fsub(position, builder.sitofp(interval, _VECTOR))
        a, b, c, d = self.transpose([self._cubic(interval, i) for i in range(LANES)])
        three_d = builder.fmul(d, self.constant(3.0))
        two_c = builder.fadd(c, c)
        derivative = self.multiply_add(u, self.multiply_add(u, three_d, two_c), b)
        return self.multiply_add(u, self.multiply_add(u, self.multiply_add(u, d, c), b), a), derivative

    def _cubic(self, interval, row):
        """Return the polynomial of all that one row observes: the sum of its zeros' and its ones' polynomials."""
        builder = self.builder
        index = builder.zext(builder.extract_element(interval, ir.Constant(_INT32, row)), _INT64)
        index = builder.mul(index, ir.Constant(_INT64, 4))
        total = None
        for spline, counts in ((self.splines_of_0, self.zeros), (self.splines_of_1, self.ones)):
            cubic = builder.load(builder.bitcast(builder.gep(spline, [index]), _CUBIC.as_pointer()), align=4)
            count = builder.load(builder.gep(counts, [ir.Constant(_INT64, row)]))
            undefined = ir.Constant(_CUBIC, ir.Undefined)
            count = builder.insert_element(undefined, count, ir.Constant(_INT32, 0))
            count = builder.shuffle_vector(count, undefined, ir.Constant(ir.VectorType(_INT32, 4), [0] * 4))
            total = builder.fmul(cubic, count) if total is None else builder.fadd(total, builder.fmul(cubic, count))
        return total


@intrinsic
def dot_rows(typing_context, centers, center, table, rows, first, scores, out):
    """Compute the inner products of a center with eight rows of `table`, and with itself.

    The rows are table[rows[first]] and the seven after it. Their products go to scores[out : out + 8]; the center's
    square goes to the eight entries after that.
    """

    def generate(context, builder, signature, args):
        loop = _RowLoop(context, builder, signature.args, *args[:5])
        sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(LANES + 1)]
        for partial in sums:
            builder.store(loop.constant(0.0), partial)
        with loop.cache_lines() as (offset, _):
            for which in range(2):
                at = loop.half(offset, which)
                x = loop.load(loop.center, at)
                for partial, y in zip(sums, [*(loop.load(row, at) for row in loop.rows), x], strict=True):
                    builder.store(loop.multiply_add(x, y, builder.load(partial)), partial)
        *products, square = (builder.load(partial) for partial in sums)
        scores = builder.gep(context.make_array(signature.args[5])(context, builder, args[5]).data, [args[6]])
        loop.store(loop.sums(products), scores)
        loop.store(loop.sums([square] * LANES), builder.gep(scores, [ir.Constant(_INT64, LANES)]))
        return context.get_dummy_value()

    index = types.int64
    return types.void(centers, index, table, rows, index, scores, index), generate


@intrinsic
def step_sizes(typing_context, splines, observations, first, scores, at, square, low, scale, rate, steps):
    """Add the step sizes of eight rows along a center to steps[at : at + 8], and move their scores accordingly.

    Row i observes 0 observations[0, i] times and 1 observations[1, i] times, from i = `first` on: m times in all. With
    g the sum of their gradients at the score s, g' its derivative and |a|^2 the square of the center, the size is

        step = rate g / (1 - rate |a|^2 min(g', 0) (m - 1) / 2m),   at most m / |a|^2 in size,

    which is about what m single steps would add up to, each with the gradient that those before it have left. No
    observation therefore moves a score by more than 1. The new score is s + step |a|^2.

    Returns what the steps add to the center along itself: the sum of step (step (m - 1) / 2m + earlier steps); NaN if a
    score is not finite.
    """

    def generate(context, builder, signature, args):
        code = _Splines(context, builder, signature.args, *args[:3])
        scores, steps = (
            builder.gep(context.make_array(signature.args[i])(context, builder, args[i]).data, [args[4]])
            for i in (3, 9)
        )
        square, low, scale, rate = (code.broadcast(scalar) for scalar in args[5:9])
        zero, one, two = (code.constant(number) for number in (0.0, 1.0, 2.0))
        score, before = code.load(scores), code.load(steps)
        gradient, derivative = code.evaluate(builder.fmul(builder.fsub(score, low), scale))
        m = builder.fadd(code.load(code.zeros), code.load(code.ones))
        others = code.maximum(builder.fsub(m, one), zero)
        others = builder.fdiv(others, builder.fmul(two, code.maximum(m, one)))
        curvature = builder.fmul(scale, code.minimum(derivative, zero))
        damping = builder.fmul(builder.fmul(rate, square), builder.fmul(curvature, others))
        step = builder.fdiv(builder.fmul(rate, gradient), builder.fsub(one, damping))
        limit = builder.fdiv(m, code.maximum(square, code.constant(1e-9)))
        step = code.maximum(code.minimum(step, limit), builder.fneg(limit))
        code.store(builder.fadd(before, step), steps)
        code.store(code.multiply_add(step, square, score), scores)
        center_step = builder.fmul(step, code.multiply_add(step, others, before))
        center_step = builder.fadd(center_step, builder.fmul(score, zero))
        return builder.extract_element(code.sums([center_step] * LANES), ir.Constant(_INT32, 0))

    index, number = types.int64, types.float32
    arguments = (splines, observations, index, scores, index, number, number, number, number, steps)
    return number(*arguments), generate


@intrinsic
def update_rows(typing_context, centers, center, table, rows, first, steps, at, gain):
    """Add to eight rows of `table` their step times the center, and to `gain` their step times the row before that.

    The rows are table[rows[first]] and the seven after it, their steps steps[at : at + 8].
    """

    def generate(context, builder, signature, args):
        loop = _RowLoop(context, builder, signature.args, *args[:5])
        steps = builder.gep(context.make_array(signature.args[5])(context, builder, args[5]).data, [args[6]])
        steps = [builder.load(builder.gep(steps, [ir.Constant(_INT64, i)])) for i in range(LANES)]
        steps = [loop.broadcast(step) for step in steps]
        gain = context.make_array(signature.args[7])(context, builder, args[7]).data
        with loop.cache_lines() as (offset, _):
            for which in range(2):
                at = loop.half(offset, which)
                x, total = loop.load(loop.center, at), loop.load(gain, at)
                for row, step in zip(loop.rows, steps, strict=True):
                    y = loop.load(row, at)
                    total = loop.multiply_add(step, y, total)
                    loop.store(loop.multiply_add(step, x, y), row, at)
                loop.store(total, gain, at)
        return context.get_dummy_value()

    index = types.int64
    return types.void(centers, index, table, rows, index, steps, index, gain), generate


@intrinsic
def update_row_by_row(typing_context, centers, center, table, rows, steps, count):
    """Add to each of `count` rows its step times the center, and to the center each step times the row before that.

    A row may be listed more than once. What a row that is the center itself gains as a row is lost.
    """

    def generate(context, builder, signature, args):
        centers, table = (_CacheLines(context, builder, signature.args[i], args[i]) for i in (0, 2))
        rows, steps = (context.make_array(signature.args[i])(context, builder, args[i]).data for i in (3, 4))
        center, total = centers.row(args[1]), cgutils.alloca_once(builder, centers.vector)
        with centers.offsets() as (at, _):
            x = centers.load(center, at)
            builder.store(x, total)
            with cgutils.for_range(builder, args[5]) as loop:
                row = table.row(builder.load(builder.gep(rows, [loop.index])))
                step = table.broadcast(builder.load(builder.gep(steps, [loop.index])))
                y = table.load(row, at)
                builder.store(table.multiply_add(step, y, builder.load(total)), total)
                table.store(table.multiply_add(step, x, y), row, at)
            centers.store(builder.load(total), center, at)
        return context.get_dummy_value()

    return types.void(centers, types.int64, table, rows, steps, types.int64), generate
