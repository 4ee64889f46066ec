"""What the engine needs that the base install lacks, and the sentence that says so. Imports nothing heavy."""

from importlib.util import find_spec

from pagesim.core.errors import InputError

INSTALL = "pip install 'pagesim[engine]'"


def missing_modules(*names: str) -> list[str]:
    """Those that are not there. Imports none of them."""
    return [name for name in names if find_spec(name) is None]


def need_modules(*names: str) -> None:
    """InputError that says what to install, if one of them is not there."""
    missing = missing_modules(*names)
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise InputError(
            f"running a model needs {' and '.join(missing)}, which {are} not installed here: {INSTALL}"
        )
