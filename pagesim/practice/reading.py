"""What a learner's code gave back, read as what it should be.

The code may give anything at all. Each function returns plain Python values that share nothing with what was
given, or raises NotReadableError, whose text says what was given instead.
"""

import operator
import re
from collections.abc import Iterable
from itertools import islice
from typing import SupportsIndex, cast

MOST = 1_000_000
WIDEST = 200
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_NO_NAME = re.compile(r"(?<![\w.'\"])(inf|nan)\b")


class NotReadableError(ValueError):
    """What was given is not of the right kind."""


def shown(value: object) -> str:
    """Any value in one short line, whatever its own ``repr`` does."""
    try:
        text = _ADDRESS.sub("", " ".join(repr(value).split()))
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def pasted(value: object) -> str:
    """The same, for a line that is to be pasted into Python: infinity and NaN are ``math.inf`` and ``math.nan``."""
    return (
        shown(value) if isinstance(value, str | bytes) else _NO_NAME.sub(r"math.\1", shown(value))
    )


def why_stopped(error: BaseException) -> str:
    """If the code waits for somebody to type: that nobody can, as the rest of a sentence that begins with its name."""
    if type(error).__name__ == "BdbQuit":  # importing bdb only for its name is dear
        return "stops for a debugger, and nothing can be typed inside a check: paste the calls into Python, debug there"
    if isinstance(error, EOFError) and "reading a line" in str(error):
        return "asks for input, and nothing can be typed inside a check"
    return ""


def line_of(error: BaseException, file: str) -> int | None:
    """The last line of ``file`` that an error came through. Quick, also where calls nested a million deep."""
    line, link = None, error.__traceback__
    while link is not None:
        if link.tb_frame.f_code.co_filename == file:
            line = link.tb_lineno
        link = link.tb_next
    return line


def read_whole(value: object) -> int:
    """A whole number; NumPy's are whole numbers, too, and True is none."""
    if type(value) is int:
        return value
    if not isinstance(value, bool) and hasattr(type(value), "__index__"):
        try:
            return int(operator.index(cast(SupportsIndex, value)))
        except Exception:
            raise NotReadableError(f"{shown(value)} is no whole number") from None
    raise NotReadableError(f"{shown(value)} is no whole number")


def read_wholes(value: object) -> list[int]:
    """A list, tuple, range or array of whole numbers; a set comes sorted."""
    return [read_whole(item) for item in read_items(value)]


def read_items(value: object) -> list[object]:
    """The items of a list, tuple or the like, in order; of a set, sorted if they can be."""
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise NotReadableError(f"{shown(value)} is no list")
    try:
        items = list(islice(value, MOST))
        return sorted(items) if isinstance(value, set | frozenset) else items
    except Exception as error:
        raise NotReadableError(f"{shown(value)} cannot be read ({error})") from None


def read_flag(value: object) -> bool:
    """True or False; NumPy's are, too."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise NotReadableError(f"{shown(value)} is neither True nor False")


def read_number(value: object) -> float:
    """A number, whole or not."""
    if isinstance(value, bool | str | bytes):
        raise NotReadableError(f"{shown(value)} is no number")
    try:
        return float(value)  # type: ignore[arg-type]
    except Exception:
        raise NotReadableError(f"{shown(value)} is no number") from None
