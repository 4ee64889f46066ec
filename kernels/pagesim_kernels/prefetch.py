"""One instruction that Numba has no name for: ask the memory for something before it is needed.

Blocks lie anywhere, so the hardware can not guess which comes next; the block table knows. For ``cpu.py``.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LINE_FLOATS = 16
"""float32 of one cache line."""
READ, KEEP, DATA = 0, 3, 1


@intrinsic
def prefetch_at(_typing: Any, array: Any, offset: Any) -> Any:
    """Ask for the cache line of element ``offset`` from the array's start; never fails, changes nothing."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        flags = [ir.Constant(ir.IntType(32), flag) for flag in (READ, KEEP, DATA)]
        kind = ir.FunctionType(ir.VoidType(), [address.type, *(flag.type for flag in flags)])
        name = "llvm.prefetch.p0i8"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(function, [address, *flags])
        return context.get_dummy_value()

    return types.void(array, offset), generate
