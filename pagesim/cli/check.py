"""``pagesim check``: not built yet."""

from pagesim.core.errors import InputError


def check() -> None:
    raise InputError("pagesim check is not built yet")
