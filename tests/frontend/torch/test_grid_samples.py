"""Samples of images at points of a grid: nearest and linear, outside of the image, at places that are no numbers."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import affine_grid, grid_sample

from tests.support.torch.equal import check

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

PLACES = torch.tensor([[math.nan, 0.1], [math.inf, 0], [-math.inf, 1], [1, -1], [1e30, 0.2], [-0.3, 1.05]])


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_samples_of_images(mode, align_corners):
    x, grid = torch.randn(2, 3, 5, 7), torch.cat([torch.randn(2, 3, 6, 2), PLACES.expand(2, 1, 6, 2)], 1)
    check(lambda x, grid: tuple(grid_sample(x, grid, mode, pad, align_corners) for pad in ("zeros", "border")), x, grid)


def test_grids_of_affine_maps_and_extents_at_run_time():
    def moved(x, theta):
        return grid_sample(x, affine_grid(theta, (theta.shape[0], 3, 4, 1), align_corners=False), align_corners=False)

    check(moved, torch.randn(2, 3, 5, 7), torch.randn(2, 2, 3), mode="symbolic")
    check(lambda theta: affine_grid(theta, (2, 3, 2, 3, 4), align_corners=True), torch.randn(2, 3, 4))
