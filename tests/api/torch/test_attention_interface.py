"""`attn_implementation="tilewright"`: equal to transformers' "eager" attention, with models where transformers is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import tilewright as tw

torch = pytest.importorskip("torch")

from tilewright.api.torch import attention_interface  # noqa: E402
from tilewright.torch import register_attention  # noqa: E402

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 99}
SHARED = {**TINY, "num_key_value_heads": 2}
CAPPED = {"head_dim": 8, "sliding_window": 4, "attn_logit_softcapping": 5.0, "query_pre_attn_scalar": 4}
TINY_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 99}
TINY_GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99, "bos_token_id": 1, "eos_token_id": 2}
TINY_WHISPER: dict[str, Any] = {
    **{f"{side}_layers": 2 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 4 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_dim": 48 for side in ("encoder", "decoder")},
    **{"d_model": 32, "vocab_size": 99, "max_source_positions": 20, "num_mel_bins": 8},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1},
}
MODELS = {
    "Bert": TINY,
    "Llama": SHARED,
    "Gemma2": {**SHARED, **CAPPED},
    "Mistral": {**SHARED, "sliding_window": 4},
    "GPT2": TINY_GPT2,
    "T5": TINY_T5,
    "Whisper": TINY_WHISPER,
}


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def heads(rows: int = 6, keys: int = 6) -> tuple[Any, Any, Any]:
    """q of four heads, k and v of two."""
    return torch.randn(2, 4, rows, 8), torch.randn(2, 2, keys, 8), torch.randn(2, 2, keys, 8)


def by_hand(q: Any, k: Any, v: Any, takes_part: Any = None, *, scaling: float = 8**-0.5, bias: Any = 0.0, cap: Any = None) -> Any:
    scores = q @ k.repeat_interleave(2, 1).mT * scaling
    scores = (scores if cap is None else cap * torch.tanh(scores / cap)) + bias
    scores = scores if takes_part is None else scores.masked_fill(~takes_part, -torch.inf)
    return (torch.softmax(scores, -1) @ v.repeat_interleave(2, 1)).transpose(1, 2)


def positions(rows: int = 6, keys: int = 6) -> Any:
    """The position of each query less that of each key."""
    return torch.arange(rows)[:, None] - torch.arange(keys)


PADDED = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], dtype=torch.bool)[:, None, None, :]
BIAS = torch.linspace(-2, 2, 4 * 36).reshape(1, 4, 6, 6)
CAUSAL = positions() >= 0
CASES: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "causal as the module says": ({}, {"takes_part": CAUSAL}),
    "causal is told": ({"is_causal": False, "scaling": 0.2}, {"scaling": 0.2}),
    "mask alone": ({"attention_mask": PADDED}, {"takes_part": PADDED}),
    "mask of numbers": ({"attention_mask": torch.where(PADDED, 0.0, -1e30)}, {"takes_part": PADDED}),
    "softcap": ({"softcap": 2.0}, {"takes_part": CAUSAL, "cap": 2.0}),
    "window": ({"sliding_window": 3}, {"takes_part": CAUSAL & (positions() < 3)}),
    "window of the mask": ({"sliding_window": 3, "attention_mask": PADDED}, {"takes_part": PADDED}),
    "bias": ({"position_bias": BIAS, "is_causal": False}, {"bias": BIAS}),
    "bias of a causal one": ({"position_bias": BIAS}, {"bias": BIAS, "takes_part": CAUSAL}),
    "bias and mask": ({"position_bias": BIAS, "attention_mask": PADDED}, {"bias": BIAS, "takes_part": PADDED}),
}


@pytest.mark.parametrize("case", [*CASES])
def test_what_models_ask_for_is_honoured(case: str) -> None:
    told, expected = CASES[case]
    q, k, v = heads()
    given = {"attention_mask": None, **told}
    result, weights = attention_interface.attention_forward(SimpleNamespace(is_causal=True), q, k, v, **given)
    assert weights is None
    torch.testing.assert_close(result, by_hand(q, k, v, **expected), atol=1e-5, rtol=1e-5)


def test_single_queries_take_the_last_keys_of_a_window_and_prefills_the_first() -> None:
    module = SimpleNamespace(is_causal=True)
    q, k, v = heads(1)
    result, _ = attention_interface.attention_forward(module, q, k, v, None, sliding_window=4)
    torch.testing.assert_close(result, by_hand(q, k[:, :, 2:], v[:, :, 2:]))
    q, k, v = heads(3)
    result, _ = attention_interface.attention_forward(module, q, k, v, None)
    torch.testing.assert_close(result, by_hand(q, k, v, positions(3) >= 0))


@pytest.mark.parametrize(
    "told",
    [
        {"dropout": 0.1},
        {"output_attentions": True},
        {"s_aux": torch.ones(4)},
        {"sliding_window": 3, "is_causal": False},
    ],
)
def test_what_would_be_left_out_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(tw.UnsupportedOperation):
        attention_interface.attention_forward(SimpleNamespace(is_causal=True), *heads(), None, **told)


def test_registering_tells_transformers_and_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Any] = {}
    module, masks = ModuleType("transformers"), ModuleType("transformers.masking_utils")
    interface = SimpleNamespace(register=lambda name, function: known.update({name: function}))
    vars(module).update(AttentionInterface=interface, AttentionMaskInterface=SimpleNamespace(register=lambda *_: None))
    vars(masks).update(sdpa_mask=None)
    monkeypatch.setitem(sys.modules, "transformers", module)
    monkeypatch.setitem(sys.modules, "transformers.masking_utils", masks)
    assert register_attention() == "tilewright"
    assert known == {"tilewright": attention_interface.attention_forward}
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(tw.TilewrightError, match="no interface for attention"):
        register_attention()


def inputs(name: str) -> Iterator[dict[str, Any]]:
    """Calls without a mask, with padding behind and in front."""
    ids = torch.randint(3, 99, (2, 9))
    if name == "Whisper":
        yield {"input_features": torch.randn(2, 8, 40), "decoder_input_ids": ids}
        return
    others = {"decoder_input_ids": ids[:, :5]} if name == "T5" else {}
    padded = torch.ones(2, 9, dtype=torch.long)
    padded[1, 6:] = 0
    yield {"input_ids": ids, **others}
    yield {"input_ids": ids, "attention_mask": padded, **others}
    yield {"input_ids": ids, "attention_mask": padded.flip(1), **others}


@pytest.mark.parametrize("name", [*MODELS])
def test_models_equal_their_eager_attention(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    register_attention()
    model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**MODELS[name])).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.normal_(0, 0.2)
    called: list[None] = []
    counted = attention_interface.attention
    monkeypatch.setattr(
        attention_interface, "attention", lambda *args, **options: called.append(None) or counted(*args, **options)
    )
    for call in inputs(name):
        model.set_attn_implementation("eager")
        expected = model(**call)[0]
        model.set_attn_implementation("tilewright")
        given = model(**call)[0]
        real = call["attention_mask"].bool() if "attention_mask" in call and name != "T5" else slice(None)
        torch.testing.assert_close(given[real], expected[real], atol=1e-5, rtol=1e-5)
    assert len(called) == (6 if name in ("T5", "Whisper") else 2) * len(list(inputs(name)))


def test_generation_over_a_sliding_window_gives_the_tokens_of_eager_attention() -> None:
    transformers = pytest.importorskip("transformers")
    model = transformers.MistralForCausalLM(transformers.MistralConfig(**MODELS["Mistral"])).eval()
    options = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    prompt = torch.randint(3, 99, (2, 9))
    texts = []
    for implementation in ("eager", register_attention()):
        model.set_attn_implementation(implementation)
        texts.append(model.generate(prompt, **options))
    assert torch.equal(*texts)


def test_a_compiled_model_is_one_graph() -> None:
    transformers = pytest.importorskip("transformers")
    torch._dynamo.reset()
    model = transformers.LlamaModel(transformers.LlamaConfig(**MODELS["Llama"])).eval()
    model.set_attn_implementation(register_attention())
    call = next(inputs("Llama"))
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(**call)[0], model(**call)[0])
