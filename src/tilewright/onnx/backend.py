"""`onnx.backend.base.Backend` on Tilewright: `import tilewright.onnx.backend as backend`."""

from tilewright.api.onnx.backend import Representation as Representation
from tilewright.api.onnx.backend import TilewrightBackend as TilewrightBackend
from tilewright.api.onnx.backend import prepare as prepare
from tilewright.api.onnx.backend import run_model as run_model
from tilewright.api.onnx.backend import run_node as run_node
from tilewright.api.onnx.backend import supports_device as supports_device
