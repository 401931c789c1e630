"""The networks by name, with a small form of each for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tilewright_bench.networks.convnext import convnext
from tilewright_bench.networks.detection import yolo
from tilewright_bench.networks.diffusion import diffusion_unet
from tilewright_bench.networks.segmentation import deeplab
from tilewright_bench.networks.text_lines import crnn
from tilewright_bench.networks.video import r3d
from tilewright_bench.networks.vit import vit
from tilewright_bench.networks.vocoder import hifi_gan


@dataclass(frozen=True, slots=True)
class BuiltNetwork:
    """What makes the file of a network, and the arguments of its small form, which has every kind of layer."""

    build: Callable[..., bytes]
    small: Mapping[str, Any] = field(default_factory=dict)

    def model(self, *, small: bool = False) -> bytes:
        """The contents of the file."""
        return self.build(**self.small) if small else self.build()


_SMALL_YOLO = {"width": 8, "depths": (1, 1, 1, 1), "size": 64, "classes": 5}
NETWORKS: Mapping[str, BuiltNetwork] = {
    "diffusion_unet": BuiltNetwork(
        diffusion_unet, {"width": 16, "levels": (1, 2), "size": 16, "heads": 2, "context": 24, "groups": 4}
    ),
    "convnext_tiny": BuiltNetwork(convnext, {"width": 16, "depths": (1, 2), "size": 32, "classes": 10}),
    "hifi_gan_v1": BuiltNetwork(hifi_gan, {"width": 32, "frames": 6, "rates": ((8, 16), (2, 4))}),
    "deeplab_v3_resnet_50": BuiltNetwork(
        deeplab,
        {
            "size": 65,
            "stem": 8,
            "stages": ((8, 1, 1, 1), (8, 2, 2, 1), (8, 2, 1, 2)),
            "pyramid": 16,
            "rates": (2, 4),
            "classes": 5,
        },
    ),
    "crnn_convolutions": BuiltNetwork(crnn, {"width": 8, "columns": 20}),
    "yolov8n": BuiltNetwork(yolo, _SMALL_YOLO),
    "yolov8s": BuiltNetwork(partial(yolo, width=32), {**_SMALL_YOLO, "width": 16}),
    "r3d_18": BuiltNetwork(r3d, {"width": 8, "depths": (1, 1), "images": 4, "size": 16, "classes": 10}),
    "vit_b16": BuiltNetwork(vit, {"width": 32, "layers": 2, "heads": 4, "size": 32, "patch": 8, "classes": 10}),
}
