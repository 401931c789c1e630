"""Lines over words as text for GNU `as`: words that lie on the stack are fetched where an instruction takes no memory operand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from tilewright.render.assembly.words import (
    CALLEE_SAVED,
    ENTER,
    FRAME,
    LEAVE,
    LINE_BYTES,
    LOAD,
    PUSHED,
    SCRATCH,
    SCRATCH_MEMORY,
    Line,
    Memory,
    Operand,
    OutOfRegisters,
    Word,
)

HALVES = {
    "rax": "eax",
    "rbx": "ebx",
    "rcx": "ecx",
    "rdx": "edx",
    "rsi": "esi",
    "rdi": "edi",
    "rbp": "ebp",
    **{f"r{number}": f"r{number}d" for number in range(8, 16)},
}
"""The lower 32 bits of registers, by name."""


def function_text(name: str, lines: Sequence[Line], arguments: Sequence[Word], frame_bytes: int, tables: Sequence[str]) -> str:
    """A global function, hidden outside of its library; several objects may define it, each with equal text."""
    used = {word.register for line in lines for word in line.words()}
    saved = [one for one in CALLEE_SAVED if one in used]
    pushed = 8 * len(saved) + frame_bytes
    head = [
        "\t.text",
        f"\t.weak {name}",
        f"\t.hidden {name}",
        f"\t.type {name}, @function",
        "\t.p2align 5",
        f"{name}:",
        "\t.cfi_startproc",
    ]
    for number, register in enumerate(saved, 1):
        head += [f"\tpush {register}", f"\t.cfi_def_cfa_offset {8 + 8 * number}", f"\t.cfi_offset {register}, {-8 - 8 * number}"]
    head += [f"\tsub rsp, {frame_bytes}", f"\t.cfi_def_cfa_offset {8 + pushed}"] if frame_bytes else []
    kept = [f"\tmov {word.text}, {word.arrival}" for word in arguments if word.arrival and word.slot]
    tail = ["\tvzeroupper"]
    tail += [f"\tadd rsp, {frame_bytes}", f"\t.cfi_def_cfa_offset {8 + 8 * len(saved)}"] if frame_bytes else []
    for number, register in enumerate(reversed(saved), 1):
        tail += [f"\tpop {register}", f"\t.cfi_def_cfa_offset {8 + 8 * (len(saved) - number)}"]
    tail += ["\tret", "\t.cfi_endproc", f"\t.size {name}, .-{name}"]
    text = "\n".join([*head, *kept, *_body(lines), *tail, *tables, ""])
    return text.replace(FRAME, str(frame_bytes)).replace(PUSHED, str(pushed))


def _body(lines: Sequence[Line]) -> Iterator[str]:
    innermost = _innermost(lines)
    is_inner = False
    for number, line in enumerate(lines):
        if line.operation in (ENTER, LEAVE):
            is_inner = number in innermost
        else:
            yield from _FORMS.get(line.operation, _rmw)(line, is_inner)


def _innermost(lines: Sequence[Line]) -> set[int]:
    """Where loops begin that have none inside, gather no elements and fill no scratch memory: those are slow anyway."""
    if any(line.operation == SCRATCH_MEMORY for line in lines):
        return set()
    marks = [(number, line.operation) for number, line in enumerate(lines) if line.operation in (ENTER, LEAVE, LOAD)]
    return {number for (number, kind), (_, following) in pairwise(marks) if kind == ENTER and following == LEAVE}


def _value(operand: Operand) -> str:
    return operand.text if isinstance(operand, Word) else str(operand)


def _address(memory: Memory, is_inner: bool) -> tuple[list[str], str]:
    """What fetches words that lie on the stack, and the address; inner loops have none there."""
    before: list[str] = []
    base, index, scale = memory.base.register, memory.index, memory.scale
    if is_inner and not (base and (index is None or index.register)):
        raise OutOfRegisters("a loop of a tile program has more pointers and strides than there are registers")
    if index is not None and not index.register:
        before.append(f"\tmov {SCRATCH}, {index.text}")
        if not base:
            before += [f"\tshl {SCRATCH}, {scale.bit_length() - 1}"] if scale > 1 else []
            before.append(f"\tadd {SCRATCH}, {memory.base.text}")
            return before, _bracket(SCRATCH, "", 1, memory.displacement)
        return before, _bracket(base, SCRATCH, scale, memory.displacement)
    if not base:
        before.append(f"\tmov {SCRATCH}, {memory.base.text}")
    return before, _bracket(base or SCRATCH, index.register if index is not None else "", scale, memory.displacement)


def _bracket(base: str, index: str, scale: int, displacement: int) -> str:
    scaled = f" + {index}*{scale}" if index else ""
    return f"[{base}{scaled}{f' {chr(43) if displacement > 0 else chr(45)} {abs(displacement)}' if displacement else ''}]"


def _text(line: Line, is_inner: bool) -> Iterator[str]:
    """A text with the address of its memory operand, or with a word: its lower half, or of memory a quarter, where it asks so."""
    if line.memory is not None:
        before, address = _address(line.memory, is_inner)
        yield from before
        yield f"\t{line.text.replace('{}', address, 1)}"
    elif line.to is not None:
        parts = ((part, size) for part, size in (("{half}", "dword"), ("{quarter}", "word")) if part in line.text)
        text = line.text.replace("{}", line.to.text)
        for part, size in parts:
            text = text.replace(part, HALVES[line.to.register] if line.to.register else f"{size} ptr [{line.to.slot}]")
        yield f"\t{text}"
    else:
        yield line.text


def _load(line: Line, is_inner: bool) -> Iterator[str]:
    """`to` gets what lies in memory, by the mnemonic and the size that the text gives: "movzx {to}, byte ptr {}"."""
    assert line.memory is not None
    assert line.to is not None
    before, address = _address(line.memory, is_inner)
    yield from before
    target = line.to.register or SCRATCH
    yield f"\t{line.text.replace('{half}', HALVES[target]).replace('{to}', target).replace('{}', address)}"
    if not line.to.register:
        yield f"\tmov {line.to.text}, {SCRATCH}"


def _lea(line: Line, is_inner: bool) -> Iterator[str]:
    assert line.memory is not None
    assert line.to is not None
    before, address = _address(line.memory, False)
    yield from before
    yield f"\tlea {line.to.register or SCRATCH}, {address}"
    if not line.to.register:
        yield f"\tmov {line.to.text}, {SCRATCH}"


def _scratch_memory(line: Line, is_inner: bool) -> Iterator[str]:
    """`to` = the first line of the frame, which begins at the stack pointer, and as many bytes as the source says behind it."""
    to = _word(line.to)
    target = to.register or SCRATCH
    yield f"\tlea {target}, [rsp + {LINE_BYTES - 1}]"
    yield f"\tand {target}, {-LINE_BYTES}"
    if line.source:
        yield f"\tadd {target}, {line.source}"
    if not to.register:
        yield f"\tmov {to.text}, {SCRATCH}"


def _move(line: Line, is_inner: bool) -> Iterator[str]:
    assert line.to is not None
    assert line.source is not None
    to, source = line.to.text, _value(line.source)
    if to == source:
        return
    if line.source == 0 and line.to.register:
        yield f"\txor {HALVES[to]}, {HALVES[to]}"
    elif isinstance(line.source, Word) and not line.to.register and not line.source.register:
        yield from (f"\tmov {SCRATCH}, {source}", f"\tmov {to}, {SCRATCH}")
    else:
        yield f"\tmov {to}, {source}"


def _rmw(line: Line, is_inner: bool) -> Iterator[str]:
    """An instruction that changes a register or memory by a register, memory or a number."""
    assert line.to is not None
    source = line.source
    if line.source is None:
        yield f"\t{line.operation} {line.to.text}"
    elif isinstance(source, Word) and not line.to.register and not source.register:
        yield from (f"\tmov {SCRATCH}, {source.text}", f"\t{line.operation} {line.to.text}, {SCRATCH}")
    else:
        yield f"\t{line.operation} {line.to.text}, {_value(source if source is not None else 0)}"


def _multiply(line: Line, is_inner: bool) -> Iterator[str]:
    assert line.to is not None
    target = line.to.register or SCRATCH
    if not line.to.register:
        yield f"\tmov {SCRATCH}, {line.to.text}"
    yield (
        f"\timul {target}, {_value(line.source)}"
        if isinstance(line.source, Word)
        else f"\timul {target}, {target}, {line.source}"
    )
    if not line.to.register:
        yield f"\tmov {line.to.text}, {SCRATCH}"


def _compared(line: Line, is_inner: bool) -> Iterator[str]:
    """`to` = 1 or 0; the text says how it is compared with the source: a suffix of `set`."""
    yield from (f"\tmov {SCRATCH}, {_word(line.to).text}", f"\tcmp {SCRATCH}, {_value(_given(line.source))}")
    yield from (f"\tset{line.text} al", "\tmovzx eax, al", f"\tmov {_word(line.to).text}, {SCRATCH}")


def _chosen(line: Line, is_inner: bool) -> Iterator[str]:
    """`to` = source if the flags of a line before say so: `text` is a suffix of `cmov`."""
    yield from (f"\tmov {SCRATCH}, {_word(line.to).text}", f"\tcmov{line.text} {SCRATCH}, {_value(_given(line.source))}")
    yield f"\tmov {_word(line.to).text}, {SCRATCH}"


def _ones(line: Line, is_inner: bool) -> Iterator[str]:
    """`to` = as many ones as the source says, from the lowest bit on; `to` holds ones."""
    count = _word(line.source)
    if count.register:
        yield from (f"\tmov {SCRATCH}, {_word(line.to).text}", f"\tbzhi {SCRATCH}, {SCRATCH}, {count.register}")
    else:
        yield from (f"\tmov {SCRATCH}, {_word(line.to).text}", f"\tmov qword ptr [rsp - 120], {SCRATCH}")
        yield from (f"\tmov {SCRATCH}, {count.text}", f"\tbzhi {SCRATCH}, qword ptr [rsp - 120], {SCRATCH}")
    yield f"\tmov {_word(line.to).text}, {SCRATCH}"


def _divided(line: Line, is_inner: bool) -> Iterator[str]:
    """`to` = the floor of to / source, or, with the text "rdx", the remainder. `memory` is a word on the stack to keep rdx in."""
    to, divisor = _word(line.to), _word(line.source)
    yield from (f"\tmov {SCRATCH}, {divisor.text}", "\tmov qword ptr [rsp - 120], rax", "\tmov qword ptr [rsp - 128], rdx")
    yield from (f"\tmov {SCRATCH}, {to.text}", "\tcqo", "\tidiv qword ptr [rsp - 120]")
    yield from ("\tmov qword ptr [rsp - 112], rax", "\tmov rax, rdx", "\tsar rax, 63")
    if line.text == "rdx":
        yield from ("\tand rax, qword ptr [rsp - 120]", "\tadd rax, rdx")
    else:
        yield "\tadd rax, qword ptr [rsp - 112]"
    yield from ("\tmov rdx, qword ptr [rsp - 128]", f"\tmov {to.text}, rax")


def _given(operand: Operand | None) -> Operand:
    assert operand is not None
    return operand


def _word(operand: Operand | None) -> Word:
    assert isinstance(operand, Word)
    return operand


_FORMS: dict[str, Callable[[Line, bool], Iterator[str]]] = {
    "text": _text,
    LOAD: _load,
    SCRATCH_MEMORY: _scratch_memory,
    "lea": _lea,
    "mov": _move,
    "imul": _multiply,
    "compare": _compared,
    "choose": _chosen,
    "divide": _divided,
    "shift ones": _ones,
}
