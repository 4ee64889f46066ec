"""Triton's interpreter, made to say what a GPU would refuse; and its bfloat16, mended.

The interpreter runs a kernel on a CPU with numpy when TRITON_INTERPRET=1 is set before triton is imported. It takes
some things that a GPU does not (a read just past a tensor, an int32 product that wraps) and computes bfloat16 wrongly
(triton-lang/triton#11584). The helpers here reach into names of ``triton.runtime.interpreter`` that are not public
(seen in 3.6 and 3.9); ``InterpreterChangedError`` if one is not as it was. Knows nothing about attention.
"""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch


class InterpreterChangedError(RuntimeError):
    """Triton's interpreter is not built as these helpers know it."""


class OutOfBoundsError(AssertionError):
    """A kernel reached for memory outside its tensors."""


def use_interpreter() -> None:
    """From now on kernels of this process run in the interpreter. RuntimeError if triton is there already without."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        return
    if "triton" in sys.modules:
        raise RuntimeError("triton was imported before TRITON_INTERPRET=1 was set; set it first")
    os.environ["TRITON_INTERPRET"] = "1"


def interpreted() -> bool:
    return os.environ.get("TRITON_INTERPRET") == "1"


@contextlib.contextmanager
def checked_run(tensors: Iterable[torch.Tensor]) -> Iterator[None]:
    """Inside: bfloat16 is right, and every access is to one of the tensors or to scratch of the launcher.

    numpy's warnings about infinities and NaN are off: a GPU has none, what counts is the result.
    """
    with np.errstate(all="ignore"), right_bfloat16(), bounds(tensors):
        yield


@contextlib.contextmanager
def overflow_checks() -> Iterator[None]:
    """Inside, an int32 sum, difference or product that does not fit raises. Twice as slow."""
    from triton.runtime import interpreter

    builder = interpreter.interpreter_builder
    before = builder.options
    try:
        builder.options = dataclasses.replace(before, debug=True, sanitize_overflow=True)
    except (TypeError, AttributeError) as error:
        raise InterpreterChangedError(str(error)) from error
    try:
        yield
    finally:
        builder.options = before


@contextlib.contextmanager
def bounds(tensors: Iterable[torch.Tensor]) -> Iterator[None]:
    """Inside, an active lane of a load or store outside these tensors raises OutOfBoundsError.

    Tensors made inside by ``Tensor.new_empty`` (a launcher's scratch) count too, and are filled with NaN: a part that
    nobody wrote must not be read.
    """
    known = [_span(tensor) for tensor in tensors]
    new_empty = torch.Tensor.new_empty

    def remembered(tensor: torch.Tensor, *shape: Any, **kwargs: Any) -> torch.Tensor:
        made = new_empty(tensor, *shape, **kwargs)
        if made.is_floating_point() and made.numel():
            made.fill_(float("nan"))
            known.append(_span(made))
            alive.append(made)
        return made

    alive: list[torch.Tensor] = []  # so that no address is given out twice

    def checked(access: Callable[..., Any], what: str) -> Callable[..., Any]:
        def call(builder: Any, pointers: Any, *rest: Any) -> Any:
            mask = rest[0] if what == "load" else rest[1]
            _check_lanes(pointers.data, mask.data, known, what)
            return access(builder, pointers, *rest)

        return call

    builder = _builder()
    load, store = builder.create_masked_load, builder.create_masked_store
    with (
        _replaced(torch.Tensor, new_empty=remembered),
        _replaced(
            builder,
            create_masked_load=checked(load, "load"),
            create_masked_store=checked(store, "store"),
        ),
    ):
        yield


def _check_lanes(pointers: Any, mask: Any, known: list[tuple[int, int]], what: str) -> None:
    addresses = np.asarray(pointers, dtype=np.uint64)
    addresses = addresses[np.broadcast_to(np.asarray(mask, dtype=bool), addresses.shape)]
    inside = np.zeros(addresses.shape, dtype=bool)
    for low, high in known:
        inside |= (addresses >= low) & (addresses < high)
    if not inside.all():
        bad = int(addresses[~inside][0])
        past = min((bad - high for _, high in known if bad >= high), default=None)
        where = "before every tensor" if past is None else f"{past} bytes past the end of a tensor"
        raise OutOfBoundsError(f"{what} of {int((~inside).sum())} lanes, the first {where}")


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    elements = 1 + sum(
        (size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )
    if not tensor.numel():
        elements = 0
    return tensor.data_ptr(), tensor.data_ptr() + elements * tensor.element_size()


@contextlib.contextmanager
def right_bfloat16() -> Iterator[None]:
    """Inside, bfloat16 is computed in float32 and rounded to the nearest even, as hardware does."""
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    builder = _builder()
    dot, arithmetic, cast = builder.create_dot, builder.binary_op, builder.cast_impl

    def is_bfloat16(handle: Any) -> bool:
        return bool(handle.dtype.scalar == tl.bfloat16)

    def widen(handle: Any) -> Any:
        if not is_bfloat16(handle):
            return handle
        wide = (handle.data.astype(np.uint32) << 16).view(np.float32)
        return TensorHandle(wide, tl.float32)

    def create_dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        return dot(self, widen(a), widen(b), *rest)

    def binary_op(self: Any, left: Any, right: Any, op: Any) -> Any:
        if not is_bfloat16(left):
            return arithmetic(self, left, right, op)
        result = arithmetic(self, widen(left), widen(right), op)
        return result if result.data.dtype == np.bool_ else cast_impl(self, result, tl.bfloat16)

    def cast_impl(self: Any, handle: Any, to: Any) -> Any:
        if handle.dtype.scalar == tl.float32 and to.scalar == tl.bfloat16:
            return TensorHandle(_nearest_bfloat16(handle.data), tl.bfloat16)
        return cast(self, widen(handle), to)

    with _replaced(builder, create_dot=create_dot, binary_op=binary_op, cast_impl=cast_impl):
        yield


def _nearest_bfloat16(values: Any) -> Any:
    """float32 -> the bits of the nearest bfloat16, ties to even; NaN stays NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded).reshape(np.shape(values))


def _builder() -> Any:
    from triton.runtime import interpreter

    return interpreter.InterpreterBuilder


@contextlib.contextmanager
def _replaced(owner: Any, **new: Any) -> Iterator[None]:
    missing = [name for name in new if not hasattr(owner, name)]
    if missing:
        raise InterpreterChangedError(f"{owner.__name__} has no {', '.join(missing)}")
    before = {name: getattr(owner, name) for name in new}
    for name, value in new.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)
