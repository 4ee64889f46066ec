"""Figures as people read them: durations with their unit, counts with separators, n/a for none.

Knows nothing about where figures come from.
"""

from collections.abc import Sequence

NOT_KNOWN = "n/a"
_UNITS = (("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0))
_MOST_OF_A_UNIT = {"ms": 1_000, "s": 120, "min": 120}


def format_duration(seconds: float | None) -> str:
    """Three digits or so and a unit: "24.7 ms", "36.3 s", "20.1 min", "5.02 h"."""
    return format_durations([seconds])[0]


def format_durations(values: Sequence[float | None]) -> list[str]:
    """Durations that are read beside each other: in one unit, with as many decimals each.

    The unit is the one that suits the smallest; where that would make figures of five digits, each
    gets its own.
    """
    present = [value for value in values if value]
    name, unit = _unit(min(present, default=1.0))
    if present and max(present) / unit >= 10_000 and len(present) > 1:
        return [format_duration(value) for value in values]
    decimals = _decimals(min(present, default=0.0) / unit, max(present, default=0.0) / unit)
    return [
        NOT_KNOWN if value is None else f"{value / unit:,.{decimals}f} {name}" for value in values
    ]


def _unit(seconds: float) -> tuple[str, float]:
    for name, unit in _UNITS:
        if seconds / unit < _MOST_OF_A_UNIT.get(name, float("inf")):
            return name, unit
    return _UNITS[-1]


def _decimals(smallest: float, largest: float) -> int:
    if smallest == 0:
        return 0
    if largest < 10:
        return 2
    return 1 if smallest < 100 else 0


def format_mean(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"{value:,.2f}"


def format_rate(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"{value:,.1f}"


def format_percent(value: float) -> str:
    return f"{value:.1f} %"


def counted(number: int, noun: str) -> str:
    """ "1 request", "2 requests", "1,000 requests"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
