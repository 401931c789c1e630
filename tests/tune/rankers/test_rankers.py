"""Rankers: games without sides, draws, what is learned, nothing that leaks, files that refuse others."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

pytest.importorskip("sklearn")

from tilewright.errors import TilewrightError
from tilewright.tune.pipeline.ranking import restore, save
from tilewright.tune.rankers.boosting import Boosting
from tilewright.tune.rankers.ranker import AtRandom, ByPrice, Variant, kept
from tilewright.tune.rankers.tournament import Tournament

LEARNING = (Tournament, Boosting)


def variants(problem: str, count: int = 40, seed: int = 0) -> list[Variant]:
    """Those whose working sets lie in memory are slow."""
    source = random.Random(f"{problem} {seed}")
    found = []
    for _ in range(count):
        share, size = source.random(), source.uniform(1e5, 3e5)
        seconds = 1.0 + 3 * share * size / 1e5
        found.append(Variant(problem, (size * (1 - share), size / 2, 0.0, size * share), source.random(), seconds))
    return found


PROBLEMS = [variant for name in "abcdef" for variant in variants(name)]
FEW = [variant for name in "ab" for variant in variants(name)]
"""Enough where it does not matter how well a ranker has learned."""


@pytest.fixture(scope="module", params=LEARNING)
def trained(request):
    ranker = request.param()
    ranker.train(PROBLEMS)
    return ranker


def test_what_was_learned_ranks_another_problem(trained):
    own = variants("unseen")
    times = np.array([variant.measured_s for variant in own])
    order = trained.order(own)
    assert times.min() / times[kept(order)].min() > 0.95
    assert np.corrcoef(np.argsort(order), np.argsort(np.argsort(times)))[0, 1] > 0.8


@pytest.mark.parametrize("ranker", [ByPrice(), AtRandom(3)], ids=lambda ranker: ranker.name)
def test_rankers_that_learn_nothing_need_no_training(ranker):
    own = variants("unseen")
    assert sorted(ranker.order(own)) == list(range(len(own)))
    assert ranker.order(own) == ranker.order(own)


def test_games_do_not_depend_on_who_comes_first():
    ranker = Tournament()
    ranker.train(FEW)
    own = variants("unseen")
    games = ranker.games(own)
    assert np.array_equal(games, -games.T)
    backwards = ranker.games(own[::-1])
    assert np.array_equal(games, backwards[::-1, ::-1])


def test_equal_variants_draw():
    ranker = Tournament()
    ranker.train(FEW)
    one = variants("unseen")[0]
    assert not ranker.games([one, one, one]).any()
    assert ranker.order([one, one, one]) == [0, 1, 2]


@pytest.mark.parametrize("kind", LEARNING)
def test_training_is_repeatable(kind):
    own, orders = variants("unseen"), []
    for _ in range(2):
        ranker = kind(seed=5)
        ranker.train(FEW)
        orders.append(ranker.order(own))
    assert orders[0] == orders[1]


def test_a_tenth_is_kept():
    assert len(kept(range(100))) == 10
    assert len(kept(range(3))) == 1


def test_saved_rankers_order_as_before(trained, tmp_path):
    path, own = tmp_path / "ranker.json", variants("unseen")
    save(path, trained, "this machine")
    again = type(trained)()
    restore(path, again, "this machine")
    assert again.order(own) == trained.order(own)


def test_saved_rankers_refuse_another_machine_features_and_version(tmp_path):
    ranker, path = Boosting(), tmp_path / "ranker.json"
    ranker.train(PROBLEMS)
    save(path, ranker, "this machine")
    with pytest.raises(TilewrightError, match="another machine"):
        restore(path, Boosting(), "another")
    with pytest.raises(TilewrightError, match="another ranker"):
        restore(path, Tournament(), "this machine")
    for name, value in (("features", "sizes"), ("versions", {"scikit-learn": "0"}), ("format", 0)):
        path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
        with pytest.raises(TilewrightError, match=f"another {name}"):
            restore(path, Boosting(), "this machine")
        save(path, ranker, "this machine")


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "ranker.json"
    path.write_text("{")
    with pytest.raises(TilewrightError, match="no saved ranker") as refused:
        restore(path, Boosting(), "this machine")
    assert "train it again" in str(refused.value)


@pytest.mark.parametrize("kind", LEARNING)
def test_untrained_rankers_say_so(kind):
    with pytest.raises(TilewrightError, match="learned nothing"):
        kind().order(variants("unseen"))
