"""TILEWRIGHT_LOG: what packages write to their loggers (`tilewright.plan`, `.fuse`, `.codegen`, `.cache`, `.torch`) on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright import settings

if TYPE_CHECKING:
    from logging import Logger

    from tilewright.plan.types import ModelPlan

FORMAT = "%(name)s: %(message)s"


def configure() -> None:
    """Show the topics of TILEWRIGHT_LOG on stderr in full; other topics keep what the application configured. Idempotent."""
    topics = settings.value("log")
    if not topics:
        return
    import logging  # 0.6 MB that a process which loads packages does without

    for name in (f"tilewright.{topic}" for topic in topics):
        logger = logging.getLogger(name)
        logger.setLevel(logging.DEBUG)
        if not any(handler.name == name for handler in logger.handlers):
            handler = logging.StreamHandler()
            handler.name = name
            handler.setFormatter(logging.Formatter(FORMAT))
            logger.addHandler(handler)
            logger.propagate = False


def decided(model_plan: ModelPlan) -> ModelPlan:
    """The plan itself; what it decides is written to `tilewright.plan` and `tilewright.fuse` where somebody reads them."""
    import logging

    plans, fusion = logging.getLogger("tilewright.plan"), logging.getLogger("tilewright.fuse")
    if plans.isEnabledFor(logging.INFO) or fusion.isEnabledFor(logging.INFO):
        _log_decisions(model_plan, plans, fusion)
    return model_plan


def _log_decisions(model_plan: ModelPlan, plans: Logger, fusion: Logger) -> None:
    """A line for every chain and every cut: loops and prices to `tilewright.plan`, fusion to `tilewright.fuse`."""
    from logging import DEBUG

    from tilewright.report.execution import execution_lines
    from tilewright.report.reasons import cut_text

    for planned in model_plan.plans:
        chain = planned.chain
        order = ", ".join(f"{loop.axis} by {loop.tile}" for loop in planned.schedule.path(chain.operators[-1].name))
        plans.info("%s: %s; %.1f us predicted", chain.name, order or "no loops", planned.predicted_seconds * 1e6)
        if plans.isEnabledFor(DEBUG):
            for text in execution_lines(planned):
                plans.debug("%s: %s", chain.name, text)
        unfused = f"; {planned.unfused_price.seconds * 1e6:.1f} us unfused" if planned.unfused_price else ""
        fusion.info("%s: %d operators in one kernel%s", chain.name, len(chain.operators), unfused)
    for cut in model_plan.cuts:
        fusion.info("%s: not fused, %s", cut.tensor, cut_text(cut))
