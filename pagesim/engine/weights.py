"""Weights from a Hugging Face folder or a GGUF file, into a model. Knows nothing about what the parameters do.

A checkpoint is first a list: names, shapes, and how to read each. It is compared with what the model needs, and only
if the two are the same is anything loaded; then one tensor at a time, so that the whole is never there twice.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import torch

from pagesim.core.errors import InputError
from pagesim.engine.config import LlamaConfig, parameter_shapes
from pagesim.engine.llama import Llama

MOST_NAMES = 24
"""More names than this are shortened: those that differ in the layer become one."""
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"


class Stored(NamedTuple):
    """A tensor in a file: ``read`` makes a new one on the CPU, in whatever dtype it is stored."""

    shape: tuple[int, ...]
    read: Callable[[], torch.Tensor]


class StoredWeights(Mapping[str, torch.Tensor]):
    """Meets ``Weights``: each look-up reads the tensor anew, in one dtype and on one device."""

    def __init__(
        self, stored: Mapping[str, Stored], dtype: torch.dtype, device: str = "cpu"
    ) -> None:
        self._stored = stored
        self._dtype = dtype
        self._device = device

    def __getitem__(self, name: str) -> torch.Tensor:
        return self._stored[name].read().to(self._device, self._dtype)

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


def load_weights(path: Path, config: LlamaConfig, dtype: torch.dtype, device: str = "cpu") -> Llama:
    """The model with the weights of a folder or a ``.gguf`` file. InputError, and nothing loaded, if any is missing,
    left over or of another shape."""
    if path.is_dir():
        from pagesim.engine.hf_weights import stored_in_folder

        stored = stored_in_folder(path)
    else:
        from pagesim.engine.gguf_file import open_gguf
        from pagesim.engine.gguf_weights import stored_in_gguf

        stored = stored_in_gguf(open_gguf(path), config)
    return build(config, stored, str(path), dtype, device)


def build(
    config: LlamaConfig,
    stored: Mapping[str, Stored],
    place: str,
    dtype: torch.dtype,
    device: str = "cpu",
) -> Llama:
    """The model, if ``stored`` is what it needs; ``place`` is where that lies."""
    stored = _without_tied_head(config, stored, place)
    check_shapes(parameter_shapes(config), {n: t.shape for n, t in stored.items()}, place)
    return Llama(config, StoredWeights(stored, dtype, device))


def check_shapes(
    needed: Mapping[str, tuple[int, ...]], found: Mapping[str, tuple[int, ...]], place: str
) -> None:
    """InputError that names every tensor that is missing, left over or of another shape."""
    missing = [name for name in needed if name not in found]
    surplus = [name for name in found if name not in needed]
    other = [
        f"{name} is {found[name]} instead of {shape}"
        for name, shape in needed.items()
        if found.get(name, shape) != shape
    ]
    faults = []
    if missing:
        faults.append(f"missing: {listed(missing)}")
    if surplus:
        faults.append(f"not part of such a model: {listed(surplus)}")
    if other:
        faults.append(f"of another shape than its config says: {listed(other)}")
    if faults:
        raise InputError(f"the weights in {place} are not this model's; {'; '.join(faults)}")


def listed(names: Iterable[str]) -> str:
    """All of them, with commas; many that differ in one number only become one, ``layers.{0-29}.``"""
    names = list(names)
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    numbers: dict[str, list[int]] = {}
    for name in names:
        number = re.search(r"(?<=[.])[0-9]+(?=[.])", name)
        pattern = name if number is None else f"{name[: number.start()]}*{name[number.end() :]}"
        numbers.setdefault(pattern, []).extend([] if number is None else [int(number[0])])
    return ", ".join(
        pattern.replace("*", f"{{{_ranges(sorted(found))}}}", 1) if found else pattern
        for pattern, found in numbers.items()
    )


def _ranges(numbers: list[int]) -> str:
    """[0, 1, 2, 5] is ``0-2,5``."""
    runs = [
        [number for _, number in run]
        for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    ]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _without_tied_head(
    config: LlamaConfig, stored: Mapping[str, Stored], place: str
) -> Mapping[str, Stored]:
    """Where the output layer is the embedding, a checkpoint may hold it twice, but not two different ones."""
    if not config.tie_embeddings or HEAD not in stored or EMBEDDING not in stored:
        return stored
    if not torch.equal(stored[HEAD].read(), stored[EMBEDDING].read()):
        raise InputError(
            f"the weights in {place} hold a {HEAD} that differs from {EMBEDDING}, but config.json ties them: set "
            "tie_word_embeddings to false there"
        )
    return {name: tensor for name, tensor in stored.items() if name != HEAD}
