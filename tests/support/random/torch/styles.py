"""The program of a seed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.support.random.torch import layers, pointwise, positions, rows, views, writes
from tests.support.random.torch.growing import Growing, Unfit
from tests.support.random.torch.program import Called, Options, Program
from tests.support.random.torch.values import FLOATS, LAYOUTS, STYLES, TYPES, Given

MOST_LINES = 15
EXTENTS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 8, 9, 16, 17, 33)
LENGTHS = ((5, 7, 5), (4, 12, 6), (17, 2, 3), (3, 33, 8), (6, 1, 2), (2, 0, 4), (8, 9, 1))
"""Of the calls of a program."""
KINDS = (
    *(
        (pointwise.unary, 4),
        (pointwise.cast, 2),
        (pointwise.with_number, 4),
        (pointwise.binary, 6),
        (pointwise.divided_integers, 2),
    ),
    *((pointwise.ternary, 2), (pointwise.choice, 2), (pointwise.at_the_boundary, 2), (views.view, 6), (views.typed, 1)),
    *((views.expanded, 2), (views.strided, 1), (views.moved, 3), (views.joined, 3), (writes.written, 4), (writes.assigned, 4)),
    *((writes.reshaped_in_place, 1), (rows.reduction, 4), (rows.scan, 3), (rows.product, 3), (positions.read, 3)),
    *((positions.changed, 3), (positions.written, 2), (layers.layer, 4), (layers.layer_of_two, 4), (layers.convolution, 2)),
)
CHANGES = (
    *("model.{0}.mul_(2)", "model.{0}.copy_(model.{0}.flip(0))", "model.{0}.data = model.{0}.data * 2", "model.{0}.zero_()"),
    *("model.{0} = nn.Parameter(model.{0}.detach() + 1)", "model.{0}.requires_grad_(False)", "model.{0}.set_(model.{0} * 2)"),
    *("model.load_state_dict({{name: value * 2 for name, value in model.state_dict().items()}})",),
    *("model.load_state_dict({{name: value * 2 for name, value in model.state_dict().items()}}, assign=True)",),
    *("torch.utils.swap_tensors(model.{0}, nn.Parameter(model.{0}.detach() - 1))", "model.to(torch.float64)", "model.float()"),
    *("nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(model.parameters()) * 0.5, model.parameters())",),
    *("model.{0}.data = model.{0}.data.clone()", "model.{0}[:1].add_(1)", "model.{0} = model.{1}", "model.{0}.detach().add_(1)"),
    *("nn.init.constant_(model.{0}, 0.5)", "model.{0}.t_()", "model.{0}.data = model.{0}.data.mT.contiguous().mT"),
    *("model.{0}.grad = model.{0} * 2", "model.apply(lambda module: None)", "model.train()"),
)
BUFFER_CHANGES = (
    "model.{0}.mul_(2)",
    "model.{0} = model.{0} * 2",
    "model.{0}.copy_(model.{0}.flip(0))",
    "model.register_buffer('{0}', model.{0} + 1)",
)


def program(seed: int, most_lines: int = MOST_LINES) -> Program:
    """Every seed has one program."""
    random = np.random.default_rng((seed, 1))
    options = _options(random)
    arguments = _arguments(random)
    parameters, buffers = _weights(random)
    calls = _calls(random, options, parameters, buffers)
    g = Growing(seed, arguments, (*parameters, *buffers), calls[0])
    kinds = [kind for kind, weight in KINDS for _ in range(weight)]
    count = int(random.integers(3, most_lines + 1))
    for _ in range(20 * count):
        if len(g.lines) < count:
            try:
                g.choose(kinds)(g)
            except Unfit:
                continue
    return Program(seed, arguments, parameters, buffers, tuple(g.lines), _outputs(g), calls, options)


def _choose(random: Any, options: Any) -> Any:
    return options[int(random.integers(len(options)))]


def _options(random: Any) -> Options:
    dynamic, fuse = _choose(random, (False, None, None, True)), _choose(random, (None, None, None, False))
    freeze, threads = _choose(random, (True, True, True, False)), _choose(random, (1, 1, 2))
    return Options(dynamic, fuse, freeze, threads, bool(random.random() < 0.2))


def _arguments(random: Any) -> tuple[Given, ...]:
    palette = [*map(int, random.choice(EXTENTS, 3)), "n", 2]
    style = _choose(random, STYLES)
    made = [_argument(random, 0, palette, style)]
    for number in range(1, int(random.integers(2, 5))):
        if random.random() < 0.12:
            view = _choose(random, ("x0", "x0", "x0[1:]", "x0.mT", "x0.view(-1)", "x0[..., :1]", "x0.flatten()"))
            made.append(Given(f"x{number}", made[0].dtype, made[0].shape, is_view_of=view if made[0].shape else "x0"))
        else:
            made.append(_argument(random, number, palette, style))
    return tuple(one for one in made if not one.is_view_of or _can_be_viewed(made[0], one))


def _can_be_viewed(whole: Given, view: Given) -> bool:
    try:
        view.made({}, 0, {"x0": whole.made({"n": 5}, 0, {})})
    except (RuntimeError, IndexError):
        return False
    return True


def _argument(random: Any, number: int, palette: Any, style: str) -> Given:
    rank = int(_choose(random, (0, 1, 1, 2, 2, 2, 3, 3, 4)))
    shape = [_choose(random, palette) for _ in range(rank)]
    while _elements(shape) > 2000:
        shape[int(random.integers(rank))] = 2
    return Given(f"x{number}", _choose(random, TYPES), tuple(shape), style, _choose(random, LAYOUTS))


def _elements(shape: Any) -> int:
    count = 1
    for extent in shape:
        count *= 33 if extent == "n" else extent
    return count


def _weights(random: Any) -> tuple[tuple[Given, ...], tuple[Given, ...]]:
    made = []
    for number in range(int(_choose(random, (0, 0, 1, 2)))):
        shape = tuple(int(one) for one in random.choice((1, 2, 3, 4, 5, 8, 16), int(_choose(random, (1, 2, 2, 4)))))
        dtype = _choose(random, ("float32", "float32", "float32", *FLOATS))
        made.append(Given(f"w{number}", dtype, shape, _choose(random, ("normal", "few"))))
    buffers = []
    for number in range(int(_choose(random, (0, 0, 0, 1, 2)))):
        shape = tuple(int(one) for one in random.choice((1, 2, 3, 5, 8), int(_choose(random, (0, 1, 2)))))
        buffers.append(Given(f"b{number}", _choose(random, TYPES), shape, "few"))
    return tuple(made), tuple(buffers)


def _calls(random: Any, options: Options, parameters: Any, buffers: Any) -> tuple[Called, ...]:
    lengths, numbers = (
        _choose(random, LENGTHS),
        _choose(random, ((2, 2, 2), (2, 3, -1), (0.5, 0.5, 1.5), (1, 0, 5), (True, 2, 0.25))),
    )
    if random.random() < 0.4:
        lengths = (lengths[0],) * 3
    calls = [Called((("n", lengths[0]),), numbers[0], 10)]
    for number in range(1, int(_choose(random, (1, 2, 3, 3)))):
        change = _change(random, parameters, buffers) if random.random() < 0.7 else ""
        calls.append(Called((("n", lengths[number]),), numbers[number], 10 + number, change))
    return tuple(calls)


def _change(random: Any, parameters: Any, buffers: Any) -> str:
    if buffers and (not parameters or random.random() < 0.3):
        return str(_choose(random, BUFFER_CHANGES).format(_choose(random, buffers).name))
    if parameters:
        return str(_choose(random, CHANGES).format(_choose(random, parameters).name, _choose(random, parameters).name))
    return ""


def _outputs(g: Growing) -> tuple[str, ...]:
    """The last results, perhaps others, and perhaps arguments, twice the same, a number."""
    made = [line.name for line in g.lines if line.name]
    texts = "\n".join(line.text for line in g.lines)
    ends = [name for name in made if not re.search(rf"\b{name}\b", texts)]
    outputs = ends[-5:] + [name for name in made if name not in ends and g.chance(0.15)]
    if g.chance(0.15):
        outputs.append(g.choose(g.names()))
    if g.chance(0.1) and outputs:
        outputs.append(g.choose(outputs))
    if g.chance(0.05):
        outputs.append(g.choose(("k", "3", "None", "x0.shape")))
    g.random.shuffle(outputs)
    return tuple(outputs) or ("x0",)
