"""If: one of two graphs, by a condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.control.bodies import Body, single_or_tuple, truth_value


@dataclass(frozen=True, slots=True, kw_only=True)
class If:
    """The results of one of two graphs without operands."""

    then_branch: Body
    else_branch: Body

    def reference(self, condition: Any) -> Any:
        return single_or_tuple((self.then_branch if truth_value(condition, "If") else self.else_branch)())


define("If", If)
