"""A revision's process of `benchmarks.studies.paired`: follows orders from stdin, in a checkout's directory and with its code.

Revisions with the distribution tilewright-bench know cases by name; earlier revisions have the benchmark inside the package.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def contender(name: str, threads: int) -> Any:
    """The contender of a case, after its first call."""
    if Path("bench").is_dir():
        return import_module("tilewright_bench.named").own_contender(name, threads)
    kind, _, rest = name.partition(":")
    shape, _, variant = rest.partition(":")
    own, case = {
        "chain": lambda: (_old("chains").CHAINS, _old("chains").chain_cases([shape], variant, (False,))[0]),
        "attention": lambda: (_old("attention").ATTENTION, _old("attention_cases").attention_cases([rest])[0]),
        "mlp": lambda: (_old("mlp").MLP, _old("mlp_cases").mlp_cases([rest])[0]),
        "model": lambda: (_old("models").MODELS, _old("model_case").ModelCase(Path(rest))),
    }[kind]()
    found = next(one for one in own.own.prepare(case, threads) if one.name == "tilewright")
    found.call()
    return found


def knows(name: str) -> bool:
    """Whether the checkout has a case."""
    kind = name.partition(":")[0]
    if not Path("bench").is_dir():
        return kind in ("chain", "attention", "mlp", "model")
    return kind == "model" or name in import_module("tilewright_bench.named").case_names()


def _old(name: str) -> Any:
    return import_module(f"tilewright.cli.bench.{name}")


def main() -> None:
    """Look for a case, prepare it, or measure a turn of it: an order and its answer are a line of JSON each."""
    prepared: Any = None
    for line in sys.stdin:
        order = json.loads(line)
        if "knows" in order:
            answer: Any = knows(order["knows"])
        elif "prepare" in order:
            answer, prepared = None, contender(order["prepare"], order["threads"])
        else:
            answer = prepared.seconds()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
