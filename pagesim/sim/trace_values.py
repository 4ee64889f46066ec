"""One value of a trace, read from its text: a number of tokens, a time, an id.

Knows nothing about files, lines or formats. Every reader either returns an exact value or raises
``BadValueError``, whose text says what was given and what is allowed; the caller adds the place.
Nothing passes through a float: a time is read digit by digit into whole nanoseconds.
"""

import re
from datetime import date
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache

MAX_TOKENS = 10**9
MAX_HASH_ID = 2**53 - 1
MAX_ID_LENGTH = 200
MAX_SECONDS = 10**11

_SHOWN_LENGTH = 40
_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_DATE_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
    r"(?:Z|([+-])(\d\d):?(\d\d))?",
    re.ASCII,
)
_EXACT = Context(prec=200, rounding=ROUND_HALF_EVEN)
_NS = 10**9


class BadValueError(Exception):
    """A value that cannot be used; the text is half a sentence and lacks the place."""


def shown(text: str) -> str:
    """The text in double quotes, cut when long, with nothing a terminal would obey."""
    return f'"{visible(text, _SHOWN_LENGTH)}"'


def visible(text: str, longest: int = 120) -> str:
    """At most ``longest`` characters of the text, those that cannot be printed written as
    escapes."""
    letters = (
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text[:longest]
    )
    return "".join(letters) + ("..." if len(text) > longest else "")


def token_count(text: str, least: int = 1) -> int:
    """A whole number of tokens from ``least`` to ``MAX_TOKENS``, in plain digits."""
    if len(text) < 10 and text.isdigit() and text.isascii():
        value: int | None = int(text)
    else:
        digits = text.strip(" \t")
        if not (digits.isdigit() and digits.isascii()):
            raise BadValueError(_not_tokens(text, least))
        value = _bounded(digits, MAX_TOKENS)
    if value is None:
        raise BadValueError(f"{shown(text)} is more than {MAX_TOKENS:,} tokens, the most allowed")
    if value < least:
        raise BadValueError(_not_tokens(text, least))
    return value


def _not_tokens(text: str, least: int) -> str:
    return f"{shown(text)} is not a whole number of tokens ({least} or more)"


def hash_id(text: str) -> int:
    """The number of a prefix block, from 0 to ``MAX_HASH_ID``."""
    value = _bounded(text, MAX_HASH_ID) if text.isascii() and text.isdigit() else None
    if value is None:
        raise BadValueError(f"{shown(text)} is not a whole number from 0 to {MAX_HASH_ID}")
    return value


def _bounded(digits: str, most: int) -> int | None:
    """The number the digits write, ``None`` if above ``most``; never converts a long text."""
    if len(digits) > 16:
        digits = digits.lstrip("0") or "0"
        if len(digits) > 16:
            return None
    value = int(digits)
    return value if value <= most else None


def seconds_to_ns(text: str) -> int:
    """Seconds, 0 or more, as nanoseconds; digits beyond the ninth are rounded half to even."""
    return _time_to_ns(text, "seconds", 9)


def milliseconds_to_ns(text: str) -> int:
    """Milliseconds, 0 or more, as nanoseconds; rounded half to even."""
    return _time_to_ns(text, "milliseconds", 6)


def _time_to_ns(text: str, unit: str, places: int) -> int:
    number = text.strip(" \t")
    whole, _, fraction = number.partition(".")
    if len(whole) <= 10 and len(fraction) <= places:
        digits = whole + fraction
        if digits.isdigit() and digits.isascii():
            return int(digits + "0" * (places - len(fraction)))
    if len(number) > 100 or not _NUMBER.fullmatch(number):
        raise BadValueError(f"{shown(text)} is not a number of {unit} (0 or more)")
    value = Decimal(number)
    if value and value.adjusted() + places - 9 >= len(str(MAX_SECONDS)) - 1:
        raise BadValueError(f"{shown(text)} is {MAX_SECONDS:,} seconds or more, which is too late")
    if value.adjusted() < -places - 1:
        return 0
    return int(_EXACT.scaleb(value, places).to_integral_value(context=_EXACT))


def date_time_to_ns(text: str) -> int:
    """A date and time such as ``2023-11-16 18:15:46.6805900`` or with ``+00:00`` or ``Z`` behind
    it, as nanoseconds since the year 1; without a time zone it is taken as UTC."""
    match = _DATE_TIME.fullmatch(text.strip(" \t"))
    if match is None:
        raise BadValueError(f"{shown(text)} is not a time such as 2023-11-16 18:15:46.680590")
    year, month, day, hour, minute, second, fraction, sign, zone_hour, zone_minute = match.groups()
    days = _day_number(int(year), int(month), int(day))
    if days is None or hour > "23" or minute > "59" or second > "59":
        raise BadValueError(f"{shown(text)} is not a date and time that exists")
    seconds = ((days * 24 + int(hour)) * 60 + int(minute)) * 60 + int(second)
    if sign:
        behind = (int(zone_hour) * 60 + int(zone_minute)) * 60
        seconds += -behind if sign == "+" else behind
    return seconds * _NS + int((fraction or "").ljust(9, "0"))


@lru_cache(maxsize=64)
def _day_number(year: int, month: int, day: int) -> int | None:
    """Days since the year 1, ``None`` for a day that is not in the calendar."""
    try:
        return date(year, month, day).toordinal()
    except ValueError:
        return None


def request_id(text: str) -> str:
    """The name of a request: 1 to ``MAX_ID_LENGTH`` printable characters, blanks around it
    dropped."""
    name = text.strip(" \t")
    if not name:
        raise BadValueError("the id is empty")
    if len(name) > MAX_ID_LENGTH:
        raise BadValueError(f"{shown(text)} is longer than {MAX_ID_LENGTH} characters")
    if not name.isprintable():
        raise BadValueError(f"{shown(text)} holds a control character")
    return name
