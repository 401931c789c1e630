"""Every public name of onnxruntime's sessions, options, bindings and values: here, or left out for a reason."""

import inspect

import pytest

import tilewright.onnx as ours

ort = pytest.importorskip("onnxruntime")

DEVICES = """
    OrtAllocatorType OrtArenaCfg OrtDevice OrtDeviceMemoryType OrtDeviceVendorId OrtEpAssignedNode OrtEpAssignedSubgraph
    OrtEpDevice OrtExecutionProviderDevicePolicy OrtHardwareDevice OrtHardwareDeviceType OrtMemType OrtMemoryInfo
    OrtMemoryInfoDeviceType OrtSyncStream create_and_register_allocator create_and_register_allocator_v2
    cuda_version get_ep_devices register_execution_provider_library unregister_execution_provider_library
    get_input_epdevices get_input_memory_infos get_output_memory_infos get_provider_graph_assignment_info release_captured_graph
    set_ep_dynamic_options add_provider add_provider_for_devices set_provider_selection_policy
    set_provider_selection_policy_delegate
"""
"""There is one device, the CPU, and one provider."""
FORMATS = """
    AdapterFormat LoraAdapter ModelCompiler OrtCompileApiFlags ModelPackage ModelPackageComponentContext ModelPackageContext
    ModelPackageOptions ModelPackageWriteMode OrtEpContextData OrtEpContextDataBuffer add_active_adapter
    clear_ep_context_data_read_func set_ep_context_data_read_func
"""
"""Files of other formats than ONNX's are not read."""
INITIALIZERS = """
    OrtExternalInitializerInfo add_initializer add_external_initializers add_external_initializers_from_files_in_memory
"""
"""Initializers are the model's."""
SPARSE = "OrtSparseFormat SparseTensor as_sparse_tensor ort_value_from_sparse_tensor"
"""Sparse values are constants of a model."""
OTHERWISE = """
    SessionIOBinding get_outputs_as_ortvaluevector run_with_ortvaluevector get_tuning_results set_tuning_results
    set_load_cancellation_flag set_global_thread_pool_sizes set_default_logger_callback print_debug_info
"""
"""`IOBinding`, `get_outputs`, `run_with_ort_values`, `tilewright tune`, threads of sessions, Python's loggers."""
INNER = "contextlib import_capi_exception onnxruntime_validation package_name version"
"""Parts of onnxruntime's own."""
LEFT_OUT = frozenset(" ".join([DEVICES, FORMATS, INITIALIZERS, SPARSE, OTHERWISE, INNER]).split())
CLASSES = ("InferenceSession", "SessionOptions", "RunOptions", "IOBinding", "OrtValue", "NodeArg", "ModelMetadata")
CHECKED = "1.32."
"""The version of onnxruntime whose names these are."""


def names_of(module, name):
    subject = getattr(module, name) if name else module
    made = subject() if name in ("SessionOptions", "RunOptions") else subject
    fields = getattr(made, "__dataclass_fields__", ())
    return {one for one in {*dir(made), *fields} if not one.startswith("_")}


@pytest.mark.parametrize("name", ["", *CLASSES], ids=lambda name: name or "module")
def test_every_public_name_is_here_or_is_left_out(name):
    missing = names_of(ort, name) - names_of(ours, name)
    assert not ort.__version__.startswith(CHECKED) or missing <= LEFT_OUT


@pytest.mark.parametrize("name", ["InferenceSession", "IOBinding", "OrtValue"])
def test_methods_take_arguments_by_the_names_of_onnxruntime(name):
    theirs, own = getattr(ort, name), getattr(ours, name)
    for method in sorted(names_of(ort, name) & names_of(ours, name)):
        if callable(getattr(theirs, method)) and ort.__version__.startswith(CHECKED):
            expected = list(inspect.signature(getattr(theirs, method)).parameters)
            assert list(inspect.signature(getattr(own, method)).parameters)[: len(expected)] == expected, method
