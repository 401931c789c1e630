"""The interface between code generation and the runtime: C text, what to link with it, and how to call it.

The ABI of an entry point `NAME`, with the types of `CONTEXT_DECLARATION`:

    long NAME_workspace_bytes(const long *sizes);
    void NAME(const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace);

and, where the signature has constants, once for all calls:

    long NAME_packed_bytes(long number);
    void NAME_prepare(long number, const void *source, char *packed);

- `tensors`: the data pointers of the inputs, then of the outputs, in the order of the `Signature`.
- `sizes`: the value of each symbol, then the strides of every input and every output in elements, dimension by dimension.
- `workspace`: `NAME_workspace_bytes(sizes)` bytes for one call, 64-byte aligned (intermediates between chains).
- `parallel_for` calls `task` at most once on every thread, each with its own `scratch` of at least `scratch_bytes` bytes, 64-byte
  aligned, contents undefined. `next` gives a thread its next block, until it is negative: every number of 0..count-1 goes to one
  thread, to each at least one, in runs of ascending or descending numbers. `expected_ns` is what all blocks take on one thread:
  for short work nobody is woken.
- `NAME_prepare` packs one constant: number `number` of the `packed` ones of the `Signature`, from `source`, row-major, into
  `NAME_packed_bytes(number)` bytes, 64-byte aligned. Every call finds all of them in the `constants` of its context.
- `chain_done`, unless it is null, is called behind every chain with its number: who measures reads a clock there.
- `out_of_range`, unless it is null, is called by any thread that meets a position outside of the dimension that it is a position
  in: for the lookup of this number (in the order of the artifact's `lookups`), the element `place` of the positions, behind their
  first one in memory, is `position`, where the dimension has `extent` elements. The call goes on with the first element in its
  place; what it writes means nothing.
- `not_finite`, unless it is null, is called by any thread that meets a NaN or an infinity among results that may be wrong then
  (`Accuracy.CHECKED`). The call goes on; NaN and infinities of what it writes may lie where finite numbers belong. A program that
  was planned with `precision="strict"` never calls it.
- The text imports no symbol.
"""

from __future__ import annotations

import hashlib
from dataclasses import field

from tilewright.entry_point import EntryPoint, Signature
from tilewright.graph.constant_recipe import NO_CONSTANTS, Recipe
from tilewright.graph.positions import NamedLookup
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.records import record

CONTEXT_DECLARATION = """\
struct tw_blocks {
  long (*next)(struct tw_blocks *blocks);
};
struct tw_context {
  void *pool;
  void (*parallel_for)(void *pool, void (*task)(void *argument, struct tw_blocks *blocks, char *scratch), void *argument,
                       long count, long scratch_bytes, long expected_ns);
  const char *const *constants;
  void (*chain_done)(void *pool, long chain);
  void (*out_of_range)(void *pool, long lookup, long place, long position, long extent);
  void (*not_finite)(void *pool);
};
"""


@record
class Artifact:
    """Generated code, ready for a toolchain. `features` decides the compiler's flags.

    `text` is the C file of the entry point; `linked` are further files, compiled on their own: large programs are several.
    `kernels` are the micro kernels that they call: each is compiled once for all libraries that have it.
    """

    entry_point: str
    text: str
    linked: tuple[KernelSource, ...]
    architecture: str
    features: frozenset[str]
    signature: Signature
    chains: tuple[str, ...] = ()
    """The names of what `chain_done` counts."""
    recipe: Recipe = field(default=NO_CONSTANTS, repr=False)
    """How its constants are made of those of the graph. Nothing compiled depends on it."""
    lookups: tuple[NamedLookup, ...] = ()
    """What `out_of_range` counts."""
    kernels: tuple[KernelSource, ...] = ()
    reports_not_finite: bool = False
    """Whether `not_finite` may be called."""

    @property
    def entry(self) -> EntryPoint:
        """How it is called."""
        cpus = self.architecture, self.features
        return EntryPoint(self.entry_point, self.signature, *cpus, self.chains, self.lookups, self.reports_not_finite)

    @property
    def source(self) -> str:
        """All text, C and assembly, file by file."""
        files = (*self.linked, *self.kernels)
        return "\n".join([self.text, *(str(source.content) for source in files if source.kind is not SourceKind.OBJECT)])

    @property
    def key(self) -> str:
        """A digest of all that the compiled library depends on, apart from the compiler and its flags."""
        digest = hashlib.sha256()
        for part in (self.entry_point, self.architecture, *sorted(self.features), self.text):
            digest.update(part.encode() + b"\0")
        for source in (*self.linked, *self.kernels):
            digest.update(source.kind.value.encode() + b"\0" + source.octets + b"\0")
        return digest.hexdigest()
