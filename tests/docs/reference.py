"""docs/reference.md, made from the source: functions, options, commands, variables, operators and element types.

`python -m tests.docs.reference` writes the page; `test_reference.py` compares it with the source.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

import tilewright as tw
from tilewright import errors, settings
from tilewright.api.jit import Jitted, jit
from tilewright.api.kernel import Kernel, Lowered
from tilewright.api.onnx.options import SessionOptions
from tilewright.api.onnx.session import InferenceSession
from tilewright.cli.main import tilewright as command_line
from tilewright.frontend.onnx.definition import Definition, definitions
from tilewright.frontend.onnx.element_types import _ONNX_NAMES as ONNX_TYPES
from tilewright.frontend.tracing.numpy_functions import ALIASES
from tilewright.graph.exactness import HALVES, INTEGERS, SHORT_TYPES
from tilewright.kernels.element_types import C_TYPES
from tilewright.machine import targets
from tilewright.precision import Precision

PAGE = Path(__file__).parents[2] / "docs/reference.md"
DEFAULT_DOMAIN = "ai.onnx"
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "com.microsoft")
"""Others are defined by importers for themselves, and by tests and examples."""


def page() -> str:
    """The whole page."""
    sections = (_functions, _classes, _errors, _commands, _variables, _precisions, _machines, _element_types, _operators)
    return "\n".join(line for section in (_introduction, *sections) for line in (*section(), ""))


def _introduction() -> Iterator[str]:
    yield "# Reference\n"
    yield "Made from the source by `python -m tests.docs.reference`; a test compares. [Limits](limits.md) says what is missing."


def _functions() -> Iterator[str]:
    yield "## Functions\n"
    yield "Functions that trace. On NumPy arrays they compute at once. Traced values also take Python's"
    yield "operators, NumPy's names of these functions, and the methods and attributes of the array API."
    other_names = ", ".join(f"`{numpy_name}` is `{name}`" for numpy_name, name in sorted(ALIASES.items()) if name in tw.__all__)
    yield f"NumPy's other names: {other_names}.\n"
    yield "| Function | Meaning |"
    yield "|---|---|"
    for name in sorted(tw.__all__):
        function = getattr(tw, name)
        if inspect.isfunction(function) and function.__module__.startswith("tilewright.frontend"):
            yield f"| `{name}{_signature(function)}` | {_summary(function)} |"


def _classes() -> Iterator[str]:
    yield "## Compiling and calling\n"
    yield "| Name | Meaning |"
    yield "|---|---|"
    for function in (jit, tw.spec, tw.show_config):
        yield f"| `{function.__name__}{_signature(function)}` | {_summary(function)} |"
    for kind in (tw.Dim, tw.Machine):
        yield f"| `{kind.__name__}` | {_summary(kind)} |"
    for kind in (Jitted, Lowered, Kernel, InferenceSession):
        yield f"\n### {'tilewright.onnx.' if kind is InferenceSession else ''}{kind.__name__}\n"
        yield f"{_summary(kind)}\n"
        yield "| Name | Meaning |"
        yield "|---|---|"
        if kind is InferenceSession:
            yield f"| `{kind.__name__}{_signature(kind)}` | {_summary(kind.__init__)} |"
        yield from (f"| `{name}{_signature(member)}` | {_summary(member)} |" for name, member in _members(kind))
    yield "\n### tilewright.onnx.SessionOptions\n"
    yield f"{_summary(SessionOptions)}\n"
    yield ", ".join(f"`{name}`" for name in SessionOptions._defaults) + "."


def _errors() -> Iterator[str]:
    yield "## Errors\n"
    yield "| Error | Meaning |"
    yield "|---|---|"
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, Exception):
            yield f"| `{name}` | {_summary(kind)} |"


def _commands() -> Iterator[str]:
    yield "## Commands\n"
    yield from _command("tilewright", command_line)


def _command(path: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=path)
    names = " ".join(parameter.make_metavar(context) for parameter in command.params if isinstance(parameter, click.Argument))
    yield f"### {path} {names}".rstrip() + "\n"
    yield f"{_first_paragraph(command.help or '')}\n"
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    if options:
        yield "| Option | Meaning |"
        yield "|---|---|"
        yield from (f"| `{' '.join(_option(option, context))}` | {_cell(option.help or '')} |" for option in options)
        yield ""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from _command(f"{path} {name}", child)


def _option(option: click.Option, context: click.Context) -> tuple[str, ...]:
    value = "" if option.is_flag else option.make_metavar(context)
    return (option.opts[0], *([value] if value else []))


def _variables() -> Iterator[str]:
    yield "## Environment variables\n"
    yield "| Variable | Meaning |"
    yield "|---|---|"
    yield from (f"| `{knob.variable}` | {_cell(knob.meaning)} |" for knob in settings.knobs({}))


def _precisions() -> Iterator[str]:
    yield "## Precisions\n"
    yield "`precision=` and `--precision`, with [error bounds](correctness.md#precision): "
    yield ", ".join(f"`{precision.value}`" for precision in Precision) + "."


def _machines() -> Iterator[str]:
    yield "## Machines known by name\n"
    yield "`target=`, `--target`: " + ", ".join(f"`{name}`" for name in targets.names()) + "."


def _element_types() -> Iterator[str]:
    yield "## Element types\n"
    yield "| Type | In ONNX | How it is computed |"
    yield "|---|---|---|"
    for dtype, onnx_name in ONNX_TYPES.items():
        yield f"| {'strings' if dtype == 'object' else f'`{dtype}`'} | `tensor({onnx_name})` | {_how_computed(dtype)} |"


def _how_computed(dtype: str) -> str:
    if dtype == "float32":
        return "vectors, all micro kernels"
    if dtype == "bool":
        return "conditions, in vectors"
    if dtype in ("int8", "uint8", "int16"):
        return "GEMM and convolution by micro kernels; else exactly, in vector lanes of 32 bits"
    if dtype in HALVES:
        return f"loaded and stored, computed in float32; {dtype} GEMM by micro kernels"
    if dtype in SHORT_TYPES:
        return "loaded and stored, a byte each, by elementwise operators in float32"
    if dtype == "uint16":
        return "exactly, in vector lanes of 32 bits"
    if dtype in INTEGERS or dtype == "float64":
        return "GEMM by micro kernels; else exactly, in vectors"
    return "compiled" if dtype in C_TYPES else "reference implementation in NumPy alone"


def _operators() -> Iterator[str]:
    known = [one for one in definitions() if one.domain in DOMAINS]
    for domain in DOMAINS:
        if not any(one.domain == domain for one in known):
            continue
        yield f"## ONNX operators of {domain or DEFAULT_DOMAIN}\n"
        yield "*Compiled*: an implementation has a lowering to generated code, for the operands that"
        yield "[conformance](onnx-conformance.md) names; the others run as their reference implementation in NumPy. *Since*:"
        yield "versions with an implementation of their own.\n"
        yield "| Operator | Since | Compiled | Meaning |"
        yield "|---|---|---|---|"
        names = sorted({one.name for one in known if one.domain == domain})
        yield from (_operator([one for one in known if (one.domain, one.name) == (domain, name)]) for name in names)
        yield ""


def _operator(versions: list[Definition]) -> str:
    newest = versions[-1]
    since = ", ".join(str(one.since) for one in versions)
    return f"| {newest.name} | {since} | {'yes' if newest.has_lowering else 'no'} | {_summary(newest.implementation)} |"


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(kind).items():
        if not name.startswith("_") and (callable(member) or isinstance(member, property) or hasattr(member, "func")):
            yield name, member


def _signature(member: Any) -> str:
    if isinstance(member, property) or not callable(member):
        return ""
    parameters = inspect.signature(member).parameters.values()
    shown = [one.replace(annotation=inspect.Parameter.empty) for one in parameters if one.name != "self"]
    return str(inspect.Signature(shown)).replace("|", "\\|")


def _summary(subject: Callable[..., Any] | property | type) -> str:
    text = inspect.getdoc(getattr(subject, "func", subject)) or ""
    return "" if "Signature" in text[:9] or text.startswith(f"{getattr(subject, '__name__', '')}(") else _first_sentence(text)


def _first_sentence(text: str) -> str:
    paragraph = _first_paragraph(text)
    return _cell(re.split(r"(?<=[.])\s+(?=[A-Z`])", paragraph, maxsplit=1)[0])


def _first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    print(f"{PAGE}: {len(page().splitlines())} lines")
