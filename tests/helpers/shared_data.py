"""Finds the shared folder of real data, which is not part of the package."""

import os
from pathlib import Path

import pytest


def shared_file(name: str) -> Path:
    """A file such as ``data/azure2023_code.csv.gz``; skips the test where it is absent.

    The folder is named by the environment variable PAGESIM_SHARED, else it is ``shared`` beside
    the repository.
    """
    beside = Path(__file__).resolve().parents[2].parent / "shared"
    path = Path(os.environ.get("PAGESIM_SHARED") or beside) / name
    if not path.is_file():
        pytest.skip(f"{path.name} is not here: set PAGESIM_SHARED to the folder of shared data")
    return path
