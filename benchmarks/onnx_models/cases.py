"""The models by name: how each is made, large as published or small for tests, with operands and dimensions that may vary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import nn

from benchmarks.onnx_models import cnns
from benchmarks.onnx_models.dense_outputs import Detector, UNet
from benchmarks.onnx_models.published import NETWORKS, Network
from benchmarks.onnx_models.transformers import Bert, Gpt2, Mixer, Vit

Dynamic = Mapping[str, Mapping[int, str]]
"""By operand: the names of the dimensions that may vary."""


@dataclass(frozen=True, slots=True)
class ModelCase:
    """A model ready to be exported, in evaluation mode."""

    module: Any
    args: tuple[Any, ...]
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    dynamic: Dynamic = field(default_factory=dict)
    """For exports with dimensions that vary; without them all are fixed."""

    def feeds(self) -> dict[str, Any]:
        """The operands as arrays, by name."""
        return {name: value.numpy() for name, value in zip(self.input_names, self.args, strict=True)}

    def expected(self) -> list[Any]:
        """What torch computes, as arrays."""
        with torch.no_grad():
            results = self.module(*self.args)
        return [one.numpy() for one in (results if isinstance(results, tuple) else (results,))]

    def in_float64(self) -> list[Any]:
        """What torch computes in float64."""
        wide = [arg.double() if arg.is_floating_point() else arg for arg in self.args]
        with torch.no_grad():
            results = self.module.double()(*wide)
        self.module.float()
        return [one.numpy() for one in (results if isinstance(results, tuple) else (results,))]


def make(name: str, *, small: bool = False, seed: int = 0) -> ModelCase:
    """The model of that name with random weights; the same ones for the same seed.

    Batch norms have the statistics of a forward pass, so that activations keep their scale.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        case = {**PUBLISHED, **MODELS, **LARGER}[name](small)
        settle(case.module, case.args)
    return case


def image_case(module: Any, size: int, *, output: str = "logits") -> ModelCase:
    """A model of one image."""
    return ModelCase(module, (torch.randn(1, 3, size, size),), ("image",), (output,), {"image": {0: "batch"}})


def bert(small: bool, *, tokens: int = 128, is_fused: bool = False) -> ModelCase:
    """BERT-base: 12 layers of 768."""
    scale = {"layers": 2, "width": 64, "heads": 4, "vocabulary": 100} if small else {}
    module = _with_small_embeddings(Bert(**scale, is_fused=is_fused))
    tokens = 16 if small else tokens
    ids = torch.randint(0, scale.get("vocabulary", 30522), (1, tokens))
    mask = torch.ones(1, tokens, dtype=torch.int64)
    mask[:, tokens - tokens // 8 :] = 0
    names = ("input_ids", "attention_mask", "token_type_ids")
    dynamic = {name: {0: "batch", 1: "tokens"} for name in names}
    return ModelCase(module, (ids, mask, torch.zeros_like(ids)), names, ("hidden", "pooled"), dynamic)


def gpt2(small: bool, *, past: int = 0) -> ModelCase:
    """GPT-2-small: many tokens without a past, or one after `past` others."""
    layers, width, heads, vocabulary = (2, 64, 4, 100) if small else (12, 768, 12, 50257)
    module = _with_small_embeddings(Gpt2(layers=layers, width=width, heads=heads, vocabulary=vocabulary))
    ids = torch.randint(0, vocabulary, (1, 1 if past else 12 if small else 64))
    kept = ("key", "value")
    if not past:
        present = tuple(f"present_{number}_{one}" for number in range(layers) for one in kept)
        return ModelCase(module, (ids,), ("input_ids",), ("logits", *present), {"input_ids": {0: "batch", 1: "tokens"}})
    names = tuple(f"past_{number}_{one}" for number in range(layers) for one in kept)
    args = (ids, *(torch.randn(1, heads, past, width // heads) for _ in names))
    dynamic = {name: {2: "past"} for name in names}
    outputs = ("logits", *(name.replace("past", "present") for name in names))
    return ModelCase(module, args, ("input_ids", *names), outputs, dynamic)


def vit(small: bool) -> ModelCase:
    """ViT-B/16."""
    module = Vit(layers=2, width=64, heads=4, size=32, patch=8, classes=10) if small else Vit()
    return image_case(module, 32 if small else 224)


def mixer(small: bool) -> ModelCase:
    """MLP-Mixer B/16."""
    scale = {"layers": 2, "width": 64, "size": 32, "patch": 8, "classes": 10} if small else {}
    return image_case(Mixer(**scale), 32 if small else 224)


def resnet50(small: bool) -> ModelCase:
    """ResNet-50."""
    module = cnns.resnet50(width=8, depths=(1, 2), classes=10) if small else cnns.resnet50()
    return image_case(module, 32 if small else 224)


def mobilenet_v2(small: bool) -> ModelCase:
    """MobileNetV2."""
    module = cnns.mobilenet_v2(multiplier=0.5, stages=3, classes=10) if small else cnns.mobilenet_v2()
    return image_case(module, 32 if small else 224)


def unet(small: bool, *, is_bilinear: bool = False) -> ModelCase:
    """U-Net of 4 levels from 64 channels on."""
    module = UNet(width=8, levels=2, is_bilinear=is_bilinear) if small else UNet(is_bilinear=is_bilinear)
    return image_case(module, 32 if small else 256)


def detector(small: bool) -> ModelCase:
    """A detector of 80 classes."""
    module = Detector(width=8, classes=5, bins=4) if small else Detector()
    return image_case(module, 32 if small else 320, output="boxes")


def published(network: Network, small: bool) -> ModelCase:
    """A network as large as published."""
    module = network.build(**network.small) if small else network.build()
    return image_case(module, network.small_size if small else network.size)


def _family(build: Callable[..., Any]) -> Callable[[bool], ModelCase]:
    """A model that is compact already."""
    return lambda small: image_case(build(classes=10 if small else 1000), 64 if small else 224)


MODELS: Mapping[str, Callable[[bool], ModelCase]] = {
    "bert": bert,
    "bert_fused": lambda small: bert(small, is_fused=True),
    "vit": vit,
    "gpt2": gpt2,
    "gpt2_cached": lambda small: gpt2(small, past=9 if small else 63),
    "mobilenet_v2": mobilenet_v2,
    "unet": unet,
    "unet_bilinear": lambda small: unet(small, is_bilinear=True),
    "resnet50": resnet50,
    "detector": detector,
    "mixer": mixer,
    "mobilenet_v3": _family(cnns.mobilenet_v3),
    "efficientnet": _family(cnns.efficientnet),
    "regnet": _family(cnns.regnet),
    "densenet": _family(cnns.densenet),
    "shufflenet": _family(cnns.shufflenet),
    "convnext": _family(cnns.convnext),
}

LARGER: Mapping[str, Callable[[bool], ModelCase]] = {
    "bert_512": lambda small: bert(small, tokens=512),
}
"""The same models on other operands."""

PUBLISHED: Mapping[str, Callable[[bool], ModelCase]] = {name: partial(published, network) for name, network in NETWORKS.items()}
"""The networks of `published`; `resnet50`, `mobilenet_v2` and `unet` are among MODELS, too."""


def _with_small_embeddings(module: Any) -> Any:
    """The module, whose embeddings have a deviation of 0.02, as published ones are initialised."""
    for part in module.modules():
        if isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=0.02)
    return module


def settle(module: Any, args: tuple[Any, ...]) -> None:
    """Batch norms take their statistics from the operands, and scales and shifts that are not all 1 and 0."""
    norms = [part for part in module.modules() if isinstance(part, nn.BatchNorm2d)]
    for norm in norms:
        nn.init.normal_(norm.weight, mean=getattr(norm, "mean_scale", 1.0), std=0.1)
        nn.init.normal_(norm.bias, std=0.1)
        norm.momentum = 1.0
    if norms:
        with torch.no_grad():
            module.train()(*(torch.cat([arg, torch.randn_like(arg)]) for arg in args))
    module.eval()
