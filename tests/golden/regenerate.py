"""Rewrite every golden file from what is emitted and printed now (`python -m tests.golden.regenerate`); read the difference."""

from __future__ import annotations

from pathlib import Path

from tests.golden import codegen_golden, gpu_chains_golden, kernels_golden, reports_golden, windows_golden
from tests.support import public_names

HERE = Path(__file__).parent

if __name__ == "__main__":
    for module in (kernels_golden, codegen_golden, reports_golden, windows_golden, gpu_chains_golden):
        for name, content in module.contents().items():
            (HERE / name).write_text(content)
            print(name)
    (HERE / "public_names.txt").write_text("\n".join(public_names.lines()) + "\n")
