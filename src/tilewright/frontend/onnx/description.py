"""A whole model, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from tilewright.frontend.onnx.model import Body, Declared, has_foreign, needed_values
from tilewright.records import record


@record(eq=False)
class Model:
    """A whole model. Inputs that have a default are in `body.constants`, too."""

    body: Body
    opsets: Mapping[str, int]
    producer: str = ""
    producer_version: str = ""
    domain: str = ""
    description_text: str = ""
    version: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)
    ir_version: int = 0
    check_files: Callable[[], None] = lambda: None
    """Raises `InvalidModel` if a file that holds constants was written to since the model was read."""

    @property
    def is_known(self) -> bool:
        """Whether it means the same to every process that has this package: no operator is defined elsewhere."""
        return not has_foreign(self.body.nodes)

    @property
    def description(self) -> Description:
        """All that sessions tell of the model."""
        body = self.body
        defaults = tuple(value.unique for value in body.inputs if value.unique in body.constants)
        needs = needed_values(body.nodes, [value.unique for value in body.outputs], body.constants)
        about = (self.producer, self.domain, self.description_text, self.version, dict(self.metadata))
        return Description(body.name, body.inputs, body.outputs, defaults, needs, *about)


@record
class Description:
    """What a model says of itself, its nodes and constants apart."""

    name: str
    inputs: tuple[Declared, ...]
    outputs: tuple[Declared, ...]
    defaults: tuple[str, ...]
    """The inputs that have one, by unique name."""
    needs: tuple[str, ...]
    """The values that calls must give, by unique name."""
    producer: str
    domain: str
    text: str
    version: int
    metadata: Mapping[str, str]
