"""Counts request lengths into the histograms of ``pagesim/sim/data``: run it again and the files
come out the same.

    python scripts/build_length_models.py SHARED_DATA_DIR

SHARED_DATA_DIR holds the length lists named in ``SOURCES``. Knows nothing about how the histograms
are drawn from. Bins are exact up to 16 tokens and an eighth of an octave wide above, so every power
of two is an edge; a length that many requests share (a template, a cap) gets a bin of its own.
Cells are split where prompt + output crosses a power of two as well.
"""

import csv
import gzip
import json
import statistics
import sys
from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

EXACT_UP_TO = 16
BINS_PER_OCTAVE = 8
SPIKE_SHARE = 0.01  # of all requests
LAYOUT = (
    "bin i holds edges[i]+1 to edges[i+1] tokens; counts has one list a prompt bin, of triples "
    "output bin, k, number of pairs with prompt+output from 2**(k-1)+1 to 2**k"
)
TARGET = Path(__file__).resolve().parents[1] / "pagesim" / "sim" / "data"


class Source(NamedTuple):
    """One list of lengths; pairs longer than ``max_total`` tokens in all are left out."""

    file: str
    about: str
    origin: str
    license: str
    max_total: int | None = None


SOURCES = {
    "sharegpt": Source(
        "sharegpt_opt_lengths.csv.gz",
        "first question and answer of ShareGPT conversations, OPT tokens, prompt + output <= 2048",
        "artifact of the PagedAttention paper (SOSP 2023), the list its experiments used",
        "none stated; lengths only",
        max_total=2048,
    ),
    "alpaca": Source(
        "alpaca_opt_lengths.csv.gz",
        "instructions and answers of Stanford Alpaca, a sample of 5,405 of the 52K, OPT tokens",
        "tatsu-lab/stanford_alpaca by way of three public subsets",
        "the text is CC-BY-NC-4.0; lengths only",
    ),
    "azure-chat": Source(
        "azure2023_conv.csv.gz",
        "one hour of a production chat service in 2023",
        "Azure/AzurePublicDataset, LLM inference trace 2023 (Patel et al., Splitwise, ISCA 2024)",
        "CC-BY-4.0, attribution: Patel et al.",
    ),
    "azure-code": Source(
        "azure2023_code.csv.gz",
        "one hour of a production coding service in 2023",
        "Azure/AzurePublicDataset, LLM inference trace 2023 (Patel et al., Splitwise, ISCA 2024)",
        "CC-BY-4.0, attribution: Patel et al.",
    ),
}


def bin_edges(lengths: list[int]) -> list[int]:
    """Edges 0, 1, 2, ... up to the longest; bin i holds edges[i] + 1 to edges[i + 1] tokens."""
    largest = max(lengths)
    edges = list(range(EXACT_UP_TO + 1))
    while edges[-1] < largest:
        octave = 1 << (edges[-1].bit_length() - 1)
        edges.append(edges[-1] + octave // BINS_PER_OCTAVE)
    seen = Counter(lengths)
    spikes = [length for length in seen if seen[length] >= SPIKE_SHARE * len(lengths)]
    own_bins = {edge for length in spikes for edge in (length - 1, length)}
    return sorted({edge for edge in edges if edge < largest} | {largest} | own_bins)


def arrival_facts(times: list[float]) -> dict[str, float | None]:
    """Requests per second over the whole list, and the spread of the gaps (deviation / mean)."""
    if not times:
        return {"natural_rate": None, "natural_cv": None}
    gaps = [after - before for before, after in pairwise(times)]
    mean = statistics.fmean(gaps)
    return {
        "natural_rate": round(1 / mean, 4),
        "natural_cv": round(statistics.pstdev(gaps) / mean, 4),
    }


def model(source: Source, folder: Path) -> dict[str, object]:
    """The histogram of one source as plain JSON values."""
    with gzip.open(folder / source.file, "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    pairs = [(int(row["prompt_tokens"]), int(row["output_tokens"])) for row in rows]
    if source.max_total is not None:
        pairs = [pair for pair in pairs if sum(pair) <= source.max_total]
    prompts = bin_edges([prompt for prompt, _ in pairs])
    outputs = bin_edges([output for _, output in pairs])
    return {
        "about": source.about,
        "origin": source.origin,
        "license": source.license,
        "layout": LAYOUT,
        "num_pairs": len(pairs),
        "max_total": source.max_total,
        **arrival_facts([float(row["arrival_s"]) for row in rows if "arrival_s" in row]),
        "prompt_edges": prompts,
        "output_edges": outputs,
        "counts": cell_counts(pairs, prompts, outputs),
    }


def cell_counts(
    pairs: list[tuple[int, int]], prompts: list[int], outputs: list[int]
) -> list[list[int]]:
    """The last entry of a file, as ``LAYOUT`` says."""
    cells = Counter(
        (
            bisect_left(prompts, prompt) - 1,
            bisect_left(outputs, output) - 1,
            (prompt + output - 1).bit_length(),
        )
        for prompt, output in pairs
    )
    counts: list[list[int]] = [[] for _ in prompts[1:]]
    for (prompt_bin, output_bin, octave), num_pairs in sorted(cells.items()):
        counts[prompt_bin] += [output_bin, octave, num_pairs]
    return counts


def main(arguments: list[str]) -> int:
    """Writes one file a source; 0 when all went well."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, source in SOURCES.items():
        text = json.dumps(model(source, Path(arguments[0])), separators=(",", ":"), allow_nan=False)
        path = TARGET / f"lengths_{name.replace('-', '_')}.json"
        path.write_text(text + "\n", encoding="utf-8", newline="\n")
        print(f"{path.name}: {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
