"""The paper's generator: C += A B with its loops unrolled and jammed, in vectors of GCC and Clang (Figures 4 to 6).

A tile of rows x columns of C is loaded, stays in registers while k runs, `steps` at a time, and is stored. Where the paper has
scalar loops behind the last whole tile there are masked vectors (columns), tiles of one row (rows), and a loop over single steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.tune.unroll.searches import Factors

NAME = "unrolled_product"
VECTORS = """\
#ifdef __clang__
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#define INLINE static inline __attribute__((always_inline, unused))
#define EACH for (long lane = 0; lane < LANES; lane++)
typedef float vec __attribute__((vector_size(4 * LANES)));
typedef float unaligned __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
INLINE vec load(const float *p) { return *(const unaligned *)p; }
INLINE void store(float *p, vec v) { *(unaligned *)p = v; }
INLINE vec load_part(const float *p, long n) { vec v = {0}; EACH if (lane < n) v[lane] = p[lane]; return v; }
INLINE void store_part(float *p, vec v, long n) { EACH if (lane < n) p[lane] = v[lane]; }
INLINE vec splat(float x) { return x - (vec){0}; }
INLINE vec multiply_add(vec a, vec b, vec c) { return a * b + c; }
"""
PARAMETERS = "long m, long n, long k, const float *a, long a_row, const float *b, long b_row, float *c, long c_row"


def generated(factors: Factors, lanes: int) -> str:
    """C text of `void unrolled_product(m, n, k, a, a_row, b, b_row, c, c_row)`; strides are in floats.

    >>> print(tile(Factors(1, 16, 1), 16, is_whole=True))
    vec c0_0 = load(&c[i * c_row + j]);
    for (l = 0; l < k; l += 1) {
      vec b0_0 = load(&b[l * b_row + j]);
      vec a0_0 = splat(a[i * a_row + l]);
      c0_0 = multiply_add(a0_0, b0_0, c0_0);
    }
    store(&c[i * c_row + j], c0_0);
    """
    single = factors._replace(rows=1)
    return "\n".join(
        [
            VECTORS.replace("LANES", str(lanes)),
            f"EXPORT void {NAME}({PARAMETERS}) {{",
            "  long i = 0, j, l;",
            f"  for (; i + {factors.rows} <= m; i += {factors.rows}) {{",
            *_columns(factors, lanes),
            "  }",
            *(["  for (; i < m; i += 1) {", *_columns(single, lanes), "  }"] if factors.rows > 1 else []),
            "}",
        ]
    )


def _columns(factors: Factors, lanes: int) -> Iterator[str]:
    """The loop over columns: whole tiles, then single vectors of which the last may be masked."""
    narrow = factors._replace(columns=lanes)
    yield f"    for (j = 0; j + {factors.columns} <= n; j += {factors.columns}) {{"
    yield from _indented(tile(factors, lanes, is_whole=True))
    yield "    }"
    yield f"    for (; j < n; j += {lanes}) {{"
    yield f"      long left = n - j < {lanes} ? n - j : {lanes};"
    yield from _indented(tile(narrow, lanes, is_whole=False))
    yield "    }"


def _indented(text: str) -> Iterator[str]:
    return (f"      {line}" for line in text.splitlines())


def tile(factors: Factors, lanes: int, *, is_whole: bool) -> str:
    """The text for one tile of C; `is_whole` says that no lane is masked."""
    vectors = factors.columns // lanes
    cells = [(row, vector) for row in range(factors.rows) for vector in range(vectors)]
    places = {cell: f"c[{_at('i', cell[0])} * c_row + {_column(cell[1], lanes)}]" for cell in cells}
    lines = [f"vec c{row}_{vector} = {_load(places[row, vector], is_whole)};" for row, vector in cells]
    if factors.steps > 1:
        lines += [f"for (l = 0; l + {factors.steps} <= k; l += {factors.steps}) {{"]
        lines += [f"  {line}" for line in _steps(factors, lanes, is_whole=is_whole)]
        lines += ["}", "for (; l < k; l += 1) {"]
    else:
        lines += ["for (l = 0; l < k; l += 1) {"]
    lines += [f"  {line}" for line in _steps(factors._replace(steps=1), lanes, is_whole=is_whole)]
    lines += ["}"]
    lines += [_store(places[row, vector], f"c{row}_{vector}", is_whole) for row, vector in cells]
    return "\n".join(lines)


def _steps(factors: Factors, lanes: int, *, is_whole: bool) -> Iterator[str]:
    """Loads of B and broadcasts of A for all steps, then the multiply-adds, step by step: loads stand far from their uses."""
    steps, vectors = range(factors.steps), range(factors.columns // lanes)
    for step in steps:
        for vector in vectors:
            place = f"b[{_at('l', step)} * b_row + {_column(vector, lanes)}]"
            yield f"vec b{step}_{vector} = {_load(place, is_whole)};"
    for row in range(factors.rows):
        for step in steps:
            yield f"vec a{row}_{step} = splat(a[{_at('i', row)} * a_row + {_at('l', step, is_last=True)}]);"
    for step in steps:
        for row in range(factors.rows):
            for vector in vectors:
                yield f"c{row}_{vector} = multiply_add(a{row}_{step}, b{step}_{vector}, c{row}_{vector});"


def _at(name: str, offset: int, *, is_last: bool = False) -> str:
    """An index some iterations ahead; in parentheses where it is multiplied."""
    if not offset:
        return name
    return f"{name} + {offset}" if is_last else f"({name} + {offset})"


def _column(vector: int, lanes: int) -> str:
    return f"j + {vector * lanes}" if vector else "j"


def _load(place: str, is_whole: bool) -> str:
    return f"load(&{place})" if is_whole else f"load_part(&{place}, left)"


def _store(place: str, value: str, is_whole: bool) -> str:
    return f"store(&{place}, {value});" if is_whole else f"store_part(&{place}, {value}, left);"
