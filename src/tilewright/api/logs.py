"""TILEWRIGHT_LOG: what the rooms write to their loggers (`tilewright.plan`, `.fuse`, `.codegen`, `.cache`) goes to stderr."""

from __future__ import annotations

import logging

from tilewright import settings

FORMAT = "%(name)s: %(message)s"


def configure() -> None:
    """Show the topics of TILEWRIGHT_LOG on stderr in full; other topics keep what the application configured. Idempotent."""
    for topic in settings.current().log:
        logger = logging.getLogger(f"tilewright.{topic}")
        logger.setLevel(logging.DEBUG)
        if not any(isinstance(handler, _TopicHandler) for handler in logger.handlers):
            logger.addHandler(_TopicHandler())
            logger.propagate = False


class _TopicHandler(logging.StreamHandler):  # type: ignore[type-arg]
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(FORMAT))
