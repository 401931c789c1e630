from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tilewright.api import logs


@pytest.fixture(autouse=True)
def restored_loggers() -> Iterator[None]:
    """Other tests see the loggers as they were."""
    loggers = [logging.getLogger(f"tilewright.{topic}") for topic in ("plan", "cache")]
    before = [(logger.level, logger.propagate, list(logger.handlers)) for logger in loggers]
    yield
    for logger, (level, propagate, handlers) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.propagate, logger.handlers = propagate, handlers


def test_only_the_chosen_topics_are_shown_and_only_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TILEWRIGHT_LOG", "cache")
    logs.configure()
    logs.configure()
    logging.getLogger("tilewright.cache").debug("hit %s", "abc")
    logging.getLogger("tilewright.plan").debug("not asked for")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "tilewright.cache: hit abc\n"
