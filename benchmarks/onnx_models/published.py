"""The published convolutional networks, whole: how each is made, its number of parameters, and a small form for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.onnx_models import cnns, first_cnns, mobile_cnns
from benchmarks.onnx_models.dense_outputs import UNet, Yolo


@dataclass(frozen=True, slots=True)
class Network:
    """A network of square images."""

    build: Callable[..., Any]
    small: Mapping[str, Any]
    """Arguments of `build` for the small form, which has every kind of block."""
    millions: float
    """Of parameters, as published, without auxiliary classifiers."""
    size: int = 224
    small_size: int = 64


_SMALL_RESNET = {"width": 8, "depths": (1, 2), "classes": 10}
_SMALL_VGG = {"width": 8, "depths": (1, 2), "hidden": 32, "size": 32, "classes": 10}
_SMALL_ROWS = (8, 8, 16, 4, 8, 8)

NETWORKS: Mapping[str, Network] = {
    "resnet18": Network(first_cnns.resnet18, _SMALL_RESNET, 11.69, small_size=32),
    "resnet50": Network(cnns.resnet50, _SMALL_RESNET, 25.56, small_size=32),
    "resnet152": Network(partial(cnns.resnet50, depths=(3, 8, 36, 3), branch_scale=0.2), _SMALL_RESNET, 60.19, small_size=32),
    "vgg16": Network(first_cnns.vgg, _SMALL_VGG, 138.36, small_size=32),
    "vgg19": Network(partial(first_cnns.vgg, depths=first_cnns.VGG_19), _SMALL_VGG, 143.67, small_size=32),
    "squeezenet": Network(first_cnns.squeezenet, {"first": 8, "fires": ((4, 8), (4, 8), (8, 16)), "classes": 10}, 1.24),
    "googlenet": Network(
        first_cnns.googlenet, {"first": 8, "second": 16, "stages": ((_SMALL_ROWS,), (_SMALL_ROWS,)), "classes": 10}, 7.0
    ),
    "inception_v2": Network(
        first_cnns.inception_v2,
        {"first": 8, "second": 16, "rows": (_SMALL_ROWS, (0, 8, 16, 4, 8, 0), (16, 8, 8, 4, 8, 8)), "classes": 10},
        11.2,
    ),
    "densenet_121": Network(
        partial(cnns.densenet, growth=32, depths=(6, 12, 24, 16)), {"growth": 16, "depths": (2, 2), "classes": 10}, 7.98
    ),
    "shufflenet_v2": Network(
        partial(cnns.shufflenet, widths=(116, 232, 464), depths=(4, 8, 4), last=1024),
        {"widths": (40, 80), "depths": (2, 2), "last": 96, "classes": 10},
        2.28,
    ),
    "mobilenet_v2": Network(cnns.mobilenet_v2, {"multiplier": 0.5, "stages": 3, "classes": 10}, 3.50, small_size=32),
    "mobilenet_v3_large": Network(
        mobile_cnns.mobilenet_v3_large,
        {"rows": [mobile_cnns.MOBILENET_V3_LARGE[number] for number in (0, 1, 3, 6, 10)], "hidden": 32, "classes": 10},
        5.48,
    ),
    "efficientnet_b0": Network(
        mobile_cnns.efficientnet_b0, {"rows": mobile_cnns.EFFICIENTNET_B0[:3], "last": 96, "classes": 10}, 5.29
    ),
    "regnety_8gf": Network(mobile_cnns.regnety_8gf, {"widths": (32, 48), "depths": (1, 2), "group": 16, "classes": 10}, 39.38),
    "convnext_tiny": Network(
        partial(cnns.convnext, width=96, depths=(3, 3, 9, 3), has_last_norm=True),
        {"width": 32, "depths": (1, 2), "classes": 10},
        28.59,
    ),
    "unet": Network(UNet, {"width": 8, "levels": 2}, 31.0, size=256, small_size=32),
    "yolov8n": Network(Yolo, {"width": 8, "depths": (1, 1, 1, 1), "classes": 5, "bins": 4}, 3.15, size=640),
}
"""By name; 224 x 224 pixels where a size is not given. ShuffleNet is the second version, of width 1.0."""
