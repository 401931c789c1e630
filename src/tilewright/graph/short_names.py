"""Names as people and file systems can take them: a model may give its values names of any length."""

from __future__ import annotations

import re

MOST_CHARACTERS = 80


def short_name(name: str) -> str:
    """The name; of a long one both ends, where names that belong together differ.

    >>> short_name("encoder/layer_0/weight"), len(short_name("x" * 70_000))
    ('encoder/layer_0/weight', 80)
    """
    if len(name) <= MOST_CHARACTERS:
        return name
    end = MOST_CHARACTERS // 2
    return f"{name[: MOST_CHARACTERS - end - 3]}...{name[-end:]}"


def file_name(name: str) -> str:
    """A part of a file's name that every file system takes.

    >>> file_name("main/graph 1"), file_name("..")
    ('main_graph_1', '__')
    """
    return re.sub(r"[^\w-]", "_", short_name(name), flags=re.ASCII)
