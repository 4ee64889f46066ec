"""Draws docs/compare.svg, the README's picture: the screen of `pagesim compare` with its defaults.

Run it as `python scripts/readme_picture.py` from the repository's root after a change to the screen.
"""

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from pagesim.cli import options as opt
from pagesim.sim.allocators import ALLOCATORS
from pagesim.sim.simulate import compare
from pagesim.views.compare import CompareScreen

TARGET = Path(__file__).resolve().parents[1] / "docs" / "compare.svg"
DEFAULTS = opt.Options(
    workload="sharegpt",
    trace=None,
    requests=None,
    rate=None,
    cv=1.0,
    model=opt.PAPER_MODEL,
    gpu=opt.PAPER_GPU,
    kv_memory=None,
    tensor_parallel=1,
    block_size=16,
    max_model_len=None,
    placer="buddy",
    rules="paper",
    max_num_seqs=256,
    max_tokens_per_step=8192,
    prompt_tokens=512,
    output_tokens=128,
    prefix_tokens=1024,
    samples=4,
    prefix_caching=None,
    seed=0,
)


def main() -> None:
    sys.argv = ["pagesim", "compare"]
    prepared = opt.prepare(DEFAULTS)
    comparison = compare(prepared.workload, ALLOCATORS, prepared.settings)
    header = opt.screen_header("One workload, served from each kind of memory", prepared)
    console = Console(
        record=True, width=112, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(CompareScreen(comparison, header))
    svg = console.export_svg(title="pagesim compare", theme=MONOKAI)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # no font from the network
    svg = svg.replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas")
    TARGET.write_text(svg, encoding="utf-8")
    print(f"{TARGET.name}: {len(svg):,} bytes")


if __name__ == "__main__":
    main()
