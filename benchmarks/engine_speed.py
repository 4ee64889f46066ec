"""The engine on a CPU beside transformers: 64 prompts of 32 to 256 tokens, 64 greedy outputs each, SmolLM2-135M.

Both compute in float32, with the same weights and torch's own number of threads, one after the other in one process,
as often as asked; ratios within a round count. Needs `pagesim model get smollm2` and `pip install transformers`.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from random import Random

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

import torch
from smollm2 import transformers_smollm2

from pagesim.core.request import Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.engine.models import OpenedModel, open_model
from pagesim.engine.session import Session, SessionSettings


def ours(
    opened: OpenedModel, prompts: list[list[int]], outputs: int
) -> tuple[float, float, list[list[int]]]:
    """Seconds, the share of them outside the model, and the tokens."""
    config = SchedulerConfig(max_model_len=512, max_num_seqs=64)
    session = Session(opened, SessionSettings(64 * 336, config, prefix_caching=False))
    answers: dict[str, list[int]] = {}
    began = time.perf_counter()
    for number, prompt in enumerate(prompts):
        session.submit(Request(f"r{number}", prompt, outputs))
    while session.has_work:
        for output in session.step():
            answers.setdefault(output.request, []).extend(output.tokens)
    seconds = time.perf_counter() - began
    outside = 1 - session.executor.model_ns / 1e9 / seconds
    return seconds, outside, [answers[f"r{number}"] for number in range(len(prompts))]


def theirs(
    model: torch.nn.Module, prompts: list[list[int]], outputs: int
) -> tuple[float, list[list[int]]]:
    """transformers' batched ``generate``, prompts padded on the left."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[2] * (longest - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
    began = time.perf_counter()
    with torch.inference_mode():
        found = model.generate(  # type: ignore[operator]
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=outputs,
            do_sample=False,
            pad_token_id=2,
        )
    seconds = time.perf_counter() - began
    return seconds, found[:, longest:].tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--outputs", type=int, default=64)
    arguments = parser.parse_args()
    rng = Random(0)
    lengths = [rng.randint(32, 256) for _ in range(arguments.prompts)]
    prompts = [[rng.randrange(3, 49_000) for _ in range(length)] for length in lengths]
    opened, model = open_model("smollm2"), transformers_smollm2()
    model.generation_config.eos_token_id = None  # answers go on, as ours do
    ours(opened, prompts[:2], 2)  # compiles the attention kernel
    tokens = arguments.prompts * arguments.outputs
    rows = []
    for _ in range(arguments.rounds):
        mine, outside, answers = ours(opened, prompts, arguments.outputs)
        other, reference = theirs(model, prompts, arguments.outputs)
        alike = sum(a == b for a, b in zip(answers, reference, strict=True))
        rows.append((mine, other, outside))
        print(
            f"engine {tokens / mine:8.1f} tokens/s   transformers {tokens / other:8.1f} tokens/s   "
            f"ratio {other / mine:5.2f}   outside the model {100 * outside:.2f} %   "
            f"{alike} of {len(prompts)} answers equal",
            flush=True,
        )
    ratios = [other / mine for mine, other, _ in rows]
    print(f"median ratio {statistics.median(ratios):.2f}; {torch.get_num_threads()} threads")


if __name__ == "__main__":
    main()
