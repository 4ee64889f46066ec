"""Where the course's shared data lies. Knows nothing about what is in it."""

import os
from pathlib import Path

import pytest


def shared_file(name: str) -> Path:
    """Return the path of the shared file ``name``; skip the test, with the reason, where it is absent.

    Looks in the folder named by PAGESIM_SHARED, else in ``shared/data`` beside the repository.
    """
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    path = Path(os.environ.get("PAGESIM_SHARED") or beside) / name
    if not path.is_file():
        pytest.skip(f"shared data file {name} is absent: set PAGESIM_SHARED to its folder")
    return path
