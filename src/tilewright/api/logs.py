"""TILEWRIGHT_LOG: what the rooms write to their loggers (`tilewright.plan`, `.fuse`, `.codegen`, `.cache`) goes to stderr."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tilewright import settings

if TYPE_CHECKING:
    from tilewright.plan.types import ModelPlan

FORMAT = "%(name)s: %(message)s"


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
    if any(logging.getLogger(f"tilewright.{topic}").isEnabledFor(logging.INFO) for topic in ("plan", "fuse")):
        from tilewright.report.decisions import log_decisions

        log_decisions(model_plan)
    return model_plan


class _TopicHandler(logging.StreamHandler):  # type: ignore[type-arg]
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(FORMAT))
