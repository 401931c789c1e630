"""PyTorch's samples of its operators through the front end: equal to eager by the NumPy interpreter, or left to ATen."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from tests.support.torch.opinfo import interpreted, verdicts  # noqa: E402

pytestmark = pytest.mark.sweep
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool")


@pytest.fixture(autouse=True)
def _one_thread_without_gradients():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.no_grad():
        yield
    torch.set_num_threads(threads)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_operator_is_wrong(dtype):
    found = dict(verdicts(dtype, (), 3, interpreted))
    assert {name: one for name, one in found.items() if one.kind in ("wrong", "raised")} == {}
    assert any(one.kind == "equal" for one in found.values())
