"""What the kernels' package needs, and when: it imports nothing, never pagesim, and no triton where there is none."""

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[1] / "kernels"
MODULES = sorted((KERNELS / "pagesim_kernels").glob("*.py"))


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_the_kernels_never_import_pagesim(path):
    assert "pagesim" not in set(imported(path))


def run(program):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


def without(*names):
    """Program text that makes these modules not there."""
    return f"import sys\nfor name in {names!r}: sys.modules[name] = None\n"


def test_importing_the_package_imports_nothing_else():
    done = run(
        "import sys, pagesim_kernels; print([m for m in ('torch', 'triton', 'numba') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_without_triton_and_numba_torch_computes():
    """As on macOS and Windows, where there is no triton."""
    program = without("triton", "numba") + (
        "import importlib.util\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name in ('triton', 'numba') else found(name, *a)\n"
        "import torch\n"
        "from pagesim_kernels import backends, cases, check\n"
        "batch = cases.make_batch(cases.Case((9, 5), (2, 1)))\n"
        "print(backends.pick_backend(batch.q, batch.k_cache), backends.attention(*batch.paged()).shape)\n"
        "print(check.check_case(cases.Case((9, 5), (2, 1)), None).passed)\n"
    )
    done = run(program)
    assert done.stdout.split("\n")[:2] == ["torch torch.Size([3, 4, 16])", "True"], done.stderr


def test_without_torch_pagesim_starts_and_kernel_says_what_to_install():
    program = without("torch", "triton", "numba", "pagesim_kernels") + (
        "import importlib.util\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if sys.modules.get(name, 0) is None else found(name, *a)\n"
        "from pagesim.cli.main import main\n"
        "sys.argv = ['pagesim', 'kernel', 'explain']\n"
        "main()\n"
    )
    done = run(program)
    assert done.returncode == 2
    assert (
        done.stderr
        == "pagesim: this command needs torch, not installed here: pip install 'pagesim[engine]'\n"
    )


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_the_interpreter_is_asked_for_before_triton_comes():
    program = (
        "import os; os.environ.pop('TRITON_INTERPRET', None)\n"
        "import triton\n"
        "from pagesim_kernels.interpreter import use_interpreter\n"
        "try: use_interpreter()\n"
        "except RuntimeError as error: print(error)\n"
    )
    assert (
        run(program).stdout
        == "triton was imported before TRITON_INTERPRET=1 was set; set it first\n"
    )


def test_the_kernels_can_be_read_in_one_sitting():
    lines = sum(
        len((KERNELS / "pagesim_kernels" / name).read_text(encoding="utf-8").splitlines())
        for name in ("paged_attention.py", "cache_ops.py")
    )
    assert lines < 300


def test_every_masked_load_says_what_the_others_are():
    """Without ``other`` a masked lane is undefined on a GPU; the interpreter gives zeros and can not tell."""
    for name in ("paged_attention.py", "cache_ops.py"):
        tree = ast.parse((KERNELS / "pagesim_kernels" / name).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.load":
                given = {keyword.arg for keyword in node.keywords}
                assert ("mask" in given) == ("other" in given), ast.unparse(node)
