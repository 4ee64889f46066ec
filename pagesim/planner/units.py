"""Amounts and shares of memory as people write them: read exactly, shown with their unit.

Knows nothing about models, GPUs or caches. GB is 10^9 bytes and GiB is 2^30, on the way in and on
the way out; a bare "G" could be either and is refused.
"""

import re
from decimal import Decimal
from fractions import Fraction

from pagesim.core.errors import InputError

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
GB = 10**9

_BYTES_IN = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": TIB,
}
_AMOUNT = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([A-Za-z]*)")
_SHARE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)(%?)")
_ALLOWED = "write a positive amount such as 24GB (10^9), 22.5GiB (2^30), 512MiB or whole bytes"


def parse_bytes(text: str) -> int:
    """Return the bytes that ``text`` names: "24GB" is 24000000000, "24GiB" is 25769803776, "1024"
    is 1024.

    Suffixes B, KB, MB, GB, TB, KiB, MiB, GiB, TiB in either case. Exact decimal arithmetic; a
    fraction of a byte that remains ("0.1GiB") is cut off. Raises ``InputError`` for anything that
    is not a positive, finite amount, and for a suffix that could mean two units ("12G").
    """
    shown = repr(text if len(text) <= 40 else text[:37] + "...")
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise InputError(f"memory size {shown} is not an amount: {_ALLOWED}")
    number, suffix = match[1], match[2].lower()
    if suffix in ("k", "m", "g", "t", "ki", "mi", "gi", "ti"):
        letter = suffix[0].upper()
        raise InputError(
            f"memory size {shown} could mean two units: "
            f"write {number}{letter}B (powers of ten) or {number}{letter}iB (powers of two)"
        )
    if suffix not in _BYTES_IN:
        raise InputError(f"memory size {shown} has an unknown unit: {_ALLOWED}")
    unit = _BYTES_IN[suffix]
    if unit == 1 and "." in number:
        raise InputError(f"memory size {shown} is a fraction of a byte: {_ALLOWED}")
    numerator, denominator = Decimal(number).as_integer_ratio()
    num_bytes = numerator * unit // denominator
    if num_bytes == 0:
        raise InputError(f"memory size {shown} is less than one byte: {_ALLOWED}")
    return num_bytes


def parse_share(text: str) -> Fraction:
    """Return the share that ``text`` names, exactly: "0.9" and "90%" are 9/10.

    Raises ``InputError`` for anything that is not a number above 0 and at most 1.
    """
    match = _SHARE.fullmatch(text.strip())
    share = Fraction(match[1]) / (100 if match[2] else 1) if match else Fraction(0)
    if not 0 < share <= 1:
        raise InputError(
            f"share of memory {text[:40]!r} is not above 0 and at most 1: "
            "write a number such as 0.9 or 90%"
        )
    return share


def format_gib(num_bytes: int) -> str:
    """Show bytes in GiB (2^30) with two decimals: "16.00 GiB"."""
    return f"{num_bytes / GIB:.2f} GiB"


def format_gb(num_bytes: int) -> str:
    """Show bytes in GB (10^9) with two decimals: "17.18 GB"."""
    return f"{num_bytes / GB:.2f} GB"


def format_bytes(num_bytes: int) -> str:
    """Show bytes in the largest binary unit that keeps the figure at 1 or more: "800.00 KiB",
    "12.00 GiB"."""
    if abs(num_bytes) < KIB:
        return f"{num_bytes} B"
    for unit, name in ((KIB, "KiB"), (MIB, "MiB"), (GIB, "GiB")):
        shown = f"{num_bytes / unit:.2f}"
        if abs(float(shown)) < 1024:
            return f"{shown} {name}"
    return f"{num_bytes / TIB:.2f} TiB"


def format_count(number: int) -> str:
    """Show a whole number with thousands separators: "15,728"."""
    return f"{number:,}"
