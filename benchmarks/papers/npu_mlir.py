"""The `mad` lowering of GEMM chains as MLIR of AscendNPU IR for Ascend910B3: a second proof of buffers and instructions.

    pip install ascendnpu-ir      # 160 MB; runs without a device
    python -m benchmarks.papers.npu_mlir [--cases G1,G12] [--print]

The block program of a planned chain becomes `nd2nz` (memory to L1), `mmadL1` (L1 to L0, cube), and `fixpipe` (L0C to L1 or to
memory). The vendor's `bishengir-opt` verifies it and plans its memory: `hivm-plan-memory` gives every buffer its addresses, two
where two blocks are in flight, and refuses what does not fit. Its bytes of L1 and L0C stand beside those of the plan, and of the
plan without places that buffers take turns in ("apart"), which it does not have. A binary needs the vendor's `hivmc`, which the
wheel lacks. Spaces are those of 910B3: 512 KiB of L1, 128 KiB of L0C; its L0C feeds L1 without the unified buffer. Extents that
are no multiples of tiles are left out.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.papers.npu_chains import cases_of, gemm_chain
from tilewright.backends.npu_simulator.core import copies_of, homes_of
from tilewright.backends.npu_simulator.figures import FRACTAL, L0C, L1, LANES, UB
from tilewright.backends.npu_simulator.lowering import tiles_of
from tilewright.backends.npu_simulator.planner import plan_chain
from tilewright.backends.npu_simulator.program import Launch
from tilewright.block.integers import Function, IntegerExpression, Operation, Variable
from tilewright.block.memory import Buffer, BufferName, View
from tilewright.block.program import Region
from tilewright.block.statements import For, Leaf, MatrixTiles, Statement, Transfer
from tilewright.errors import TilewrightError
from tilewright.graph.types import Chain, element_bytes
from tilewright.machine import Machine
from tilewright.plan.types import Plan
from tilewright.report.layout import columns

SIZES = {"L1": 512 << 10, "L0C": 128 << 10, "UB": 192 << 10}
"""Of Ascend910B3, in bytes."""
TYPES = {"float16": "f16", "float32": "f32"}
SPACE_NAMES = {L1: "cbuf", L0C: "cc", "memory": "gm"}
FUNCTIONS = {Function.ADD: "arith.addi", Function.SUBTRACT: "arith.subi", Function.MULTIPLY: "arith.muli"}
HALF = "pre_quant = #hivm.fixpipe_pre_quant_mode<F322F16>"
ADDRESSES = re.compile(r"pointer_cast\((.*?)\)(?: \[\])? : memref<([0-9x]+)x(f16|f32), #hivm.address_space<(cbuf|cc)>>")
CONSTANT = re.compile(r"(%\S+) = arith.constant (\d+) : i64")


@dataclass
class Text:
    """The text of one region, whose extents are whole tiles."""

    chain: Chain
    region: Region
    lines: list[str] = field(default_factory=list)
    fed: dict[BufferName, tuple[str, str]] = field(default_factory=dict)
    """(value, type) of what a buffer of L0A, L0B or the unified buffer holds: the instructions of the vendor name its source."""
    made: dict[BufferName, tuple[str, str]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def module(self) -> str:
        """The module."""
        tensors = (*self.chain.inputs, self.chain.output)
        arguments = [f"%{name}: {self.tensor_type(name)}" for name in tensors]
        arguments += [f"{_name(loop.block.start)}: index" for loop in self.region.parallel]
        self.allocate(None)
        for body in (entered.body[:-1] for entered in self.region.parallel[:-1]):
            self.body(body)
        if self.region.parallel:
            self.allocate(self.region.parallel[-1])
        self.body(self.region.block)
        kind = "hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>, hivm.func_core_type = #hivm.func_core_type<AIC>"
        head = f"func.func @chain({', '.join(arguments)}) attributes {{{kind}}} {{"
        return "\n".join(
            ['module attributes {hacc.target = #hacc.target<"Ascend910B3">} {', head, *self.lines, "return", "}", "}", ""]
        )

    def tensor_type(self, name: str) -> str:
        """Of a tensor in memory."""
        tensor = self.chain.tensor(name)
        return _type([int(extent) for extent in tensor.shape if isinstance(extent, int)], tensor.dtype, "memory")

    def emit(self, text: str) -> str:
        """A line with a result."""
        name = f"%v{next(self.numbers)}"
        self.lines.append(f"{name} = {text}")
        return name

    def body(self, nodes: Sequence[Statement]) -> None:
        """Statements in order."""
        for node in nodes:
            match node:
                case For():
                    self.loop(node)
                case Transfer():
                    self.transfer(node)
                case MatrixTiles():
                    self.product(node)
                case Leaf():
                    self.fed[node.write.buffer] = self.fed[node.view(0).buffer]

    def loop(self, loop: For) -> None:
        """A loop, and the buffers that its blocks fill."""
        start, stop, step = (self.value(bound) for bound in (loop.whole.start, loop.whole.stop, loop.tile))
        self.lines.append(f"scf.for {_name(loop.block.start)} = {start} to {stop} step {step} {{")
        self.allocate(loop)
        self.body(loop.body)
        self.lines.append("}")

    def allocate(self, home: For | None) -> None:
        """Buffers in L1 and L0C, as often as blocks are in flight."""
        copies, homes = copies_of(self.region), homes_of(self.region)
        for buffer in self.region.buffers:
            if buffer.space in (L1, L0C) and homes[buffer.name] is home:
                kind = _type(self.blocks_of(buffer), buffer.dtype, buffer.space)
                name = self.emit(f"memref.alloc() : {kind}")
                self.made[buffer.name] = name, kind
                if copies[buffer.name] > 1:
                    self.lines.append(f"annotation.mark {name} {{hivm.multi_buffer = {copies[buffer.name]} : i32}} : {kind}")

    def blocks_of(self, buffer: Buffer) -> list[int]:
        """The vendor's order of blocks of 16 x 16: those along the second dimension of the matrix come first."""
        for node in self.region.nodes():
            if isinstance(node, Transfer) and node.target.buffer == buffer.name:
                steps = _whole(node.panel_stride) // FRACTAL
                across = _whole(buffer.elements) // FRACTAL // steps
                is_right = self.is_right(buffer.name)
                return [across, steps, LANES, LANES] if is_right else [steps, across, LANES, LANES]
            if isinstance(node, MatrixTiles) and node.write.buffer == buffer.name:
                rows, widths, _ = (_whole(side.size) // LANES for side in node.sides)
                return [widths, rows, LANES, LANES]
        raise TilewrightError(f"nothing fills {buffer.name}")

    def is_right(self, name: BufferName) -> bool:
        """Whether a buffer in L1 is a right operand."""
        found = (node for node in self.region.nodes() if isinstance(node, Transfer) and node.source.buffer == name)
        return any("L0B" in node.target.buffer.of for node in found)

    def transfer(self, node: Transfer) -> None:
        """A DMA; those into L0A, L0B and the unified buffer are part of the vendor's instructions."""
        spaces = {buffer.name: buffer.space for buffer in self.region.buffers}
        source, target = (spaces.get(view.buffer, "memory") for view in (node.source, node.target))
        if (source, target) == ("memory", L1):
            sides = [(_whole(size), _whole(node.source.stride(axis))) for size, axis in _sides(node)]
            part, of = self.in_memory(node.source, *(sides if self.is_right(node.target.buffer) else sides[::-1]))
            name, kind = self.made[node.target.buffer]
            self.lines.append(f"hivm.hir.nd2nz {{dst_continuous}} ins({part} : {of}) outs({name} : {kind})")
        elif source == L1:
            steps = node.outer[0 if "L0B" in node.target.buffer.of else 1][1]
            self.fed[node.target.buffer] = self.slice_of(node.source.buffer, node.source.offset, _whole(steps))
        elif source == L0C:
            self.fed[node.target.buffer] = self.made[node.source.buffer]
        elif target == L1:
            sums, of = self.fed[node.source.buffer]
            part, kind = self.slice_of(node.target.buffer, node.target.offset, _whole(node.depth) // LANES)
            self.lines.append(f"hivm.hir.fixpipe {{{HALF}}} ins({sums} : {of}) outs({part} : {kind})")
        elif source == UB:
            sums, of = self.fed[node.source.buffer]
            part, kind = self.in_memory(node.target, (_whole(node.depth), _whole(node.target_row)), (_whole(node.columns), 1))
            self.lines.append(f"hivm.hir.fixpipe {{enable_nz2nd, {HALF}}} ins({sums} : {of}) outs({part} : {kind})")

    def product(self, node: MatrixTiles) -> None:
        """A `mad`: the first one of a sum begins it."""
        (left, left_type), (right, right_type) = self.fed[node.left.buffer], self.fed[node.right.buffer]
        m, n, k = (self.value(side.size) for side in node.sides)
        first = self.first(node.accumulate)
        sums, kind = self.made[node.write.buffer]
        operands = f"ins({left}, {right}, {first}, {m}, {k}, {n} : {left_type}, {right_type}, i1, index, index, index)"
        self.lines.append(f"hivm.hir.mmadL1 {operands} outs({sums} : {kind})")

    def first(self, accumulate: IntegerExpression) -> str:
        """Whether sums begin: where the condition to go on does not hold."""
        if isinstance(accumulate, int):
            return self.emit(f"arith.constant {'false' if accumulate else 'true'}")
        assert isinstance(accumulate, Operation)
        this, that = (self.value(operand) for operand in accumulate.operands)
        return self.emit(f"arith.cmpi eq, {this}, {that} : index")

    def slice_of(self, name: BufferName, ahead: IntegerExpression, steps: int) -> tuple[str, str]:
        """Blocks of 16 steps of a left operand, which come first in the vendor's order; all of a buffer is itself."""
        buffer = next(one for one in self.region.buffers if one.name == name)
        value, kind = self.made[name]
        whole, across, *_ = self.blocks_of(buffer)
        if self.is_right(name) or steps == whole:
            return value, kind
        at = self.emit(f"arith.divui {self.value(ahead)}, {self.value(FRACTAL)} : index")
        sizes = [steps, across, LANES, LANES]
        strided = f"strided<[{across * FRACTAL}, {FRACTAL}, {LANES}, 1], offset: ?>"
        part = f"memref<{'x'.join(map(str, sizes))}x{TYPES[buffer.dtype]}, {strided}, #hivm.address_space<{SPACE_NAMES[L1]}>>"
        return self.emit(f"memref.subview {value}[{at}, 0, 0, 0] {sizes} [1, 1, 1, 1] : {kind} to {part}"), part

    def in_memory(self, view: View, rows: tuple[int, int], widths: tuple[int, int]) -> tuple[str, str]:
        """A box of a tensor in memory, by (size, stride) of its rows and columns."""
        sizes, strides = ([rows[part], widths[part]] for part in (0, 1))
        at, tensor = self.value(view.offset), view.buffer.tensor
        kind = f"memref<{sizes[0]}x{sizes[1]}xf16, strided<{strides}, offset: ?>, #hivm.address_space<gm>>"
        text = f"memref.reinterpret_cast %{tensor} to offset: [{at}], sizes: {sizes}, strides: {strides}"
        return self.emit(f"{text} : {self.tensor_type(tensor)} to {kind}"), kind

    def value(self, expression: IntegerExpression) -> str:
        """An integer as a value."""
        if isinstance(expression, int):
            return self.emit(f"arith.constant {expression} : index")
        if isinstance(expression, Variable):
            return _name(expression)
        assert isinstance(expression, Operation)
        first, *rest = (self.value(operand) for operand in expression.operands)
        for operand in rest:
            first = self.emit(f"{FUNCTIONS[expression.function]} {first}, {operand} : index")
        return first


def _sides(node: Transfer) -> tuple[tuple[IntegerExpression, str | None], ...]:
    """(size, axis) of the depth, then of the columns."""
    return (node.depth, node.depth_axis), (node.columns, node.column_axis)


def _type(shape: Sequence[int], dtype: str, space: str) -> str:
    return f"memref<{'x'.join(map(str, shape))}x{TYPES[dtype]}, #hivm.address_space<{SPACE_NAMES[space]}>>"


def _whole(value: IntegerExpression) -> int:
    if not isinstance(value, int):
        raise TilewrightError("the vendor's buffers have known shapes", why="an extent is no multiple of its tile")
    return value


def _name(value: object) -> str:
    assert isinstance(value, Variable)
    return "%at_" + re.sub(r"\W", "_", f"{value.of}{value.number or ''}")


def machine() -> Machine:
    """The target, with the spaces of Ascend910B3."""
    target = Machine.named("ascend910")
    assert target.accelerator is not None
    spaces = tuple(replace(one, size_bytes=SIZES.get(one.name, one.size_bytes)) for one in target.accelerator.spaces)
    return replace(target, accelerator=replace(target.accelerator, spaces=spaces))


def launch_of(plan: Plan) -> Launch:
    """The kernel of a plan."""
    return Launch(plan.chain, tiles_of(plan))


def apart_bytes(region: Region) -> dict[str, int]:
    """What buffers in L1 and L0C take, were none to share a place."""
    copies, found = copies_of(region), {L1: 0, L0C: 0}
    for buffer in region.buffers:
        if buffer.space in found:
            found[buffer.space] += _whole(buffer.elements) * element_bytes(buffer.dtype) * copies[buffer.name]
    return found


def tool() -> Path:
    """The vendor's `bishengir-opt`. Raises `TilewrightError` where it is missing."""
    found = find_spec("ascendnpuir")
    if found is None or found.origin is None:
        raise TilewrightError("the vendor's compiler is missing", hint="pip install ascendnpu-ir")
    return Path(found.origin).parent / "bin/bishengir-opt"


def planned_bytes(module: str) -> dict[str, int]:
    """The bytes of L1 and L0C that the vendor's planner gives to the buffers of a module.

    Raises `TilewrightError` with what the tool says of a module that it refuses.
    """
    with TemporaryDirectory(prefix="tilewright-mlir-") as directory:
        path = Path(directory) / "chain.mlir"
        path.write_text(module)
        done = subprocess.run([tool(), path, "--hivm-plan-memory"], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise TilewrightError("the vendor's tool refuses the module", why=done.stderr.splitlines()[0][:300])
    constants = {name: int(value) for name, value in CONSTANT.findall(done.stdout)}
    found = {L1: 0, L0C: 0}
    for addresses, shape, dtype, space in ADDRESSES.findall(done.stdout):
        size = {"f16": 2, "f32": 4}[dtype]
        for extent in shape.split("x"):
            size *= int(extent)
        ends = [constants[one.strip()] + size for one in addresses.split(",")]
        name = L1 if space == "cbuf" else L0C
        found[name] = max(found[name], *ends)
    return found


def rows_of(names: str) -> Iterator[list[str]]:
    """A row of the table for every case."""
    for shape in cases_of(names):
        plan = plan_chain(gemm_chain(shape), machine())
        region = launch_of(plan).region()
        used = {level.level: level.used_bytes for level in plan.levels}
        try:
            theirs: Mapping[str, int] = planned_bytes(Text(plan.chain, region).module())
        except TilewrightError as problem:
            yield [shape.name, "", "", "", "", "", "", problem.why or problem.message]
            continue
        ours = apart_bytes(region)
        numbers = [str(of[space]) for space in (L1, L0C) for of in (used, ours, theirs)]
        yield [shape.name, *numbers, "equal" if dict(theirs) == ours else "different"]


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.npu_mlir", description=__doc__)
    parser.add_argument("--cases", default="G1,G4,G10,G11,G12,S1,S2", help="names, by commas")
    parser.add_argument("--print", action="store_true", help="the module of the first case")
    options = parser.parse_args(arguments)
    if options.print:
        plan = plan_chain(gemm_chain(cases_of(options.cases)[0]), machine())
        print(Text(plan.chain, launch_of(plan).region()).module())
        return
    try:
        print(f"verified and planned by {tool()}")
    except TilewrightError as problem:
        print(problem)
        return
    head = ["case", "L1 plan", "apart", "vendor", "L0C plan", "apart", "vendor", "apart and vendor"]
    print("\n".join(columns([head, *rows_of(options.cases)], right=range(1, 7))))


if __name__ == "__main__":
    main(sys.argv[1:])
