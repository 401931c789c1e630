"""Which axis plays which part in the micro kernel."""

from __future__ import annotations

import pytest

from tests.plan.cases import contraction, elementwise
from tilewright.errors import PlanningError
from tilewright.graph.contraction_roles import ContractionRoles, contraction_roles

EXTENTS = {"b": 12, "m": 512, "k": 64, "l": 512, "n": 64, "h": 3, "p": 64, "y": 10, "x": 7}


@pytest.mark.parametrize(
    ("spec", "roles"),
    [
        ("bmk,bkl->bml", ContractionRoles(0, 1, "m", "l", "k", ("b",))),
        ("bml,bln->bmn", ContractionRoles(0, 1, "m", "n", "l", ("b",))),
        ("kl,mk->ml", ContractionRoles(1, 0, "m", "l", "k", ())),
        ("mk,kl->lm", ContractionRoles(1, 0, "l", "m", "k", ())),
        ("mk,k->m", ContractionRoles(1, 0, None, "m", "k", ())),
        ("k,kn->n", ContractionRoles(0, 1, None, "n", "k", ())),
        ("m,n->mn", ContractionRoles(0, 1, "m", "n", None, ())),
        ("k,k->", ContractionRoles(0, 1, None, None, "k", ())),
        ("bk,bk->b", ContractionRoles(0, 1, None, None, "k", ("b",))),
        ("bm,bn->mnb", ContractionRoles(1, 0, "n", "m", None, ("b",))),
        ("mkh,khn->mn", ContractionRoles(0, 1, "m", "n", "k", ("h",))),
        ("mpk,kpn->mn", ContractionRoles(0, 1, "m", "n", "k", ("p",))),
        ("mkp,kpn->mn", ContractionRoles(0, 1, "m", "n", "p", ("k",))),
        ("bmk,kn->bmn", ContractionRoles(0, 1, "m", "n", "k", ("b",))),
        ("mk,n->mn", ContractionRoles(0, 1, "m", "n", "k", ())),
        ("yxk,kn->yxn", ContractionRoles(0, 1, "x", "n", "k", ("y",))),
        ("yhk,kn->yhn", ContractionRoles(0, 1, "y", "n", "k", ("h",))),
    ],
)
def test_roles_follow_from_the_index_maps(spec: str, roles: ContractionRoles) -> None:
    assert contraction_roles(contraction("C", spec, "AB", EXTENTS)) == roles


def test_what_is_no_contraction_has_no_roles() -> None:
    with pytest.raises(PlanningError, match="R is not a matrix product of two operands"):
        contraction_roles(elementwise("R", "ml", [("C", "ml")], EXTENTS))
