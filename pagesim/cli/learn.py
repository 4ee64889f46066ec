"""``pagesim learn``: not built yet."""

from pagesim.core.errors import InputError


def learn() -> None:
    raise InputError("pagesim learn is not built yet")
