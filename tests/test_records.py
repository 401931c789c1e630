"""Records behave as frozen dataclasses with slots."""

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from tilewright.records import record


class Declared:
    """Fields of every kind."""

    name: str
    shape: tuple[int, ...] = ()
    options: dict = field(default_factory=dict, hash=False)
    note: str = field(default="", compare=False, repr=False)
    size: int = field(init=False, compare=False)
    known: tuple = field(init=False, default=())

    def __post_init__(self):
        object.__setattr__(self, "size", len(self.shape))


Standard = dataclass(frozen=True, slots=True)(type("Declared", (), dict(vars(Declared))))
Own = record(Declared)
Declared = Own  # for pickle, which finds it by its name


def test_instances_are_those_of_dataclasses():
    given = [("a",), ("a", (1, 2)), ("a", (1, 2), {"b": 1}, "no difference")]
    ours, theirs = ([kind(*values) for values in given] for kind in (Own, Standard))
    assert list(map(repr, ours)) == list(map(repr, theirs))
    assert list(map(hash, ours)) == list(map(hash, theirs))
    assert [[a == b for b in ours] for a in ours] == [[a == b for b in theirs] for a in theirs]
    assert ours[0] != theirs[0]
    assert ours[0].options is not Own("a").options
    assert replace(ours[1], shape=(3,)).size == 1


def test_classes_are_those_of_dataclasses():
    assert str(inspect.signature(Own)) == str(inspect.signature(Standard))
    assert [one.name for one in fields(Own)] == [one.name for one in fields(Standard)]
    assert Own.__match_args__ == Standard.__match_args__


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_equal(copied):
    one = copied(Own("a", (1, 2), {"b": 1}))
    assert (one, one.size) == (Own("a", (1, 2), {"b": 1}), 2)


def test_nothing_changes_them():
    one = Own("a")
    with pytest.raises(FrozenInstanceError):
        one.name = "b"
    with pytest.raises(FrozenInstanceError):
        del one.name
    assert not hasattr(one, "__dict__")


def test_own_methods_and_those_of_a_base_stay():
    @record
    class Base:
        a: int

        def __repr__(self):
            return "base"

        def __hash__(self):
            return 7

    @record(kw_only=True)
    class Derived(Base):
        b: int

    @record(eq=False)
    class Identical:
        a: int

    assert (repr(Base(1)), hash(Base(1)), Base(1) == Base(1)) == ("base", 7, True)
    assert (repr(Derived(1, b=2)).split(".")[-1], Derived(1, b=2) == Derived(1, b=2)) == ("Derived(a=1, b=2)", True)
    assert Identical(1) != Identical(1)
    with pytest.raises(TypeError):
        Derived(1, 2)
