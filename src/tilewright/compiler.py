"""The pipeline: a graph becomes a plan; a backend makes text of the plan, and something to call of the text.

    graph -> rewrite -> choose algorithms -> plan -> lower -> emit -> load

TILEWRIGHT_DUMP_DIR=DIRECTORY writes what every stage produced, a file each.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from math import inf
from pprint import pformat

from tilewright import settings
from tilewright.artifact import Artifact
from tilewright.backends import loading
from tilewright.backends.backend import Runnable
from tilewright.backends.registry import check_precision, for_machine, is_external
from tilewright.errors import TilewrightError, bugs_reported
from tilewright.graph.constant_recipe import Recipe, recipe
from tilewright.graph.licences import Licence
from tilewright.graph.printer import to_text
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constant_factors import FoldAffineIntoWeights, Reciprocals
from tilewright.graph.rewrites.constants.constant_part import ConstantVectors, FoldConstants, Literals, split
from tilewright.graph.rewrites.element_types import ElementTypes, SeparateOutputs, ShortProducts
from tilewright.graph.rewrites.exactness.mark_exact import (
    KeepRoundings,
    MarkExact,
    WholeRows,
    check_licence,
    with_inherited_marks,
)
from tilewright.graph.rewrites.fusion.fuse_maps import (
    FinishNorms,
    FinishWeightedSums,
    FuseMaps,
    InlineConditions,
    StartWeightedSums,
)
from tilewright.graph.rewrites.fusion.fuse_row_reductions import FoldScales, FuseRowReductions
from tilewright.graph.rewrites.index_changes.axes import ShareBlocks, ShareGroups, SingleColumns, SplitAxes
from tilewright.graph.rewrites.index_changes.flatten_tensors import FlattenTensors
from tilewright.graph.rewrites.index_changes.fold_index_maps import FoldIndexMaps, FoldWrites
from tilewright.graph.rewrites.index_changes.reorder_dimensions import IntegersInOrder, with_orders
from tilewright.graph.rewrites.integer_products import IntegerProducts, WholeSums
from tilewright.graph.rewrites.masks import HoistMasks, PositionsForMasks
from tilewright.graph.rewrites.recognise_functions import RecogniseFunctions
from tilewright.graph.rewrites.redundancy import CanonicalBodies, CommonSubexpressions, DeadCode
from tilewright.graph.rewrites.short_operands import ShortOperands
from tilewright.graph.rewrites.weights_of_bytes import WeightsOfBytes
from tilewright.graph.short_names import file_name
from tilewright.graph.types import Graph
from tilewright.graph.verifier import check_sizes, verify, verify_stage
from tilewright.kernels import registry
from tilewright.machine import Machine
from tilewright.plan.decisions.inlined_kernels import guessed, seconds_at_peak, with_inlined_kernels
from tilewright.plan.decisions.micro_kernel import check_exact
from tilewright.plan.memory import rare_collections
from tilewright.plan.types import MergedArgument, ModelPlan, joined_dims
from tilewright.plan.whole_model.algorithm_choice import Chosen, choose_algorithms
from tilewright.plan.whole_model.algorithm_prices import AlgorithmPrices
from tilewright.plan.whole_model.kept_divisions import Answers
from tilewright.plan.whole_model.known_divisions import KnownDivisions, is_small, known_divisions
from tilewright.plan.whole_model.layout_choice import ChosenLayouts, choose_layouts
from tilewright.plan.whole_model.partition import Told, partition_with
from tilewright.plan.whole_model.planning_options import PlanningOptions, options_for
from tilewright.precision import Precision
from tilewright.records import replace
from tilewright.runtime import artifacts, search_core, workers
from tilewright.runtime.tuning import plans as tuned_plans

REWRITES: tuple[Rewrite, ...] = (
    # Data flow: who reads what, without copies, repetitions and index changes in between.
    SeparateOutputs(),  # first: every output is then the result of an operator, and no pass has to ask
    FoldIndexMaps(),  # readers see the tensor behind a transpose or a slice, whose values the next passes ask for
    IntegerProducts(),  # behind transposes between bytes and products; before FoldConstants, which would unpack weights
    WholeSums(),  # before ElementTypes and FuseMaps, which know conversions no more
    DeadCode(),  # changes that were folded count as readers no more
    FoldConstants(),  # before Literals, which puts numbers that are computed here into formulas
    ConstantVectors(),  # when no index change is between constants and those who read them
    Literals(),  # before CommonSubexpressions: a formula is the same whether its number was written as an array or not
    CommonSubexpressions(),  # before FoldWrites: afterwards equal operators would write to different places
    MarkExact(),  # before anything rounds otherwise; behind CommonSubexpressions, so that a choice reads what it compares
    WeightsOfBytes(),  # before FoldWrites and ElementTypes, behind which what makes weights is no chain of plain maps
    FoldWrites(),  # before ElementTypes, whose conversions would stand between an operator and the index change behind it
    ElementTypes(),  # before maps are fused: conversions are maps, which then join their neighbours
    SingleColumns(),  # before FlattenTensors, which then takes a column's dimension for none
    FlattenTensors(
        keeps_images=True
    ),  # when reads and writes are composed: what still divides is a merge that memory does not need
    FoldIndexMaps(),  # again: without divisions, more of the composed accesses are affine
    DeadCode(),  # again: of the changes that were folded now
    # Formulas: one spelling, rows of reductions, then maps point by point.
    PositionsForMasks(),  # before InlineConditions: a mask that is computed moves to where it is used
    InlineConditions(),  # before FuseRowReductions: a masked softmax is known with its condition inside
    CanonicalBodies(),  # before anything that compares formulas
    Reciprocals(),  # as these
    FuseRowReductions(matches_only=True),  # before FuseMaps, which would take maps of softmax or norms into their neighbours
    FuseMaps(),  # before passes that look for a formula in one body
    RecogniseFunctions(),  # before FuseRowReductions takes the maps around rows: gelu is a function of a point, not of a row
    FoldAffineIntoWeights(),  # when scale and shift behind a product are one map
    FoldWrites(),  # again: an index change may now stand right behind the product whose factors went into its weights
    FuseRowReductions(exact=True),  # before the others, whose formulas could end in them
    FuseRowReductions(),  # all other functions of rows, of maps that are as few as they get
    FinishNorms(),  # when all norms are known
    DeadCode(),  # before FoldScales, which asks who reads a tensor
    FoldScales(),  # needs the reductions of rows: their factor takes the scale in
    DeadCode(),  # the maps that only scaled
    WholeRows(),  # when every softmax is known
    CommonSubexpressions(),  # again: formulas that were spelled in different ways are equal now
)
"""In this order; each with the reason for its position."""

PLANNING_FORMS: tuple[Rewrite, ...] = (
    KeepRoundings(),  # when maps are fused, whose sums could take products in
    SplitAxes(),  # after all fusion, for which operators need the same axes
    ShareGroups(),  # after all fusion: a map that walks channels may go into others
    HoistMasks(),  # last: FuseMaps would put a mask back into the map that it is taken from
)
"""Shapes that planning wants, once every operator has its algorithm. Earlier passes would undo them."""

SIMPLIFICATIONS: tuple[Rewrite, ...] = (
    FoldIndexMaps(reorders_constants=True, turns_bytes=True, picks_columns=True),  # as in REWRITES
    DeadCode(),
    FoldWrites(keeps_columns=True),  # an algorithm has chosen them
    FuseMaps(),  # before FlattenTensors, which may leave two maps with other axes for the same points
    StartWeightedSums(),  # when maps are as few as they get
    FinishWeightedSums(),  # as these
    IntegersInOrder(),  # before FlattenTensors, which may then take the dimensions of pixels for one
    FlattenTensors(),
    FoldIndexMaps(reorders_constants=True, turns_bytes=True, picks_columns=True),
    DeadCode(),
    FoldWrites(keeps_columns=True),  # of results that FlattenTensors has made one dimension of
    ShareBlocks(),  # after FlattenTensors, which has made pixels one dimension
    ShareGroups(),  # as in PLANNING_FORMS: prices see what is planned
)
"""Behind the expansion of algorithms: their index changes and maps join what is around them."""

_log_codegen = logging.getLogger("tilewright.codegen")

_turn = threading.RLock()
"""Of whoever plans or generates. Both are Python and hold the interpreter's lock, so that side by side they end no sooner; but
every thread that computes is one more to wait for when a call of a finished kernel wants that lock back."""

_dump_numbers = count()


def _forget_turns() -> None:
    """In a forked child: the thread whose turn it is may not be there."""
    global _turn
    _turn = threading.RLock()


os.register_at_fork(after_in_child=_forget_turns)


def plan(
    graph: Graph,
    machine: Machine,
    *,
    fuse: bool | None = None,
    precision: Precision = Precision.FLOAT32,
    told: Told = lambda plans: None,
    answers: Answers | None = None,
) -> ModelPlan:
    """Decide how to compute a graph on a machine; no compiler is run.

    `fuse` of None lets the prices decide, True fuses all that can be, False nothing. `precision` says which algorithms may be
    chosen. Plans of chains are `told` while others are not made yet; divisions into chains come from `answers` where these have
    them. Raises PlanningError where no plan exists.
    """
    with _turn, rare_collections(), bugs_reported(f"planning {graph.name} for {machine.name}", lambda: to_text(graph)):
        verify_stage(graph)
        check_sizes(graph)
        _dump("trace", graph.name, lambda: to_text(graph))
        rewritten = rewrite(graph, rewrites_for(machine, precision))
        rewritten = _with_merged_arguments(rewritten, machine)
        _dump("rewrite", graph.name, lambda: to_text(rewritten))
        known = known_divisions(rewritten, _options(machine, fuse, precision, answers))
        chosen = _with_algorithms(rewritten, known, precision, merges=for_machine(machine).takes_merged_arguments)
        expanded = rewrite(chosen.graph, PLANNING_FORMS, marks=False)
        _dump("algorithms", graph.name, lambda: to_text(expanded))
        constant_part, rest = split(expanded)
        if known.options.planner is None:
            model_plan = _with_kernels(rest, known, chosen, precision, told)
        else:
            model_plan = chosen.reported(partition_with(rest, known, told))
        merged = _merged_arguments(graph, rest)
        model_plan = replace(model_plan, constant_part=constant_part, given=graph.constants, merged=merged)
        _dump("plan", graph.name, lambda: pformat(model_plan.plans, width=120))
        return model_plan


def _with_kernels(graph: Graph, known: KnownDivisions, chosen: Chosen, precision: Precision, told: Told) -> ModelPlan:
    """The plan of searched chains, with the choice of what is inlined, and plans that were tuned in the place of others."""
    kernels = registry.by_name()
    products_s = seconds_at_peak(graph, known.options.machine)
    divided = partition_with(graph, known, lambda plans: told(guessed(plans, products_s, kernels)), chosen.apart)
    model_plan = with_inlined_kernels(chosen.reported(divided), kernels)
    model_plan = tuned_plans.applied(model_plan)
    for chain_plan in model_plan.plans:
        check_exact(chain_plan, kernels, flushing=precision.flushes)
    return model_plan


def _options(machine: Machine, fuse: bool | None, precision: Precision, answers: Answers | None = None) -> PlanningOptions:
    """How chains are planned for a machine: by the search, or as its backend says.

    Nothing is kept of a planner from elsewhere, whose code may change.
    """
    backend, options = for_machine(machine), options_for(machine, fuse, answers=answers, flushing=precision.flushes)
    planner = backend.chain_planner(precision)
    if planner is not None:
        options = replace(options, planner=planner, kernels=(), answers=None if is_external(machine) else answers)
    return replace(options, pads_rows=backend.pads_rows, stores_halves=backend.stores_halves)


def _with_merged_arguments(graph: Graph, machine: Machine) -> Graph:
    """The graph with dimensions of arguments as one where no operator tells them apart and the backend takes them so."""
    merged, _ = for_machine(machine).with_merged_arguments(graph)
    if merged is not graph:
        verify_stage(merged)
    return merged


def _merged_arguments(declared: Graph, planned: Graph) -> tuple[MergedArgument, ...]:
    """The inputs and outputs of which a plan has fewer dimensions than callers."""
    pairs = [(declared.tensor(name), planned.tensor(name)) for name in (*declared.inputs, *declared.outputs)]
    return tuple(
        MergedArgument(tensor, joined_dims(tensor.shape, one.shape)) for tensor, one in pairs if tensor.shape != one.shape
    )


def rewrites_for(machine: Machine, precision: Precision = Precision.FLOAT32) -> tuple[Rewrite, ...]:
    """`REWRITES` that leave operands to the planner which products of a machine take as they are, as its backend wants them.

    With `precision` "bf16" operands are rounded before `ElementTypes` asks for their types. Of backends that functions give bytes
    to, products read bytes before constants are folded, which would widen them. Raises `UnsupportedOperation` where
    the backend does not have the precision.
    """
    backend = for_machine(machine)
    check_precision(machine, precision)
    products = backend.product_types(machine)
    steps: list[Rewrite] = []
    for step in REWRITES:
        if precision is Precision.STRICT and step.licence is Licence.QUANTISED:
            continue
        if isinstance(step, MarkExact):
            step = replace(step, everywhere=precision is Precision.STRICT)
        if isinstance(step, FoldConstants):
            steps += _of_short_operands(backend.element_types, products)
        if isinstance(step, ElementTypes):
            steps += [ShortProducts()] if precision is Precision.BF16 else []
            step = replace(step, products=products, stores_halves=backend.stores_halves)
        steps.append(step)
    return backend.rewrites(tuple(steps), precision)


def _of_short_operands(element_types: tuple[str, ...] | None, products: frozenset[tuple[str, str]]) -> tuple[ShortOperands, ...]:
    """Where functions may compute in all types, or in bytes."""
    if element_types is None:
        return (ShortOperands(products),)
    return (ShortOperands(),) if "int8" in element_types else ()


def rewrite(graph: Graph, steps: Iterable[Rewrite] = (*REWRITES, *PLANNING_FORMS), *, marks: bool = True) -> Graph:
    """Run every rewrite, with the verifier after each where TILEWRIGHT_VERIFY asks for it.

    New tensors inherit `marks` of exactness from those that they make.
    """
    is_verified = settings.value("verify") != "off"
    for step in steps:
        before, graph = graph, step.run(graph)
        graph = with_inherited_marks(graph, before) if marks else graph
        if is_verified:
            verify(graph, before)
            check_licence(graph, before, step)
    return graph


def choose(graph: Graph, machine: Machine, *, fuse: bool | None = None, precision: Precision = Precision.FLOAT32) -> Chosen:
    """Let the prices choose an algorithm for every operator of a graph that `REWRITES` have run on.

    Arguments keep their shapes.
    """
    return _with_algorithms(graph, known_divisions(graph, _options(machine, fuse, precision)), precision, merges=False)


def _with_algorithms(graph: Graph, known: KnownDivisions, precision: Precision, *, merges: bool) -> Chosen:
    """A graph with layouts of the images between its operators, and an algorithm for every operator.

    With `merges` dimensions of arguments become one where the algorithms do not tell them apart. Small graphs are planned as a
    whole in several layouts, of which the one that takes the least time is kept. A device with algorithms of its own, or a
    planner, chooses no others.
    """
    options = known.options
    own = for_machine(options.machine).algorithms(graph)
    if own is not None or options.planner is not None:
        verify_stage(own or graph, graph)
        return Chosen(own or graph, {}, frozenset())
    prices = AlgorithmPrices(graph, partial(_simplified, merges=merges), known)
    layouts = choose_layouts(prices, precision)
    rivals = list(layouts.rivals()) if is_small(graph) else [layouts]
    chosen = [_chosen(prices, rival, precision) for rival in rivals]
    best = min(chosen, key=lambda one: _rank(one, known)) if len(chosen) > 1 else chosen[0]
    return best.beside(chosen)


def _chosen(prices: AlgorithmPrices, layouts: ChosenLayouts, precision: Precision) -> Chosen:
    """The graph in these layouts with an algorithm for every operator."""
    laid_out = with_orders(prices.graph, layouts.orders)
    verify_stage(laid_out, prices.graph)
    return replace(choose_algorithms(prices.of(laid_out), precision), images=layouts.reported())


def _rank(chosen: Chosen, known: KnownDivisions) -> tuple[float, float]:
    """The number of chains that a graph is cut into, where all is to be fused that can be, and their time on all cores; infinite
    where there is no plan."""
    _, rest = split(rewrite(chosen.graph, PLANNING_FORMS, marks=False))
    try:
        plans = partition_with(rest, known, apart=chosen.apart).plans
    except TilewrightError:
        return inf, inf
    return len(plans) if known.options.fuse else 0, sum(plan.price.on(plan.machine.cores) for plan in plans)


def _simplified(graph: Graph, ends: frozenset[str], *, merges: bool = False) -> Graph:
    """A graph, or a part of it, after expansion; `ends` are the inputs and results whose dimensions stay in their order, and
    apart unless the backend `merges` them."""
    kept = frozenset[str]() if merges else ends
    return rewrite(graph, [_keeping(step, ends, kept) for step in SIMPLIFICATIONS], marks=False)


def _keeping(step: Rewrite, ends: frozenset[str], kept: frozenset[str]) -> Rewrite:
    """A rewrite that leaves the order of dimensions of the first tensors, and the shapes of the second."""
    match step:
        case IntegersInOrder():
            return replace(step, ends=ends)
        case FlattenTensors():
            return replace(step, kept=kept)
    return step


def plan_and_generate(
    graph: Graph, machine: Machine, *, fuse: bool | None = None, precision: Precision = Precision.FLOAT32
) -> tuple[ModelPlan, Artifact]:
    """The plan and the text of a graph, while the backend compiles ahead what it knows of them."""
    if for_machine(machine).chain_planner(precision) is None:
        search_core.begin(len(graph.operators), workers.pool(1).submit)
    with for_machine(machine).compiling_ahead() as told, artifacts.partitions(machine, precision) as kept:
        model_plan = plan(graph, machine, fuse=fuse, precision=precision, told=told, answers=kept)
        return model_plan, generate(model_plan)


def generate(model_plan: ModelPlan) -> Artifact:
    """The text of a plan, from the backend of its machine; no compiler is run."""
    name = model_plan.graph.name
    with _turn, bugs_reported(f"generating code for {name}", lambda: to_text(model_plan.graph)):
        backend = for_machine(model_plan.machine)
        program = backend.lower(model_plan)
        _dump("lower", name, program.listing)
        artifact = backend.emit(program)
        artifact = replace(artifact, recipe=_recipe(model_plan, artifact))
        _log_codegen.info("%s: %d lines by %s, key %s", name, artifact.source.count("\n"), backend.name, artifact.key[:16])
        _dump("emit", name, lambda: artifact.source, backend.suffix)
        return artifact


def build(model_plan: ModelPlan, *, threads: int | None = None) -> Runnable:
    """Generate the text of a plan, and load it by the backend of its machine.

    Its inputs are those of the graph followed by the constants that calls read as they are; the others are packed here. Raises
    what the backend raises: ToolchainError without a working compiler.
    """
    given = replace(model_plan.graph, constants=model_plan.given)
    executable, _ = loading.load(generate(model_plan), given, model_plan.machine, threads=threads)
    return executable


def _recipe(model_plan: ModelPlan, artifact: Artifact) -> Recipe:
    """How to make the constants that generated code packs, and those that its calls read."""
    graph, part = model_plan.graph, model_plan.constant_part
    read = artifact.signature.inputs[len(graph.inputs) :]
    names = [slot.name for slot in (*artifact.signature.constants, *read)]
    if part is not None:
        known = dict(graph.constants) | dict(part.constants)
        constants = tuple((name, constant) for name, constant in known.items() if name not in part.outputs)
        tensors = tuple({tensor.name: tensor for tensor in (*graph.tensors, *part.tensors)}.values())
        graph = replace(graph, tensors=tensors, operators=part.operators, constants=constants)
    return recipe(graph, names, model_plan.given)


def _dump(stage: str, name: str, text: Callable[[], str], suffix: str = "txt") -> None:
    """Dumps are numbered in the order in which they are made, so that functions of one name do not overwrite each other's."""
    directory = settings.value("dump_dir")
    if directory is None:
        return
    path = directory / f"{next(_dump_numbers):03}-{file_name(name)}.{stage}.{suffix}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(text() + "\n")
    except OSError as problem:
        hint = "set TILEWRIGHT_DUMP_DIR to a directory that can be written"
        raise TilewrightError(f"{path} cannot be written", why=str(problem), hint=hint) from problem
