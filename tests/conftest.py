"""Hypothesis profiles: the same examples every time, and more of them where PAGESIM_EXAMPLES says ``more``."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")  # before anything imports triton

import pytest
from hypothesis import HealthCheck, settings

COMMON = {"deadline": None, "derandomize": True, "print_blob": True, "database": None}

settings.register_profile("default", max_examples=100, **COMMON)
settings.register_profile(
    "more", max_examples=1000, suppress_health_check=[HealthCheck.too_slow], **COMMON
)
settings.load_profile("more" if os.environ.get("PAGESIM_EXAMPLES") == "more" else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is marked slow is for `make test-all`."""
    if os.environ.get("PAGESIM_EXAMPLES") != "more":
        skip = pytest.mark.skip(reason="slow: `make test-all` runs it")
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(skip)
