"""How many examples a law gets: few in `make test`, many in `make test-all`."""

import os

from hypothesis import settings

MORE = os.environ.get("PAGESIM_EXAMPLES") == "more"


def examples(few: int, many: int) -> settings:
    return settings(max_examples=many if MORE else few)
