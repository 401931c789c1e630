"""NonMaxSuppression: of boxes that overlap, the box with the highest score stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define


@dataclass(frozen=True, slots=True, kw_only=True)
class NonMaxSuppression:
    """(batch, class, box) of every box that stays, in the order of batches, classes and scores."""

    center_point_box: int = 0

    def reference(
        self,
        boxes: Any,
        scores: Any,
        max_output_boxes_per_class: Any = None,
        iou_threshold: Any = None,
        score_threshold: Any = None,
    ) -> Any:
        most, overlap = int(_number(max_output_boxes_per_class, 0)), _number(iou_threshold, 0.0)
        threshold = _number(score_threshold, -np.inf)
        found = [
            (batch, kind, box)
            for batch in range(scores.shape[0])
            for corners in (_corners(boxes[batch], self.center_point_box),)
            for kind in range(scores.shape[1])
            for box in _kept(corners, scores[batch, kind], most, overlap, threshold)
        ]
        return np.array(found, np.int64).reshape(-1, 3)


def _number(value: Any, default: float) -> float:
    return default if value is None or np.size(value) == 0 else float(np.asarray(value).reshape(-1)[0])


def _corners(boxes: Any, center_point_box: int) -> Any:
    """(low, low, high, high) of boxes given by two corners in any order, or by their centre, width and height."""
    if center_point_box:
        centre, half = boxes[:, [1, 0]], boxes[:, [3, 2]] / 2
        return np.concatenate([centre - half, centre + half], axis=1)
    first, second = boxes[:, :2], boxes[:, 2:]
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=1)


def _overlaps(box: Any, boxes: Any) -> Any:
    """The area of the intersection over that of the union."""
    sides = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    common = np.prod(np.maximum(sides, 0), axis=1)
    union = np.prod(box[2:] - box[:2]) + np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) - common
    return np.divide(common, union, out=np.zeros_like(common), where=union > 0)


def _kept(corners: Any, scores: Any, most: int, overlap: float, threshold: float) -> list[int]:
    order = [int(number) for number in np.argsort(-scores, kind="stable") if scores[number] > threshold]
    kept: list[int] = []
    while order and len(kept) < most:
        best, *rest = order
        kept.append(best)
        apart = _overlaps(corners[best], corners[rest]) <= overlap
        order = [number for number, stays in zip(rest, apart, strict=True) if stays]
    return kept


define("NonMaxSuppression", NonMaxSuppression, since=10)
