"""Weights of a compiled graph that are frozen: packed once, looked at in every call, packed again when they have changed.

A call compares, for every frozen tensor, what PyTorch shows of a change: its identity (another parameter), its version (writes in
place, optimizers, `load_state_dict`), the address of its elements (`p.data = x`), and some elements. Writes of single elements
through `p.data` and through NumPy may show in none of them: `refresh` is for those.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from tilewright.api.torch.seals import Seal
from tilewright.runtime.native.weights import Holds, State

Run: TypeAlias = Callable[[list[Any]], list[Any]]
"""Takes the arguments of the graph, frozen ones included, and clears their list; gives the outputs. It holds the arguments as
long as kernels run: they read some weights as they are, whoever replaces them meanwhile."""
Build: TypeAlias = Callable[[Sequence[torch.Tensor | None]], Run]
"""Packs weights: a tensor for every place, or None where the weight stays an input. It keeps none of the tensors."""

PAYING_CALLS = 4
"""So many calls without a change are taken to pay for a packing."""
WASTED, REPLACED, HARDLY_USED, PATIENCE = 16, 4, 1, 32
"""What a weight owes for a packing that served no other call: where it changed itself, and where another tensor took its place;
for one that served some calls; and how much makes it an input."""


@dataclass(slots=True)
class _History:
    """How well packing has paid for a set of tensors."""

    seal: Seal
    debts: list[int]
    """By tensor: rises with changes that come before enough calls were served."""
    is_first: bool
    """Whether none of these tensors was packed before."""
    calls: int = 0
    """Served without a change, after the one that it was packed for."""

    has_died: bool = False
    """Whether a storage has: what comes next are other tensors, even where one has the identity of one of these."""

    def next(self, seal: Seal) -> _History:
        """Of these tensors as they are now, or of others that took their place."""
        pairs = [*zip(self.debts, self.seal.states, seal.states, strict=True)]
        is_forgiven = self.calls >= (1 if self.is_first else PAYING_CALLS)
        debts = [0 if is_forgiven else self._debt(*pair) for pair in pairs]
        is_first = self.has_died or all(before[0] != now[0] for _, before, now in pairs)
        return _History(seal, debts, is_first)

    def _debt(self, debt: int, before: State, now: State) -> int:
        if before == now:
            return debt
        if self.has_died or before[0] != now[0]:
            return 0 if self.calls else debt + REPLACED
        if self.is_first:
            return debt
        return debt + (HARDLY_USED if self.calls else WASTED)


@dataclass(slots=True, eq=False, weakref_slot=True)
class _Packed:
    """Weights that were packed, and what runs with them."""

    holds: Holds
    """Whether arguments have these weights, as they were."""
    run: Run
    history: _History
    storages: list[weakref.ref[Any]] = field(default_factory=list)
    """With what drops this when one of them dies."""


def _not_run(arguments: list[Any]) -> list[Any]:
    raise AssertionError("no arguments are those of this set")


_NEVER = _Packed(lambda arguments: False, _not_run, _History(Seal(()), [], is_first=True))
"""A set that no tensors are."""


class FrozenWeights:
    """A compiled graph whose weights are packed: called with the list of its arguments.

    `places` say which arguments are weights; `build` packs them. What was packed is kept for every set of tensors, found by their
    identities: under regional compilation one graph serves many layers. It is dropped when the storage of one of them dies; only
    storages are held, and weakly, so that `swap_tensors` works and replaced weights are freed. Calls are safe from several
    threads at once: of those that meet the same change, one packs, the others wait.

    A change costs one packing, which pays if calls without a change follow. Where they do not, in a loop that trains and
    evaluates, a weight becomes an input, for good and for all sets: if it *changed twice on the calls*, which is defined so.

    - A packing that was made for a change is wasted if the very next call with these tensors finds a change again. The first
      packing of a set never counts: a model is often called once, to be compiled, before its weights are loaded.
    - A weight that has changed in place for two wasted packings becomes an input. Where other tensors took its place, of which
      each served one call, it takes eight: they may be of new models, which owe nothing once a second call comes.
    - A packing that served fewer calls than `PAYING_CALLS` counts for little, not for nothing: a loop that steps, and evaluates
      on few batches, packs 32 times. One that served as many forgives all.

    So weights may be swapped back and forth for ever (adapters that are merged and unmerged, averages of weights) if calls
    follow, and an optimizer's step before every call costs three packings in all. Weights that change are told apart from those
    that do not: a frozen body stays packed while its adapters are trained. Tensors of inference mode, which count no versions,
    become inputs at once.
    """

    _boxed_call = True

    def __init__(self, places: Sequence[int], build: Build) -> None:
        self._places, self._build = tuple(places), build
        self._lock = threading.RLock()
        self._sets: dict[tuple[int, ...], _Packed] = {}
        self._gone: _History | None = None
        self.packings = 0
        """So many times weights were packed."""
        self._freeze(tuple(range(len(self._places))))
        _living.add(self)

    def __call__(self, arguments: list[Any]) -> list[Any]:
        """The outputs; the list is cleared. Raises what `build` and its result raise."""
        packed = self._last
        if packed.holds(arguments):
            packed.history.calls += 1
            return packed.run(arguments)
        del packed  # what is replaced is freed before anything is packed
        return self._found(arguments)(arguments)

    @property
    def frozen(self) -> tuple[int, ...]:
        """The places whose weights are packed; others have become inputs."""
        return tuple(self._places[number] for number in self._frozen)

    @property
    def sets(self) -> int:
        """So many sets of tensors are packed now."""
        return len(self._sets)

    def refresh(self) -> None:
        """Pack all again, each set at its next call, whatever shows of it. What weights cost so far is forgotten."""
        with self._lock:
            self._forget()

    def _freeze(self, numbers: tuple[int, ...]) -> None:
        """These weights, of the places by their numbers, and no others."""
        self._frozen = numbers
        self._forget()

    def _forget(self) -> None:
        self._last, self._gone = _NEVER, None
        self._sets.clear()

    def _tensors(self, arguments: list[Any]) -> list[torch.Tensor]:
        """The frozen ones."""
        return [arguments[place] for place in self.frozen]

    def _known(self, arguments: list[Any]) -> _Packed | None:
        """What was packed of these arguments, and is as it was."""
        known = self._sets.get(tuple(map(id, self._tensors(arguments))))
        if known is None or not known.holds(arguments):
            return None
        known.history.calls += 1
        return known

    def _found(self, arguments: list[Any]) -> Run:
        """What runs with these arguments: found without waiting for other threads, unless it must be packed."""
        known = self._known(arguments)
        if known is None:
            with self._lock:
                return self._found_alone(arguments)
        if self._lock.acquire(blocking=False):
            try:
                self._last = known if self._sets.get(known.history.seal.ids) is known else _NEVER
            finally:
                self._lock.release()
        return known.run

    def _found_alone(self, arguments: list[Any]) -> Run:
        known = self._known(arguments)
        if known is not None:
            self._last = known
            return known.run
        tensors = self._tensors(arguments)
        if uncounted := {number for number, tensor in zip(self._frozen, tensors, strict=True) if tensor.is_inference()}:
            return self._given_up(uncounted, arguments)
        history = self._history(Seal.of(tensors))
        if restless := {number for number, debt in zip(self._frozen, history.debts, strict=True) if debt >= PATIENCE}:
            return self._given_up(restless, arguments)
        return self._packed(tensors, history)

    def _given_up(self, numbers: set[int], arguments: list[Any]) -> Run:
        """What runs where these weights are inputs."""
        self._freeze(tuple(number for number in self._frozen if number not in numbers))
        return self._found_alone(arguments)

    def _history(self, seal: Seal) -> _History:
        """Of tensors that are to be packed. What was packed of them, and of others over the same memory, is dropped."""
        replaced = [packed for packed in (*self._sets.values(),) if packed.history.seal.is_over_memory_of(seal)]
        known = self._sets.get(seal.ids)
        for packed in (*replaced, *([known] if known else [])):
            self._drop(packed)
        before, self._gone = self._gone, None
        return _History(seal, [0] * len(seal.ids), is_first=True) if before is None else before.next(seal)

    def _packed(self, tensors: Sequence[torch.Tensor], history: _History) -> Run:
        """Pack tensors whose seal was made before, so that a change meanwhile shows in the next call."""
        given: list[Any] = [None] * len(self._places)
        for number, tensor in zip(self._frozen, tensors, strict=True):
            given[number] = tensor
        run = self._build(given)
        packed = _Packed(history.seal.holding(self.frozen), run, history)
        drop = partial(_drop, weakref.ref(self), weakref.ref(packed))
        packed.storages.extend(weakref.ref(storage, drop) for storage in _storages(tensors))
        self._sets[history.seal.ids] = self._last = packed
        self._count(len(tensors))
        return run

    def _drop(self, packed: _Packed) -> None:
        """Let go of a set. Takes no lock: garbage is collected anywhere."""
        key = packed.history.seal.ids
        if self._sets.get(key) is packed:
            self._sets.pop(key, None)
            self._gone = packed.history
        if self._last is packed:
            self._last = _NEVER

    def _count(self, packed: int) -> None:
        global _packings
        if packed:
            self.packings += 1
            with _counting:
                _packings += 1


_living: weakref.WeakSet[FrozenWeights] = weakref.WeakSet()
_counting = threading.Lock()
_packings = 0


def living() -> list[FrozenWeights]:
    """Those of all graphs that are compiled now."""
    return list(_living)


def packings() -> int:
    """So many times weights were packed in this process, of all graphs."""
    return _packings


def refresh() -> None:
    """Pack the weights of all compiled graphs again, each at its next call.

    For changes that PyTorch does not show: writes through `p.data`, as in `p.data[0] = 2`, and through NumPy.
    """
    for weights in living():
        weights.refresh()


def _stepped(optimizer: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Count versions of packed weights that an optimizer has written to: those that are fused do not."""
    if torch.compiler.is_compiling():  # compiled steps count them
        return
    packed = {identity for weights in living() for ids in (*weights._sets,) for identity in ids}
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    written = [parameter for parameter in parameters if id(parameter) in packed and parameter.grad is not None]
    torch.autograd.graph.increment_version(written)


register_optimizer_step_post_hook(_stepped)


def _drop(owner: weakref.ref[FrozenWeights], packed: weakref.ref[_Packed], _storage: object) -> None:
    weights, dead = owner(), packed()
    if weights is not None and dead is not None:
        dead.history.has_died = True
        weights._drop(dead)


def _storages(tensors: Sequence[torch.Tensor]) -> Iterator[Any]:
    """Each storage once."""
    return iter({id(storage): storage for storage in (tensor.untyped_storage() for tensor in tensors)}.values())


def _new_locks() -> None:
    """Another thread may have held them when the process was forked."""
    global _counting
    _counting = threading.Lock()
    for weights in living():
        weights._lock = threading.RLock()


os.register_at_fork(after_in_child=_new_locks)
