"""``pagesim interview``: not built yet."""

from pagesim.core.errors import InputError


def interview() -> None:
    raise InputError("pagesim interview is not built yet")
