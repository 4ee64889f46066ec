"""The decoder beside transformers': random models of every family, and SmolLM2 (`make test-all`)."""

from dataclasses import replace
from importlib.util import find_spec

import pytest
from examples import MORE
from smollm2 import smollm2_file, transformers_smollm2
from tiny_model import BASE, PlainCache, random_tokens, step, torch, whole_logits

from pagesim.engine.gguf_file import open_gguf
from pagesim.engine.gguf_tokenizer import tokenizer_from_gguf
from pagesim.engine.hf_config import config_from_hf
from pagesim.engine.models import open_model
from pagesim.engine.sampler import logprobs
from pagesim.engine.weights import load_weights

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not MORE, reason="takes a minute: `make test-all`"),
    pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed"),
    pytest.mark.filterwarnings("ignore"),  # its own
]
LLAMA_3_SCALING = {
    "rope_type": "llama3",
    "rope_theta": 10_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
PROMPTS = [
    "Hi",
    "The capital of France is",
    "def fibonacci(n):\n    ",
    "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,",
    "Once upon a time, in a village by the sea, there lived a clockmaker who",
    "Ünïcödé 日本語 🙂: translate to English. " * 8,
    "<|im_start|>user\nWhat is gravity?<|im_end|>\n<|im_start|>assistant\n",
    "A block manager hands out blocks of sixteen slots. " * 40,
]


def family(name, **fields):
    from transformers import AutoConfig

    sizes = {
        "vocab_size": 67,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 512,
        "eos_token_id": 66,
        "bos_token_id": 65,
        "pad_token_id": 64,
    }
    return AutoConfig.for_model(name, **(sizes | fields))


FAMILIES = {
    "llama": ("llama", {}),
    "llama, biases": ("llama", {"attention_bias": True}),
    "llama 3.1": ("llama", {"rope_parameters": LLAMA_3_SCALING}),
    "smollm2": ("llama", {"tie_word_embeddings": True}),
    "mistral": ("mistral", {"sliding_window": 9}),
    "mistral, no window": ("mistral", {"sliding_window": None}),
    "qwen2": ("qwen2", {}),
    "qwen2, window": (
        "qwen2",
        {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 0},
    ),
    "qwen3": ("qwen3", {"head_dim": 16}),
    "qwen3, biases": ("qwen3", {"attention_bias": True, "tie_word_embeddings": True}),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_random_model_saved_by_transformers_gives_its_logits(tmp_path, name):
    import transformers

    kind, fields = FAMILIES[name]
    torch.manual_seed(0)
    theirs = transformers.AutoModelForCausalLM.from_config(
        family(kind, **fields), attn_implementation="eager"
    )
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter += 0.1 * torch.randn_like(parameter)  # biases and norms start as 0 and 1
    theirs.eval().save_pretrained(tmp_path, max_shard_size="20KB")
    config = config_from_hf(tmp_path)
    ours = load_weights(tmp_path, config, torch.float32)
    tokens = random_tokens(BASE, 60)
    with torch.no_grad():
        expected = theirs(torch.tensor([tokens])).logits[0]
    torch.testing.assert_close(whole_logits(ours, tokens), expected, rtol=1e-4, atol=1e-4)
    if "window" not in fields and config.sliding_window is not None:
        other = load_weights(tmp_path, replace(config, sliding_window=None), torch.float32)
        assert (whole_logits(other, tokens) - expected).abs().max() > 0.01


@pytest.fixture(name="theirs", scope="module")
def _theirs():
    torch.set_num_threads(2)
    yield transformers_smollm2()
    torch.set_num_threads(1)


@pytest.fixture(name="ours", scope="module")
def _ours():
    return open_model(str(smollm2_file()))


def test_logprobs_of_smollm2_are_within_1e_4(ours, theirs):
    """Of the tokens that follow and of the 20 likeliest; the least likely ones lose another digit in both."""
    for prompt in PROMPTS:
        ids = ours.tokenizer.encode(prompt)
        with torch.no_grad():
            expected = theirs(torch.tensor([ids])).logits[0].log_softmax(dim=-1)
        logits = whole_logits(ours.model, ids)
        error = (logits.log_softmax(dim=-1) - expected).abs()
        assert error.gather(1, expected.topk(20).indices).max() < 1e-4, prompt
        assert error.max() < 3e-4, prompt
        if len(ids) > 1:
            theirs_of_next = expected[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
            ours_of_next = logprobs(logits[:-1], ids[1:])
            assert ours_of_next == pytest.approx(theirs_of_next.tolist(), abs=1e-4), prompt


def test_greedy_tokens_of_smollm2_are_equal_alone_and_batched(ours, theirs):
    encoded = [ours.tokenizer.encode(prompt) for prompt in PROMPTS]
    cache, batched = PlainCache(ours.config), [list(ids) for ids in encoded]
    spans = list(enumerate(encoded))
    for _ in range(16):
        logits = step(ours.model, cache, spans)
        ends = torch.tensor([len(part) for _, part in spans]).cumsum(0) - 1
        spans = [(seq, [token]) for seq, token in enumerate(logits[ends].argmax(dim=-1).tolist())]
        for seq, part in spans:
            batched[seq] += part
    for seq, ids in enumerate(encoded):
        found = theirs.generate(
            torch.tensor([ids]), max_new_tokens=16, min_new_tokens=16, do_sample=False,
            eos_token_id=None, pad_token_id=0,
        )  # fmt: skip
        assert batched[seq] == found[0].tolist(), PROMPTS[seq]


def test_smollm2s_tokens_are_those_of_its_own_rules(ours):
    file = open_gguf(smollm2_file())
    tokenizer = tokenizer_from_gguf(file, ours.config)
    ids = tokenizer.encode("It's 2024, isn't it?")
    assert [tokenizer.token_bytes(token).decode() for token in ids] == [
        "It", "'s", " ", "2", "0", "2", "4", ",", " isn", "'t", " it", "?",
    ]  # fmt: skip
    for prompt in PROMPTS:
        assert tokenizer.decode(tokenizer.encode(prompt)) == prompt.replace(
            "<|im_start|>", ""
        ).replace("<|im_end|>", "")
    chat = tokenizer.chat([{"role": "user", "content": "Hello"}])
    assert chat == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )
    assert tokenizer.eos_ids == (2,)
