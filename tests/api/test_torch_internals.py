"""What torch calls private is used in one module, which says what may change with torch's next version."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tilewright

PRIVATE = ("torch._dynamo", "torch._functorch", "torch._subclasses", "torch.fx.experimental", "torch.utils._python_dispatch")
PACKAGE = Path(tilewright.__file__).parent


def named(tree: ast.AST) -> Iterator[str]:
    """Modules that are imported, and attributes of names, with the dots between."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield ast.unparse(node)


def test_private_modules_of_torch_are_used_in_one_module() -> None:
    folders = [PACKAGE / "frontend/torch", *(PACKAGE / "api").glob("torch*"), PACKAGE / "torch"]
    files = [path for folder in folders for path in (folder.rglob("*.py") if folder.is_dir() else [folder])]
    users = {path.name for path in files if any(name.startswith(PRIVATE) for name in named(ast.parse(path.read_text())))}
    assert users == {"torch_internals.py"}
