"""Four Python threads that call at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

THREADS = 4


def in_threads(work: Callable[[int], None]) -> None:
    """Every thread does it with a number of its own, from 0 on. Returns when all have ended."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
