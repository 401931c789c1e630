"""The arithmetic of the study of what tuning gains. Nothing is timed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("torch")

from benchmarks.studies.tuned import naive, tables
from benchmarks.studies.tuned.building import libraries
from benchmarks.studies.tuned.finals import Series
from benchmarks.studies.tuned.judging import digests, judge
from benchmarks.studies.tuned.measuring import Beside, record
from benchmarks.studies.tuned.methods import boosted, evolution, found, learned_from, matrix, spearman, variants
from benchmarks.studies.tuned.problems import CONV_CHAINS, CONVOLUTIONS, EXHAUSTIVE, MOST_FLOPS, problems
from benchmarks.studies.tuned.records import File, Header, Record
from benchmarks.studies.tuned.variants import models, table
from benchmarks.tuning import passes
from tilewright.tune.schedules.cases import Case, product


def rows_of(count: int, seed: int = 0) -> list[Record]:
    """A table whose times are a smooth function of two decisions, the price of one of them."""
    source = np.random.default_rng(seed)
    found_ = []
    for number in range(count):
        m, n = (float(source.integers(0, 10)) for _ in range(2))
        ratio = 1 + (m - 3) ** 2 / 20 + (n - 7) ** 2 / 20
        code = {"einsum by m": m, "einsum by n": n, f"einsum in order {'mn' if number % 2 else 'nm'}": 1.0}
        found_.append(Record(str(number), "drawn", "", 1e-3 * (1 + (m - 3) ** 2), {}, code, ratio, True, 0.1, 0.01))
    return found_


def test_there_are_forty_problems_and_the_sixteen_are_small() -> None:
    every = {one.name: one for one in problems()}
    assert len(every) == 40
    assert len(CONVOLUTIONS) == 8
    assert len(CONV_CHAINS) == 4
    assert len(EXHAUSTIVE) == 16
    assert all(every[name].flops < MOST_FLOPS for name in EXHAUSTIVE)


def test_passes_begin_and_end_with_the_sixteen() -> None:
    order = [(one.name, count) for one, count in passes(5, 3, 9)]
    assert [count for _, count in order] == [5] * 16 + [3] * 24 + [9] * 16
    assert {name for name, _ in order[16:40]}.isdisjoint(EXHAUSTIVE)


def test_a_table_has_the_choice_first_and_two_level_tilings_and_grows_at_its_end() -> None:
    case = Case("square", product, ((192, 192), (192, 192)))
    found_ = models(case)
    large, small = table(found_, 120, 0), table(found_, 60, 0)
    assert large[0].source == "choice"
    assert len({one.digest for one in large}) == len(large) == 120
    assert {"neighbour", "two steps", "two levels", "uniform"} <= {one.source for one in large}
    assert [one.digest for one in large[:60]] == [one.digest for one in small]
    assert large[0].predicted_s == pytest.approx(found_[0].plans[0].predicted_seconds)


def test_records_outlive_a_line_that_was_cut_short(tmp_path: Path) -> None:
    file = File(tmp_path, "p")
    written = rows_of(3)
    file.append(written[:2])
    with file.path.open("a") as stream:
        stream.write('{"digest": "2", "sou')
    assert file.records() == written[:2]
    assert file.header() is None
    header = Header("p", 1e-3, 1e11, 0.5, "abc")
    file.write("header", {name: getattr(header, name) for name in Header.__dataclass_fields__})
    assert file.header() == header


def test_a_record_has_the_price_and_the_decisions() -> None:
    entry = table(models(Case("square", product, ((96, 96), (96, 96)))), 2, 0)[0]
    kept = record(entry, 1.0, is_timed=True, build_s=0.1, time_s=0.2)
    assert kept.predicted_s == pytest.approx(entry.predicted_s)
    assert sum(kept.terms.values()) > 0
    assert any(" on " in name for name in kept.code)


def test_a_ratio_is_over_the_less_of_two_turns_of_the_reference() -> None:
    turns = iter([2.0, 4.0, 3.0])
    beside = Beside(lambda: next(turns))
    assert beside.ratio(lambda: 6.0) == 3.0  # no turn before
    assert beside.ratio(lambda: 6.0) == 3.0  # of 2 and 4
    assert beside.ratio(lambda: 6.0) == 2.0  # of 4 and 3


def test_libraries_hold_one_instruction_set_and_every_number_once() -> None:
    groups = list(libraries([(number, number % 3 == 0) for number in range(20)], 4))
    assert sorted(number for group in groups for number in group) == list(range(20))
    assert all(len({number % 3 == 0 for number in group}) == 1 and len(group) <= 4 for group in groups)


@pytest.mark.parametrize("search", [evolution, boosted])
def test_searches_ask_for_nothing_twice_and_come_near_the_best(search: object) -> None:
    records = rows_of(300)
    asked, _ = search(records, 120, 0)  # type: ignore[operator]
    assert len(asked) == len(set(asked)) == 120
    best = found(records, range(len(records)), 0.0).ratio
    assert found(records, asked, 0.0).ratio <= 1.05 * best
    assert found(records, asked, 2.0).seconds == pytest.approx(120 * 0.11 + 2.0)


def test_a_wrong_result_is_never_the_best() -> None:
    records = rows_of(5)
    records[0] = replace(records[0], ratio=None)
    assert found(records, [0, 1], 0.0).digest == "1"


def test_missing_loops_count_as_the_largest_tiles_and_missing_marks_as_none() -> None:
    records = rows_of(2)
    records = [replace(records[0], code={"a by m": 3.0}), replace(records[1], code={"a on k": 1.0})]
    assert matrix(records).tolist() == [[3.0, 0.0], [4.0, 1.0]]


def test_equal_values_share_a_rank() -> None:
    assert spearman([1, 1, 2, 3], [1, 1, 2, 3]) == pytest.approx(1.0)
    assert spearman([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(0.0)


def test_rankers_learn_nothing_of_the_problem_that_they_rank() -> None:
    records = {name: rows_of(30, seed) for seed, name in enumerate("abc")}
    features = {name: {one.digest: ((float(at), 1.0), 0.05) for at, one in enumerate(records[name])} for name in records}
    every = {name: variants(name, records[name], features[name]) for name in records}
    assert {one.problem for one in learned_from(every, "b", seed=0)} == {"a", "c"}
    judged = judge("b", records["b"], every, features["b"], 0)
    changed = [replace(one, ratio=50.0) for one in records["b"]]
    again = judge("b", changed, {**every, "b": variants("b", changed, features["b"])}, features["b"], 0)
    for ranker in ("price", "network", "boosting", "random"):
        assert judged["methods"][ranker]["measured"] == 3
        assert judged["methods"][ranker]["measured"] == again["methods"][ranker]["measured"]
    assert judged["methods"]["network"]["seconds"] > 30 * 0.05
    assert set(judged["fastest"]) <= set(digests(judged))


def test_the_elected_finalist_is_judged_by_pairs_that_did_not_elect_it() -> None:
    assert Series({"a": 0.8, "b": 0.9}, {"a": 0.95, "b": 0.85}).best() == ("a", 0.95)
    assert Series({"a": 0.8}, {"a": 1.02}).best() == ("", 1.0)


def row(name: str, best: float, *, other: float) -> tables.Row:
    """A problem whose best was found by all methods but chance."""
    methods = {method: {"digest": "x", "ratio": best, "measured": 10, "seconds": 20.0} for method in tables.METHODS}
    methods["random"] = {**methods["random"], "digest": "y", "ratio": other}
    names = ("price", "network", "boosting", "random", "price, whole table")
    judged = {
        "pool": 10,
        "table": 20,
        "methods": methods,
        "spearman": dict.fromkeys(names, 0.5),
        "exhaustive_s": 40.0,
        "least": best,
        "fastest": ["x"],
    }
    header = Header(name, 1e-3, 1e11, 0.5, "abc")
    return tables.Row(name, 10**7, True, header, judged, Series({"x": best, "y": other}, {"x": best, "y": other}))


def test_fractions_are_of_the_best_of_all() -> None:
    one = row("p", 0.8, other=1.0)
    assert one.regret == pytest.approx(1.25)
    assert one.fraction("evolution") == pytest.approx(1.0)
    assert one.fraction("random") == pytest.approx(0.8)
    rows = [one, row("q", 1.1, other=1.2)]  # of q the choice is the best
    assert rows[1].regret == 1.0
    assert rows[1].fraction("random") == pytest.approx(1.1 / 1.2)
    assert tables.bound(rows)[-1] == "beyond 1.1: p 1.25"
    assert tables.fractions(rows)[-1].split()[3:5] == ["1.118", "0.894"]
    assert len(tables.costs(rows)) == len(tables.correlations(rows)) == 4


def test_headlines_stand_beside_those_of_the_papers() -> None:
    products = {
        "256x256x2048": {"tilewright": 4e-3, "numpy": 8e-3, "naive": 40e-3, "peak_flops_per_s": 1e11},
        "16x16x16": {"tilewright": 1e-7, "numpy": 2e-7, "naive": 1e-6, "peak_flops_per_s": 1e11},
    }
    parallel = {"256x256x2048": {"tilewright": 2e-3, "numpy": 4e-3, "naive": 25e-3, "peak_flops_per_s": 1e11}}
    lines = tables.papers([row("256x256x2048", 0.8, other=1.0)], products, parallel)
    text = "\n".join(" ".join(line.split()) for line in lines)
    assert "over naive loops, Table 1, one thread 7.6 10.0" in text
    assert "(AutoTVM) 4.9 12.5, choice 10.0, 1 sizes" in text
    assert "28 cores; 2 8.2 12.5" in text
    assert "33-71% 82%-82%" in text
    assert "search over planning 21.9 40" in text
    assert "over that of the search's 1.39 0.80" in text
    assert len(tables.headlines(products)) == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_the_naive_loops_compute_a_product(tmp_path: Path, threads: int) -> None:
    source = np.random.default_rng(0)
    a, b = (source.standard_normal(shape, np.float32) for shape in ((5, 7), (7, 9)))
    np.testing.assert_allclose(naive.compiled(tmp_path, threads).product(a, b), a @ b, rtol=1e-4)
