"""A GGUF file, opened: its metadata, and where each tensor lies. Knows nothing about models.

The layout (little-endian; github.com/ggml-org/ggml/blob/master/docs/gguf.md): the magic, the version, how many
tensors and metadata fields; the fields; name, shape, type and offset of every tensor; then, aligned, the tensors.
The ``gguf`` package could read it too, at some seconds for a vocabulary; here it only turns tensors into floats.
"""

import mmap
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pagesim.core.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_DIMENSIONS = 4
SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
"""Numbers of metadata types, and how ``struct`` reads them."""
STRING, ARRAY = 8, 9
Value = TypeVar("Value")


class StoredTensor(NamedTuple):
    """``shape`` is as in PyTorch, the fastest dimension last; ``kind`` is the number of its ggml type."""

    shape: tuple[int, ...]
    kind: int
    offset: int
    num_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class GgufFile:
    """``fields`` are the metadata: numbers, strings, and lists of them."""

    path: Path
    fields: dict[str, object]
    tensors: dict[str, StoredTensor]
    data: mmap.mmap

    def get(self, name: str, kind: type[Value]) -> Value | None:
        """None where the field is missing. InputError if it is something else than ``kind``."""
        value = self.fields.get(name)
        if value is None or (isinstance(value, kind) and not (kind is int and value is True)):
            return value
        raise InputError(f"{self.path}: {name} is {str(value)[:60]!r}; it must be {kind.__name__}")

    def need(self, name: str, kind: type[Value]) -> Value:
        value = self.get(name, kind)
        if value is None:
            raise InputError(f"{self.path} has no {name}; a Llama-like model needs it")
        return value

    def floats(self, name: str) -> "npt.NDArray[np.float32]":
        """The tensor in float32, dequantised if need be: a copy of its own."""
        import numpy as np
        from gguf import GGMLQuantizationType
        from gguf.quants import dequantize, quant_shape_to_byte_shape

        tensor = self.tensors[name]
        kind = GGMLQuantizationType(tensor.kind)
        raw = np.frombuffer(self.data, np.uint8, tensor.num_bytes, tensor.offset)
        rows = raw.reshape(quant_shape_to_byte_shape(tensor.shape, kind))
        try:
            values = dequantize(rows, kind)
        except NotImplementedError as error:
            raise InputError(
                f"{self.path}: {name} is of type {kind.name}, which the gguf package cannot turn into floats"
            ) from error
        return np.array(values, np.float32).reshape(tensor.shape)


def open_gguf(path: Path) -> GgufFile:
    """Reads all but the tensors, and checks that those are there. InputError if the file is cut off or odd."""
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:  # an empty file cannot be mapped
        raise InputError(f"{path} is empty; a GGUF file was expected") from error
    return _Reader(path, data).read()


class _Reader:
    """Goes through the file once, from its start."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self._path = path
        self._data = data
        self._at = 0

    def read(self) -> GgufFile:
        if self._take(4) != MAGIC:
            raise InputError(
                f"{self._path} does not begin with {MAGIC.decode()}: it is no GGUF file"
            )
        version = self._number("I")
        if version not in VERSIONS:
            raise InputError(
                f"{self._path} is a GGUF file of version {version} or of a big-endian machine; "
                f"versions {' and '.join(map(str, VERSIONS))}, little-endian, are read"
            )
        num_tensors, num_fields = self._number("Q"), self._number("Q")
        fields = {self._string(): self._value(self._number("I")) for _ in range(num_fields)}
        found = [self._tensor() for _ in range(num_tensors)]
        alignment = fields.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1:
            raise InputError(f"{self._path}: general.alignment is {alignment!r}, not above 0")
        start = -(-self._at // alignment) * alignment
        tensors = {name: tensor._replace(offset=start + tensor.offset) for name, tensor in found}
        cut_off = [n for n, t in tensors.items() if t.offset + t.num_bytes > len(self._data)]
        if cut_off:
            raise InputError(
                f"{self._path} is cut off: {len(self._data):,} bytes are there, and {', '.join(cut_off)} "
                f"would end at {max(tensors[n].offset + tensors[n].num_bytes for n in cut_off):,}; fetch it again"
            )
        return GgufFile(self._path, fields, tensors, self._data)

    def _tensor(self) -> tuple[str, StoredTensor]:
        from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

        name = self._string()
        num_dimensions = self._number("I")
        if num_dimensions > MOST_DIMENSIONS:
            raise InputError(f"{self._path}: {name} has {num_dimensions} dimensions; 4 is the most")
        shape = tuple(reversed([self._number("Q") for _ in range(num_dimensions)]))
        kind, offset = self._number("I"), self._number("Q")
        try:
            values, num_bytes = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
        except (ValueError, KeyError) as error:
            raise InputError(
                f"{self._path}: {name} is of type number {kind}, which the gguf package does not know"
            ) from error
        if shape and shape[-1] % values:
            raise InputError(
                f"{self._path}: {name} has rows of {shape[-1]} values, not a multiple of the {values} of its type"
            )
        return name, StoredTensor(shape, kind, offset, prod(shape) // values * num_bytes)

    def _value(self, kind: int) -> object:
        if kind in SCALARS:
            return self._scalars(SCALARS[kind], 1)[0]
        if kind == STRING:
            return self._string()
        if kind != ARRAY:
            raise InputError(f"{self._path}: a metadata field has type {kind}, which is unknown")
        item, length = self._number("I"), self._number("Q")
        if item in SCALARS:
            return self._scalars(SCALARS[item], length)
        if item != STRING:
            raise InputError(
                f"{self._path}: a metadata list holds values of type {item}, which are not read"
            )
        return [self._string() for _ in range(length)]

    def _string(self) -> str:
        return self._take(self._number("Q")).decode("utf-8", "replace")

    def _number(self, form: str) -> int:
        (number,) = struct.unpack("<" + form, self._take(struct.calcsize("<" + form)))
        assert isinstance(number, int), "only whole numbers are read this way"
        return number

    def _scalars(self, form: str, length: int) -> list[object]:
        raw = self._take(length * struct.calcsize("<" + form))
        return list(struct.unpack(f"<{length}{form}", raw))

    def _take(self, num_bytes: int) -> bytes:
        start, self._at = self._at, self._at + num_bytes
        if self._at > len(self._data):
            raise InputError(
                f"{self._path} is cut off: its {len(self._data):,} bytes end inside the header; fetch it again"
            )
        return self._data[start : self._at]
