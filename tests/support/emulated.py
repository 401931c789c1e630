"""Micro kernels of another architecture: cross-compiled, and called in a process of qemu-user.

The process reads a call from its standard input: the integers of the call, then for each of A, B and C how its memory lies and
its bytes. It puts every operand at the page boundary at which it lies here, between pages that may not be touched, and answers
with the bytes of C.
"""

from __future__ import annotations

import platform
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from tests.contract.operands import Operand
from tests.support.kernel_build import CROSS, FLAGS, linked, parameters, shapes
from tilewright.kernels import KernelSource, MicroKernel, SourceKind
from tilewright.render.c.kernel_sources import rendered
from tilewright.runtime.compilation.flags import BY_FAMILY, for_features

EMULATORS = {"ppc64le": ("qemu-ppc64le", "-cpu", "power10")}
OPERANDS = ("a", "b", "c")
DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
@DECLARATION@
static void take(void *to, size_t size) {
  if (size && fread(to, 1, size, stdin) != size)
    exit(0);
}
int main(void) {
  for (;;) {
    long given[@COUNT@];
    char *region[3], *memory[3], *address[3];
    long lies[3][4]; /* bytes, whether they end at a page, bytes from the memory to the address, bytes that are mapped */
    take(given, sizeof(given));
    for (int i = 0; i < 3; i++) {
      take(lies[i], 3 * sizeof(long));
      const long page = sysconf(_SC_PAGESIZE), inside = (lies[i][0] + page - 1) / page * page;
      lies[i][3] = inside + 2 * page;
      region[i] = mmap(0, lies[i][3], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (inside && mprotect(region[i] + page, inside, PROT_READ | PROT_WRITE))
        exit(2);
      memory[i] = region[i] + page + (lies[i][1] ? inside - lies[i][0] : 0);
      address[i] = memory[i] + lies[i][2];
      take(memory[i], lies[i][0]);
    }
    kernel_under_test(@ARGUMENTS@);
    fwrite(memory[2], 1, lies[2][0], stdout);
    fflush(stdout);
    for (int i = 0; i < 3; i++)
      munmap(region[i], lies[i][3]);
  }
}
"""


class EmulatedKernel:
    """A kernel that is called as the contract says, in a process of another architecture."""

    def __init__(self, kernel: MicroKernel) -> None:
        self.kernel = kernel
        self._process: subprocess.Popen[bytes] | None = None
        self.program = _program(kernel)

    def call(self, values: Mapping[str, int], operands: Sequence[Operand]) -> None:
        """Call it with these integers; C gets what the process answers. Raises `AssertionError` where the process ends."""
        process = self._running()
        integers = [values[name] for name, c_type in parameters(self.kernel).items() if "*" not in c_type]
        message = [struct.pack(f"<{len(integers)}q", *integers)]
        for operand in operands:
            memory = operand.memory
            message += [struct.pack("<3q", memory.nbytes, operand.at_end, operand.address - memory.ctypes.data), memory.tobytes()]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(message))
        process.stdin.flush()
        target = operands[-1].memory
        answer = process.stdout.read(target.nbytes)
        assert len(answer) == target.nbytes, f"the emulated process ended: {process.wait()}"
        target[:] = np.frombuffer(answer, target.dtype)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            command = (*EMULATORS[self.kernel.architecture], str(self.program))
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._process


def is_foreign(kernel: MicroKernel) -> bool:
    """Whether a kernel is for another architecture than this host's."""
    return kernel.architecture not in ("any", platform.machine())


def is_available(architecture: str) -> bool:
    """Whether kernels of an architecture can be compiled and run."""
    return architecture in EMULATORS and all(map(shutil.which, (EMULATORS[architecture][0], CROSS[architecture])))


@cache
def _program(kernel: MicroKernel) -> Path:
    """A static program of the driver and the kernel with all its shapes."""
    places = iter(range(len(parameters(kernel))))
    arguments = [
        f"(void *)address[{OPERANDS.index(name)}]" if "*" in c_type else f"given[{next(places)}]"
        for name, c_type in parameters(kernel).items()
    ]
    text = DRIVER.replace("@DECLARATION@", kernel.declaration("kernel_under_test")).replace("@ARGUMENTS@", ", ".join(arguments))
    driver = KernelSource(SourceKind.C, text.replace("@COUNT@", str(len(parameters(kernel)) - len(OPERANDS))))
    machine = for_features("gcc", kernel.architecture, kernel.features)
    words = [
        CROSS[kernel.architecture],
        "-static",
        *BY_FAMILY["gcc"],
        *(flag for flag in FLAGS if flag not in LIBRARY_FLAGS),
        *machine,
    ]
    return linked(words, [rendered(kernel.emit("kernel_under_test", frozenset(shapes(kernel)))), driver])


LIBRARY_FLAGS = ("-shared", "-nostdlib", "-ffreestanding", "-fPIC", "-fvisibility=hidden")
"""Of what a process loads; a program needs none of them."""
