"""Models with dynamic dimensions as torch exports them, and feeds for values of these dimensions; weights are random."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

WIDTH, HEADS, LAYERS, WORDS = 64, 4, 2, 200
ENCODER_LENGTH = 5
"""Of the encoder's example: the TorchScript exporter writes it into the model."""
Feeds = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """An ONNX model, and its inputs for values of its dynamic dimensions."""

    octets: bytes
    feeds: Callable[[np.random.Generator, Sequence[int]], Feeds]


def exported(module: nn.Module, inputs: Mapping[str, Any], dynamic: Mapping[str, Mapping[int, str]], *, dynamo: bool) -> bytes:
    """The model of one output `y`, by the exporter of `torch.export` or by the TorchScript exporter."""
    how: dict[str, Any] = {"dynamic_axes": {name: dict(axes) for name, axes in dynamic.items()}}
    if dynamo:
        found = {name: torch.export.Dim(name) for axes in dynamic.values() for name in axes.values()}
        shapes = tuple({axis: found[label] for axis, label in dynamic.get(name, {}).items()} for name in inputs)
        how = {"dynamic_shapes": shapes, "external_data": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = io.BytesIO()
        names = list(inputs)
        program = torch.onnx.export(
            module.eval(),
            tuple(inputs.values()),
            None if dynamo else file,
            input_names=names,
            output_names=["y"],
            dynamo=dynamo,
            **how,
        )
        if dynamo:
            assert program is not None
            program.save(file)
        return file.getvalue()


class SelfAttention(nn.Module):  # type: ignore[misc]
    """Attention with a mask of words, expanded as transformers' BertModel does."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.after, self.last = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.rise, self.fall = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Any, mask: Any) -> Any:
        """The hidden states behind one layer."""
        q, k, v = (
            part(x).view(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).permute(0, 2, 1, 3)
            for part in (self.query, self.key, self.value)
        )
        weights = torch.softmax(q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5 + mask, dim=-1)
        x = self.after(self.output((weights @ v).permute(0, 2, 1, 3).reshape(x.shape)) + x)
        return self.last(self.fall(nn.functional.gelu(self.rise(x))) + x)


class Bert(nn.Module):  # type: ignore[misc]
    """The structure of transformers' BertModel: position ids by a slice of a buffer, an extended mask, a pooler."""

    positions: Any

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.types = (nn.Embedding(count, WIDTH) for count in (WORDS, 512, 2))
        self.norm, self.pooler = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)
        self.layers = nn.ModuleList(SelfAttention() for _ in range(LAYERS))
        self.register_buffer("positions", torch.arange(512)[None])

    def forward(self, ids: Any, mask: Any) -> Any:
        """Hidden states and what the pooler makes of the first word, behind each other."""
        places = self.positions[:, : ids.shape[1]]
        x = self.norm(self.words(ids) + self.types(torch.zeros_like(ids)) + self.places(places))
        extended = (1.0 - mask[:, None, None, :].to(torch.float32)) * torch.finfo(torch.float32).min
        for layer in self.layers:
            x = layer(x, extended)
        return torch.cat((x, torch.tanh(self.pooler(x[:, :1]))), dim=1)


class Convolutions(nn.Module):  # type: ignore[misc]
    """A residual block behind a stem with a pool, a depthwise convolution, a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.block = nn.Sequential(nn.Conv2d(8, 16, 3, 1, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, 1, 1))
        self.skip, self.depthwise = nn.Conv2d(8, 16, 1), nn.Conv2d(16, 16, 3, 2, 1, groups=16)
        self.classifier = nn.Linear(16, 10)

    def forward(self, x: Any) -> Any:
        """The scores of ten classes."""
        x = self.stem(x)
        x = nn.functional.hardswish(self.depthwise(torch.relu(self.block(x) + self.skip(x))))
        return self.classifier(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))


class _Block(nn.Sequential):  # type: ignore[misc]
    """A convolution, a normalisation that exporters fold into it, and SiLU."""

    def __init__(self, channels: int, filters: int, kernel: int = 1, stride: int = 1) -> None:
        convolution = nn.Conv2d(channels, filters, kernel, stride, (kernel - 1) // 2, bias=False)
        super().__init__(convolution, nn.BatchNorm2d(filters), nn.SiLU())


class _Residuals(nn.Module):  # type: ignore[misc]
    """Half of the channels through residual blocks, beside the other half (a CSP bottleneck as in the YOLO family)."""

    def __init__(self, channels: int, filters: int, depth: int, *, with_skip: bool = True) -> None:
        super().__init__()
        half = filters // 2
        self.through, self.beside, self.joined = _Block(channels, half), _Block(channels, half), _Block(filters, filters)
        self.blocks = nn.ModuleList(nn.Sequential(_Block(half, half), _Block(half, half, 3)) for _ in range(depth))
        self.with_skip = with_skip

    def forward(self, x: Any) -> Any:
        """Of the same height and width."""
        y = self.through(x)
        for block in self.blocks:
            y = y + block(y) if self.with_skip else block(y)
        return self.joined(torch.cat((y, self.beside(x)), dim=1))


class Detector(nn.Module):  # type: ignore[misc]
    """A detector in the form of the YOLO family: five strided convolutions, pools of three sizes, a neck that goes up and down
    again, and a head for each of three sizes; `width` filters in the first layer. Heights and widths are multiples of 32."""

    def __init__(self, width: int, depth: int, classes: int = 4) -> None:
        super().__init__()
        w = width
        self.stem = nn.Sequential(_Block(3, w, 6, 2), _Block(w, 2 * w, 3, 2), _Residuals(2 * w, 2 * w, depth))
        self.third = nn.Sequential(_Block(2 * w, 4 * w, 3, 2), _Residuals(4 * w, 4 * w, depth))
        self.fourth = nn.Sequential(_Block(4 * w, 8 * w, 3, 2), _Residuals(8 * w, 8 * w, depth))
        self.fifth = nn.Sequential(_Block(8 * w, 16 * w, 3, 2), _Residuals(16 * w, 16 * w, depth), _Block(16 * w, 8 * w))
        self.pool, self.pooled = nn.MaxPool2d(5, 1, 2), _Block(32 * w, 16 * w)
        self.narrow, self.narrower = _Block(16 * w, 8 * w), _Block(8 * w, 4 * w)
        self.up, self.upper = (_Residuals(n * w, n // 2 * w, depth, with_skip=False) for n in (16, 8))
        self.down, self.downer = _Block(4 * w, 4 * w, 3, 2), _Block(8 * w, 8 * w, 3, 2)
        self.middle, self.low = (_Residuals(n * w, n * w, depth, with_skip=False) for n in (8, 16))
        self.heads = nn.ModuleList(nn.Conv2d(n * w, 3 * (5 + classes), 1) for n in (4, 8, 16))

    def forward(self, x: Any) -> Any:
        """Boxes and scores of all places of three sizes, behind each other: (batch, places, 5 + classes)."""
        third = self.third(self.stem(x))
        fourth = self.fourth(third)
        pooled = [self.fifth(fourth)]
        for _ in range(3):
            pooled.append(self.pool(pooled[-1]))
        fifth = self.narrow(self.pooled(torch.cat(pooled, dim=1)))
        wider = self.narrower(self.up(torch.cat((_doubled(fifth), fourth), dim=1)))
        small = self.upper(torch.cat((_doubled(wider), third), dim=1))
        medium = self.middle(torch.cat((self.down(small), wider), dim=1))
        large = self.low(torch.cat((self.downer(medium), fifth), dim=1))
        found = []
        for head, level in zip(self.heads, (small, medium, large), strict=True):
            y = head(level)
            places = y.view(y.shape[0], 3, y.shape[1] // 3, y.shape[2], y.shape[3]).permute(0, 1, 3, 4, 2)
            found.append(torch.sigmoid(places.reshape(y.shape[0], -1, y.shape[1] // 3)))
        return torch.cat(found, dim=1)


def _doubled(x: Any) -> Any:
    return nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")


class Decoder(nn.Module):  # type: ignore[misc]
    """A step of GPT-2 behind a cache: the embedding of words is the last layer's weight, too."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(256, WIDTH)
        self.norm, self.joint, self.output = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, ids: Any, past: Any) -> Any:
        """The scores of the next word, (1, 1, words)."""
        x = self.words(ids) + self.places(torch.arange(1) + past.shape[2])
        q, k, v = self.joint(self.norm(x)).view(1, 1, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        k, v = torch.cat((past[:, :HEADS], k), dim=2), torch.cat((past[:, HEADS:], v), dim=2)
        weights = torch.softmax(q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5, dim=-1)
        x = x + self.output((weights @ v).permute(0, 2, 1, 3).reshape(1, 1, WIDTH))
        return x @ self.words.weight.T


def bert(*, dynamo: bool = False) -> ExportedModel:
    """Words and their mask, (batch, length)."""
    axes = {0: "batch", 1: "length"}
    inputs = {"ids": torch.ones(2, 7, dtype=torch.int64), "mask": torch.ones(2, 7, dtype=torch.int64)}
    return ExportedModel(exported(Bert(), inputs, {"ids": axes, "mask": axes}, dynamo=dynamo), _words)


def encoder(*, dynamo: bool = True) -> ExportedModel:
    """torch's encoder, (batch, length, width). The TorchScript exporter writes the length of its example into it."""
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, batch_first=True)
    module = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    octets = exported(module, {"x": torch.ones(3, ENCODER_LENGTH, WIDTH)}, {"x": {0: "batch", 1: "length"}}, dynamo=dynamo)
    return ExportedModel(octets, lambda generator, values: {"x": generator.standard_normal((*values, WIDTH), np.float32)})


def decoder(*, dynamo: bool = False) -> ExportedModel:
    """One word behind a cache of keys and values, (1, 2 heads, past, width of a head)."""
    inputs = {"ids": torch.ones(1, 1, dtype=torch.int64), "past": torch.ones(1, 2 * HEADS, 7, WIDTH // HEADS)}
    octets = exported(Decoder(), inputs, {"past": {2: "length"}}, dynamo=dynamo)

    def feeds(generator: np.random.Generator, values: Sequence[int]) -> Feeds:
        past = generator.standard_normal((1, 2 * HEADS, values[-1], WIDTH // HEADS), np.float32)
        return {"ids": generator.integers(0, WORDS, (1, 1)), "past": past}

    return ExportedModel(octets, feeds)


def convolutions(*, dynamo: bool = False) -> ExportedModel:
    """Images of 32 x 32, batches vary."""
    octets = exported(Convolutions(), {"x": torch.ones(2, 3, 32, 32)}, {"x": {0: "batch"}}, dynamo=dynamo)
    return ExportedModel(octets, lambda generator, values: {"x": generator.standard_normal((values[0], 3, 32, 32), np.float32)})


def detector(*, dynamo: bool = False, width: int = 32, depth: int = 1, stride: int = 32) -> ExportedModel:
    """One image at a time of (3, height, width), which are multiples of 32: values are these quotients."""
    octets = exported(Detector(width, depth), {"x": torch.ones(1, 3, 64, 96)}, {"x": {2: "height", 3: "width"}}, dynamo=dynamo)

    def feeds(generator: np.random.Generator, values: Sequence[int]) -> Feeds:
        return {"x": generator.standard_normal((1, 3, *(stride * value for value in values)), np.float32)}

    return ExportedModel(octets, feeds)


def small_detector(*, dynamo: bool = False) -> ExportedModel:
    """The same with 305,000 parameters, without residual blocks."""
    return detector(dynamo=dynamo, width=8, depth=0)


def _words(generator: np.random.Generator, values: Sequence[int]) -> Feeds:
    mask = np.ones(tuple(values), np.int64)
    mask[:, values[1] - values[1] // 4 :] = 0
    return {"ids": generator.integers(0, WORDS, tuple(values)), "mask": mask}


MODELS: Mapping[str, Callable[..., ExportedModel]] = {
    "bert": bert,
    "encoder": encoder,
    "decoder": decoder,
    "convolutions": convolutions,
    "detector": detector,
    "small_detector": small_detector,
}
