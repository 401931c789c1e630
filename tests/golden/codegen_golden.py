"""The generated C of G2, plain and with softmax, by a hand-made plan."""

from __future__ import annotations

from pathlib import Path

from tests.support.chains import artifact_of, attention_plan, chain_text

HERE = Path(__file__).parent
G2 = {"b": 12, "m": 512, "n": 64, "k": 64, "l": 512}
FORMS = {"codegen/g2_plain.c": "", "codegen/g2_softmax.c": "softmax"}


def emitted(name: str) -> str:
    """The text of the chain as it is emitted now."""
    return chain_text(artifact_of([attention_plan("x86-64-v4", FORMS[name], dict(G2))]))


def contents() -> dict[str, str]:
    """Every file of this kind by its name."""
    return {name: emitted(name) for name in FORMS}


def golden(name: str) -> str:
    """What was reviewed."""
    return (HERE / name).read_text()
