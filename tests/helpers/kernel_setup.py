"""To be imported before anything that imports triton: kernels of the test process run in Triton's interpreter."""

from importlib.util import find_spec

import pytest

for name in ("torch", "triton", "numba"):
    if find_spec(name) is None:
        pytest.skip(f"needs {name}: pip install 'pagesim[engine]'", allow_module_level=True)

from pagesim_kernels.interpreter import use_interpreter  # noqa: E402

use_interpreter()

import torch  # noqa: E402

torch.set_num_threads(1)  # two test processes share the machine
