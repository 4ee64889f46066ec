"""Amounts of memory: read exactly, shown with their unit, refused in one sentence."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.core.errors import InputError
from pagesim.planner.units import (
    format_bytes,
    format_count,
    format_gb,
    format_gib,
    parse_bytes,
    parse_share,
)


def test_gb_and_gib_are_different():
    """H20: GiB = 2^30 and GB = 10^9, in input and output."""
    cache = 131072 * 131072
    assert cache == 17179869184
    assert format_gib(cache) == "16.00 GiB"
    assert format_gb(cache) == "17.18 GB"
    assert parse_bytes("24GB") == 24_000_000_000
    assert parse_bytes("24GiB") == 25_769_803_776
    assert format_gib(parse_bytes("80 GB")) == "74.51 GiB"


@pytest.mark.parametrize(
    ("text", "num_bytes"),
    [
        ("12 GiB", 12 * 2**30),
        ("12gib", 12 * 2**30),
        ("512MiB", 512 * 2**20),
        ("1.5TB", 1_500_000_000_000),
        ("1.5tib", 3 * 2**39),
        ("64KB", 64_000),
        ("64kib", 65_536),
        (" 1024 ", 1024),
        ("7b", 7),
        ("0.1GiB", 107_374_182),  # 107374182.4: the fraction of a byte is cut off
        ("9007199254740993", 2**53 + 1),  # a float would lose the last byte
        ("9007199.254740993GB", 9_007_199_254_740_993),
        ("12345678.000000001GB", 12_345_678_000_000_001),
    ],
)
def test_amounts_are_read_exactly(text, num_bytes):
    assert parse_bytes(text) == num_bytes


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "GB",
        "nan",
        "inf",
        "-3GB",
        "-1",
        "1e9",
        "1e400",
        "0x10",
        "12 GB GB",
        "1,024",
        "1_024",
        "12.5",
        "0",
        "0GB",
        "0.0000000001KB",
        "12GBps",
        "٣GB",
        "12.GB",
        ".5GB",
        "9" * 5000,
        "3 parsec",
    ],
)
def test_what_is_no_amount_is_refused_in_one_sentence(text):
    with pytest.raises(InputError) as refusal:
        parse_bytes(text)
    sentence = str(refusal.value)
    assert "\n" not in sentence
    assert len(sentence) < 200
    assert "24GB (10^9)" in sentence
    assert text[:37] in sentence


@pytest.mark.parametrize("text", ["12G", "12 g", "12Gi", "1.5T", "3k", "8Mi"])
def test_a_suffix_with_two_meanings_is_refused(text):
    with pytest.raises(InputError, match=r"could mean two units: write .*B .* or .*iB"):
        parse_bytes(text)


@given(st.integers(1, 10**18))
def test_whole_bytes_survive_every_spelling(num_bytes):
    assert parse_bytes(str(num_bytes)) == num_bytes
    assert parse_bytes(f"{num_bytes}GiB") == num_bytes * 2**30
    whole, rest = divmod(num_bytes, 10**9)
    assert parse_bytes(f"{whole}.{rest:09d} GB") == num_bytes


@pytest.mark.parametrize(
    ("num_bytes", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (819200, "800.00 KiB"),
        (2**20 - 1, "1.00 MiB"),  # never "1024.00 KiB"
        (13107200, "12.50 MiB"),
        (12 * 2**30, "12.00 GiB"),
        (2**40, "1.00 TiB"),
        (5000 * 2**40, "5000.00 TiB"),
        (-(2**30), "-1.00 GiB"),
    ],
)
def test_bytes_are_shown_in_the_unit_that_fits(num_bytes, shown):
    assert format_bytes(num_bytes) == shown


def test_counts_have_separators():
    assert format_count(15728) == "15,728"


def test_shares_are_exact():
    assert parse_share("0.9") == Fraction(9, 10)
    assert parse_share("95%") == Fraction(19, 20)
    assert parse_share("1") == 1


@pytest.mark.parametrize("text", ["0", "1.01", "101%", "-0.5", "nan", "inf", "", "0,9", "1e-1"])
def test_what_is_no_share_is_refused(text):
    with pytest.raises(InputError, match=r"such as 0\.9 or 90%"):
        parse_share(text)
