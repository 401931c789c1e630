from __future__ import annotations

import pytest

from tilewright_bench.named import case_names, own_contender


def test_names_are_those_of_cases() -> None:
    names = list(case_names())
    assert len(names) == len(set(names))
    assert {"chain:G2:softmax", "attention:decode_4096", "mlp:ffn_1", "conv-chain:C3", "conv-chain:residual_96_14"} <= set(names)


@pytest.mark.parametrize("name", ["chain:G10:plain", "mlp:lora_128", "conv-chain:C7_relu"])
def test_a_contender_has_made_its_first_call(name: str) -> None:
    contender = own_contender(name, 1)
    assert contender.name == "tilewright"
    assert contender.result().size > 0


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="'image:1' names no case"):
        own_contender("image:1", 1)
