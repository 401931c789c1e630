"""2,000 damaged models: a clear error or a right result each, in bounded memory and time."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.models.test_damaged_models import tried

BATCH = 100


@pytest.mark.sweep
@pytest.mark.parametrize("start", range(0, 2000, BATCH))
def test_damaged_models(start):
    outcomes = tried(start, start + BATCH)
    assert len(outcomes) == BATCH
    print(Counter(text.partition(":")[0] for text in outcomes))
