"""``pagesim quiz``: not built yet."""

from pagesim.core.errors import InputError


def quiz() -> None:
    raise InputError("pagesim quiz is not built yet")
