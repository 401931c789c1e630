"""The models by name, with random weights: seven transformers of the package transformers, seven convolutional and mixing ones,
and a recurrent one.

Transformers have four layers of the published width, or the published depth; the small forms are for tests. Modules take and give
plain tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from benchmarks.onnx_models.cases import make, settle
from benchmarks.onnx_models.dense_outputs import UNet
from benchmarks.onnx_models.transformers import Mixer

LAYERS = 4
SMALL_LAYERS = 1


@dataclass(frozen=True, slots=True)
class Size:
    """How large transformers are."""

    layers: int | None = LAYERS
    """None: as published."""
    is_small: bool = False

    def depth(self, published: int) -> int:
        """The number of layers."""
        return SMALL_LAYERS if self.is_small else self.layers or published

    def of(self, published: int) -> int:
        """A width, a number of heads or of tokens: a quarter of it in small forms."""
        return published // 4 if self.is_small else published


@dataclass(frozen=True, slots=True)
class Model:
    """A module in evaluation mode and tensors to call it with."""

    module: Any
    args: tuple[torch.Tensor, ...]


class Flat(nn.Module):
    """A module of transformers, called by a function that takes it with plain tensors and gives plain tensors."""

    def __init__(self, module: Any, call: Callable[..., Any]) -> None:
        super().__init__()
        self.module, self.call = module, call

    def forward(self, *tensors: Any) -> Any:
        return self.call(self.module, *tensors)


class Tagger(nn.Module):
    """Token numbers [batch, tokens] to logarithms of probabilities of tags, by an LSTM in both directions."""

    def __init__(self, vocabulary: int = 5000, width: int = 128, tags: int = 20) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, bidirectional=True, batch_first=True)
        self.last = nn.Linear(2 * width, tags)

    def forward(self, tokens: Any) -> Any:
        return self.last(self.lstm(self.words(tokens))[0]).log_softmax(-1)


def build(name: str, size: Size | None = None, *, seed: int = 0) -> Model:
    """The model of that name; the same weights for the same seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = MODELS[name](size or Size())
    model.module.eval()
    return model


def tokens(count: int, vocabulary: int = 30000) -> torch.Tensor:
    """Random token numbers [1, count]."""
    return torch.randint(0, vocabulary, (1, count))


def _bert(size: Size) -> Model:
    from transformers import BertConfig, BertModel

    width = size.of(768)
    config = BertConfig(
        num_hidden_layers=size.depth(12), hidden_size=width, num_attention_heads=size.of(12), intermediate_size=4 * width
    )
    ids = tokens(size.of(128))
    return Model(Flat(BertModel(config), _last_hidden_of_masked), (ids, torch.ones_like(ids)))


def _last_hidden_of_masked(module: Any, ids: Any, mask: Any) -> Any:
    return module(input_ids=ids, attention_mask=mask).last_hidden_state


def _vit(size: Size) -> Model:
    from transformers import ViTConfig, ViTModel

    width, image_size = size.of(768), size.of(224) // 8 * 8
    config = ViTConfig(
        num_hidden_layers=size.depth(12),
        hidden_size=width,
        num_attention_heads=size.of(12),
        intermediate_size=4 * width,
        image_size=image_size,
        patch_size=16 if not size.is_small else 8,
    )
    return Model(Flat(ViTModel(config), _last_hidden), (_image(image_size),))


def _last_hidden(module: Any, given: Any) -> Any:
    return module(given).last_hidden_state


def _gpt2(size: Size) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_layer=size.depth(12), n_embd=size.of(768), n_head=size.of(12)))


def _gpt2_prefill(size: Size) -> Model:
    return Model(Flat(_gpt2(size), _logits_and_cache), (tokens(size.of(64)),))


def _gpt2_decode(size: Size) -> Model:
    module = _gpt2(size)
    kept = [torch.randn(1, size.of(12), size.of(64), 64) for _ in range(2 * module.config.n_layer)]
    return Model(Flat(module, _logits_and_cache), (tokens(1), *kept))


def _logits_and_cache(module: Any, ids: Any, *kept: Any) -> tuple[Any, ...]:
    """Keys and values of all layers come in and go out one by one."""
    from transformers import DynamicCache

    cache = DynamicCache()
    for layer in range(len(kept) // 2):
        cache.update(kept[2 * layer], kept[2 * layer + 1], layer)
    result = module(input_ids=ids, past_key_values=cache, use_cache=True)
    return result.logits, *(tensor for layer in result.past_key_values.layers for tensor in (layer.keys, layer.values))


def _llama(size: Size) -> Model:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=size.of(768),
        intermediate_size=size.of(2048),
        num_hidden_layers=size.depth(6),
        num_attention_heads=size.of(12),
        num_key_value_heads=size.of(4),
        vocab_size=32000,
        max_position_embeddings=512,
    )
    return Model(Flat(LlamaForCausalLM(config), _logits), (tokens(size.of(64)),))


def _logits(module: Any, ids: Any) -> Any:
    return module(input_ids=ids, use_cache=False).logits


def _t5(size: Size) -> Model:
    from transformers import T5Config, T5EncoderModel

    config = T5Config(d_model=size.of(512), d_ff=size.of(2048), num_heads=size.of(8), num_layers=size.depth(6))
    return Model(Flat(T5EncoderModel(config), _last_hidden), (tokens(size.of(64)),))


def _whisper(size: Size) -> Model:
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(
        encoder_layers=size.depth(4),
        d_model=size.of(384),
        encoder_attention_heads=6 if not size.is_small else 2,
        encoder_ffn_dim=size.of(1536),
        max_source_positions=size.of(1500),
    )
    return Model(Flat(WhisperEncoder(config), _last_hidden), (torch.randn(1, 80, 2 * config.max_source_positions),))


def _mixer(size: Size) -> Model:
    small = {"layers": 2, "width": 64, "size": 32, "patch": 8, "classes": 10}
    module = Mixer(**small) if size.is_small else Mixer(layers=8, width=512)
    return Model(module, (_image(32 if size.is_small else 224),))


def _unet(size: Size) -> Model:
    module = UNet(width=8, levels=2) if size.is_small else UNet(width=32, levels=3)
    args = (_image(32 if size.is_small else 128),)
    settle(module, args)
    return Model(module, args)


def _published(name: str) -> Callable[[Size], Model]:
    def build(size: Size) -> Model:
        case = make(name, small=size.is_small)
        return Model(case.module, case.args)

    return build


def _lstm(size: Size) -> Model:
    return Model(Tagger(width=size.of(128)), (torch.randint(0, 5000, (2, size.of(32))),))


def _image(size: int) -> torch.Tensor:
    return torch.randn(1, 3, size, size)


TRANSFORMERS: Mapping[str, Callable[[Size], Model]] = {
    "bert": _bert,
    "vit": _vit,
    "gpt2_prefill": _gpt2_prefill,
    "gpt2_decode": _gpt2_decode,
    "llama": _llama,
    "t5": _t5,
    "whisper": _whisper,
}
CONVOLUTIONAL: Mapping[str, Callable[[Size], Model]] = {
    "mixer": _mixer,
    "convnext": _published("convnext_tiny"),
    "resnet50": _published("resnet50"),
    "mobilenetv2": _published("mobilenet_v2"),
    "mobilenetv3": _published("mobilenet_v3_large"),
    "efficientnet": _published("efficientnet_b0"),
    "unet": _unet,
}
MODELS: Mapping[str, Callable[[Size], Model]] = {**TRANSFORMERS, **CONVOLUTIONAL, "lstm": _lstm}
