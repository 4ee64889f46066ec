"""What tensors a Hugging Face folder holds: ``model.safetensors``, or shards and their index. Knows nothing about
models."""

from functools import partial
from pathlib import Path, PurePath
from typing import Protocol, cast

import torch

from pagesim.core.errors import InputError
from pagesim.engine.hf_config import read_json
from pagesim.engine.weights import Stored, listed

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
FLOATS = ("F64", "F32", "F16", "BF16")
NO_PARAMETERS = ".rotary_emb.inv_freq"
"""Old Llama checkpoints carry what is computed from the config; names end so."""


class _Slice(Protocol):
    """What ``safetensors`` knows of a tensor without reading it; its own types do not say so."""

    def get_shape(self) -> list[int]: ...

    def get_dtype(self) -> str: ...


class _OpenFile(Protocol):
    def keys(self) -> list[str]: ...

    def get_slice(self, name: str) -> _Slice: ...

    def get_tensor(self, name: str) -> torch.Tensor: ...


def stored_in_folder(folder: Path) -> dict[str, Stored]:
    """Every parameter, under its name. InputError if a file is missing or cut off; only headers are read."""
    stored: dict[str, Stored] = {}
    twice = []
    for path in weight_files(folder):
        for name, tensor in _stored_in_file(path).items():
            if name in stored:
                twice.append(name)
            stored[name] = tensor
    if twice:
        raise InputError(f"the weights in {folder} hold tensors in two files: {listed(twice)}")
    return {n: tensor for n, tensor in stored.items() if not n.endswith(NO_PARAMETERS)}


def weight_files(folder: Path) -> list[Path]:
    """The single file, else all that the index names. InputError that names every file that is missing."""
    index = folder / INDEX
    if (folder / SINGLE).is_file() or not index.is_file():
        names = [SINGLE]
    else:
        shards = read_json(index).get("weight_map")
        if (
            not isinstance(shards, dict)
            or not shards
            or not all(map(_is_file_name, shards.values()))
        ):
            raise InputError(f"{index} has no weight_map from tensors to names of files beside it")
        names = sorted(set(shards.values()))
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        hint = f" (nor {INDEX})" if missing == [SINGLE] else f", which {INDEX} names"
        others = sorted(path.name for path in folder.glob("*.bin"))
        hint += f"; {listed(others)} cannot be read: convert to safetensors" if others else ""
        raise InputError(f"the weights in {folder} lack {listed(missing)}{hint}")
    return [folder / name for name in names]


def _is_file_name(name: object) -> bool:
    return (
        isinstance(name, str)
        and PurePath(name).name == name != ""
        and "\\" not in name
        and ":" not in name
    )


def _stored_in_file(path: Path) -> dict[str, Stored]:
    from safetensors import SafetensorError, safe_open

    try:
        file = cast(_OpenFile, safe_open(path, framework="pt"))
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"{path} cannot be read as safetensors ({error}): fetch it again"
        ) from error
    odd = [
        f"{n} ({part.get_dtype()})" for n, part in slices.items() if part.get_dtype() not in FLOATS
    ]
    if odd:
        raise InputError(f"{path} holds tensors that are not fp32, bf16 or fp16: {listed(odd)}")
    return {
        name: Stored(tuple(part.get_shape()), partial(_read, file, name))
        for name, part in slices.items()
    }


def _read(file: _OpenFile, name: str) -> torch.Tensor:
    return file.get_tensor(name).clone()  # else it would be a view of the file, and change with it
