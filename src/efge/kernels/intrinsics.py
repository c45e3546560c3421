"""Machine instructions that Numba does not offer: the high half of a product, prefetching, and atomic operations."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_BYTE_POINTER = ir.IntType(8).as_pointer()
_INT32 = ir.IntType(32)
_READ, _KEEP_IN_ALL_LEVELS, _DATA = (ir.Constant(_INT32, value) for value in (0, 3, 1))


@intrinsic
def high_product(typing_context, a, b):
    """Return the upper 64 bits of the product of two uint64: scales a random a to 0 .. b - 1 without division."""

    def generate(context, builder, signature, args):
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


def emit_prefetch(builder, pointer):
    """Add an instruction that requests the cache line of a pointer, for intrinsics that compute addresses."""
    kind = ir.FunctionType(ir.VoidType(), [_BYTE_POINTER, _INT32, _INT32, _INT32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [builder.bitcast(pointer, _BYTE_POINTER), _READ, _KEEP_IN_ALL_LEVELS, _DATA])


@intrinsic
def prefetch(typing_context, array, position):
    """Request the cache line of array.ravel()[position] without waiting for it; the array must be contiguous.

    A position outside the array is harmless: nothing is read.
    """

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        emit_prefetch(builder, builder.gep(data, [args[1]]))
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic
def atomic_add(typing_context, array, position, value):
    """Add to an entry of an int64 array in one atomic step; return its value before."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", builder.gep(data, [args[1]]), args[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@intrinsic
def atomic_load(typing_context, array, position):
    """Return an entry of an int64 array as other threads have left it."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load_atomic(builder.gep(data, [args[1]]), "seq_cst", 8)

    return types.int64(array, types.int64), generate
