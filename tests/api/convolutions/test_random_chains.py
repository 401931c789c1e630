"""Random chains of convolutions by every front end, with any fusion, schedule and algorithm, beside PyTorch in float64."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tests.support.random.conv_chain_runs import FUSIONS, ROUTES, check, check_every_order, computed, planned
from tests.support.random.conv_chains import Conv, ConvChain, chain_of, conv, conv_chains, depthwise, pool, relu, residual
from tilewright.plan.algorithms.definition import registered
from tilewright.plan.schedule import Storage

TARGET = "x86-64-v3"
pytestmark = pytest.mark.needs("avx2", "fma")


@settings(max_examples=3)
@given(conv_chains(most_convolutions=3, most_points=24), st.sampled_from(ROUTES), st.sampled_from(FUSIONS))
def test_any_chain(chain: ConvChain, route: str, fuse: bool | None) -> None:
    """Longer ones are in the sweep."""
    check(chain, computed(chain, route, fuse, TARGET))


@settings(max_examples=5)
@given(
    conv_chains(most_convolutions=3, most_points=24, most_filters=20),
    st.sampled_from(ROUTES),
    st.integers(0, 999),
    st.sampled_from(["", *(algorithm.name for algorithm in registered())]),
)
def test_any_chain_by_any_schedule_and_algorithm(chain: ConvChain, route: str, seed: int, algorithm: str) -> None:
    with planned(seed, algorithm):
        check(chain, computed(chain, route, True, TARGET))


ALL = set(Storage)
CHAINS = {
    "3x3 and 1x1": (chain_of((2, 5, 9, 11), conv(7, 3), relu, conv(6, 1)), "as written", {Storage.KEEP}),
    "1x1 and 3x3": (chain_of((1, 5, 9, 11), conv(7, 1), relu, conv(6, 3), relu), "filter lanes", ALL),
    "3x3 twice, by two": (
        chain_of((1, 3, 11, 12), conv(5, 3, padding=0), relu, conv(4, 3, stride=2, padding=0)),
        "as written",
        ALL,
    ),
    "Winograd": (chain_of((1, 3, 7, 9), conv(5, 3), conv(4, 3)), "Winograd F(2x2, 3x3)", ALL),
    "Winograd, tiles in rows": (
        chain_of((1, 3, 7, 9), conv(5, 3), conv(4, 3)),
        "Winograd F(2x2, 3x3), tiles in rows",
        {Storage.KEEP},
    ),
    "shifted rows": (chain_of((1, 3, 9, 8), conv(5, 3, dilation=2), conv(4, 3)), "shifted rows", ALL),
    "no padding": (chain_of((1, 3, 9, 8), conv(5, 3, padding=0), conv(4, 3, padding=0)), "as written", ALL),
    "inverted residual": (
        chain_of((1, 4, 9, 8), conv(8, 1), relu, depthwise(8, 3), relu, conv(4, 1), residual(0)),
        "as written",
        ALL,
    ),
    "a pool at the end": (chain_of((1, 3, 9, 10), conv(5, 3, padding=0), relu, pool("max", 3, 2)), "as written", ALL),
}
"""The chain, the algorithm of its convolutions, and the storages that its largest part can have."""


LONG = ("Winograd, tiles in rows",)
"""It has the orders of the other Winograd's chain."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.sweep] if name in LONG else []) for name in CHAINS])
def test_every_order_and_storage(name: str) -> None:
    chain, algorithm, storages = CHAINS[name]
    assert check_every_order(chain, algorithm, TARGET) >= storages


@pytest.mark.parametrize("name", ["no padding", "inverted residual"])
def test_every_order_with_channels_last(name: str) -> None:
    chain, algorithm, _ = CHAINS[name]
    assert check_every_order(chain, algorithm, TARGET, channels_last=True) >= {Storage.KEEP}


@pytest.mark.parametrize("fuse", [None, True])
def test_line_buffers_of_images_whose_pixels_are_one_dimension(fuse: bool | None) -> None:
    """What the next block needs is moved with all of its pixels, rows and columns of which walk one dimension."""
    by_rows = [Conv(6, (1, 3), (1, 1), (1, 1), ((0, 0), (1, 1)), groups, False) for groups in (6, 3)]
    chain = chain_of((3, 6, 13, 25), *by_rows)
    check(chain, computed(chain, ROUTES[0], fuse, "x86-64-v2"))


def test_a_depthwise_convolution_can_be_fused_with_windows_over_it() -> None:
    """The width of its blocks, which says how many lanes a row fills, is another for every tile."""
    chain = chain_of((1, 32, 112, 112), depthwise(32, 3, stride=2), relu, conv(16, 3))
    lowered = tw.jit(chain.function(chain.weights()), target="cascadelake-6240").lower(tw.spec(chain.image))
    assert lowered.model_plan.plans
