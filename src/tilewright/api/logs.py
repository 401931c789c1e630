"""TILEWRIGHT_LOG: what the rooms write to their loggers (`tilewright.plan`, `.fuse`, `.codegen`, `.cache`) goes to stderr."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tilewright import settings

if TYPE_CHECKING:
    from tilewright.plan.types import ModelPlan

FORMAT = "%(name)s: %(message)s"
_log_plan, _log_fuse = logging.getLogger("tilewright.plan"), logging.getLogger("tilewright.fuse")


def configure() -> None:
    """Show the topics of TILEWRIGHT_LOG on stderr in full; other topics keep what the application configured. Idempotent."""
    for topic in settings.current().log:
        logger = logging.getLogger(f"tilewright.{topic}")
        logger.setLevel(logging.DEBUG)
        if not any(isinstance(handler, _TopicHandler) for handler in logger.handlers):
            logger.addHandler(_TopicHandler())
            logger.propagate = False


def decided(model_plan: ModelPlan) -> ModelPlan:
    """The plan itself; what it decides is written to `tilewright.plan` and `tilewright.fuse` where somebody reads them."""
    if _log_plan.isEnabledFor(logging.INFO) or _log_fuse.isEnabledFor(logging.INFO):
        _log_decisions(model_plan)
    return model_plan


def _log_decisions(model_plan: ModelPlan) -> None:
    """A line for every chain and every cut: loops and prices to `tilewright.plan`, fusion to `tilewright.fuse`."""
    from tilewright.report.execution import execution_lines
    from tilewright.report.reasons import cut_text

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


class _TopicHandler(logging.StreamHandler):  # type: ignore[type-arg]
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(FORMAT))
