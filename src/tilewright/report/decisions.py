"""Decisions of a plan as lines of the log: loops and prices to `tilewright.plan`, fusion to `tilewright.fuse`."""

from __future__ import annotations

import logging

from tilewright.plan.types import ModelPlan
from tilewright.report.execution import execution_lines
from tilewright.report.reasons import cut_text

_log_plan = logging.getLogger("tilewright.plan")
_log_fuse = logging.getLogger("tilewright.fuse")


def log_decisions(model_plan: ModelPlan) -> None:
    """Write a line for every chain and every cut."""
    for planned in model_plan.plans:
        chain = planned.chain
        order = ", ".join(f"{loop.axis} by {loop.tile}" for loop in planned.schedule.path(chain.operators[-1].name))
        _log_plan.info("%s: %s; %.1f us predicted", chain.name, order or "no loops", planned.predicted_seconds * 1e6)
        if _log_plan.isEnabledFor(logging.DEBUG):
            for text in execution_lines(planned):
                _log_plan.debug("%s: %s", chain.name, text)
        unfused = f"; {planned.unfused_price.seconds * 1e6:.1f} us unfused" if planned.unfused_price else ""
        _log_fuse.info("%s: %d operators in one kernel%s", chain.name, len(chain.operators), unfused)
    for cut in model_plan.cuts:
        _log_fuse.info("%s: not fused, %s", cut.tensor, cut_text(cut))
