"""The averages of Chimera's evaluation on an A100 (Zheng et al., HPCA 2023, Figures 6 and 9); single bars are not in its text."""

from __future__ import annotations

from collections.abc import Mapping

CHAINS, SOFTMAX, CONVOLUTIONS, CONVOLUTIONS_WITH_RELU, OTHERS = (
    "GEMM chains",
    "GEMM chains with softmax",
    "convolution chains",
    "convolution chains with ReLU",
    "others",
)
GROUPS = (CHAINS, SOFTMAX, CONVOLUTIONS, CONVOLUTIONS_WITH_RELU, OTHERS)

AVERAGES: Mapping[str, tuple[tuple[str, float], ...]] = {
    CHAINS: (
        ("PyTorch", 2.77),
        ("TASO", 3.30),
        ("Relay", 1.69),
        ("Ansor", 1.33),
        ("TensorRT", 2.29),
        ("TVM+Cutlass", 1.51),
    ),
    SOFTMAX: (("PyTorch", 2.74), ("Relay", 1.74), ("Ansor", 1.64)),
    CONVOLUTIONS: (("PyTorch", 5.79), ("TensorRT", 2.01)),
    CONVOLUTIONS_WITH_RELU: (("Relay", 4.32), ("Ansor", 1.30)),
}
"""By group of cases: (other compiler or library, its mean time over that of Chimera); Figures 6a to 6d."""
FEWER_BYTES = (0.0986, 0.5954)
"""The least and the most that GEMM chains save of PyTorch's bytes of DRAM (Section VI-B)."""
