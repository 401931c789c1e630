"""Texts that digests are made of: equal under other names, different under other numbers."""

from __future__ import annotations

from typing import Any

import tilewright as tw
from tests.replay.c_text import canonical, readable
from tests.replay.plan_text import numbered, plain, plan_text

C = """\
/* a comment */
#define TW_PAIR(name) static int name(void) { return 2; }
#ifdef TW_GUARD
#define TW_UNUSED 1
#endif
typedef float vector __attribute__((vector_size(16)));
static const char *message = "a // string";
TW_PAIR(two)
static vector half(vector x) {
  return x / 2;  // exact
}
static int never(void) { return two(); }
void run(vector *x) {
  #pragma GCC unroll 4
  for (int i = 0; i < 4; i++)
    x[i] = half(x[i]);
}
"""
READABLE = """\
typedef float vector __attribute__((vector_size(16)));
static vector half(vector x) {
return x / 2;
}
void run(vector *x) {
#pragma GCC unroll 4
for (int i = 0; i < 4; i++)
x[i] = half(x[i]);
}
"""


def test_comments_and_unused_definitions_are_dropped():
    assert readable(C) == READABLE


def test_names_make_no_difference_to_c_text():
    assert canonical(C.replace("half", "middle").replace("vector ", "lanes ")) == canonical(C)


def test_numbers_and_uses_make_a_difference_to_c_text():
    changes = (("x / 2", "x / 3"), ("unroll 4", "unroll 2"), ("half(x[i])", "x[i]"), ("vector_size(16)", "vector_size(32)"))
    assert all(canonical(C.replace(*change)) != canonical(C) for change in changes)


def test_names_make_no_difference_to_plans():
    def renamed(query: Any, key: Any) -> Any:
        return tw.softmax(query @ key)

    def function(a: Any, b: Any) -> Any:
        return tw.softmax(a @ b)

    plans = [tw.jit(one, target="zen4").lower(tw.spec((64, 32)), tw.spec((32, 48))).model_plan for one in (function, renamed)]
    assert plan_text(plans[0], numbered()) == plan_text(plans[1], numbered())
    assert plan_text(plans[0], plain) != plan_text(plans[1], plain)


def test_decisions_make_a_difference_to_plans():
    def text(rows: int, target: str) -> str:
        lowered = tw.jit(tw.matmul, target=target).lower(tw.spec((rows, 32)), tw.spec((32, 48)))
        return plan_text(lowered.model_plan, numbered())

    assert len({text(64, "zen4"), text(65, "zen4"), text(64, "icelake")}) == 3
