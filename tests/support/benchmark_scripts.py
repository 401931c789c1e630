"""The scripts of `benchmarks/`, and the arguments with which each of them is done in seconds."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PARTS = ("benchmarks.studies.parts.",)
"""Their modules are started by studies, which tell them what to do: they have no command line."""
ONE_ROUND = ("--repeats", "1", "--processes", "1")
TUNED = "96x96x96"
"""The smallest problem of `benchmarks.tuning`."""
TINY: dict[str, tuple[tuple[str, ...], ...]] = {
    "benchmarks.onnx_models": (("--models", "mixer", "--exporters", "torchscript", "--small"),),
    "benchmarks.papers.ablation": (("--cases", "G12", "--count", "1", "--out", "out.json"),),
    "benchmarks.papers.additive_ablation": (("--cases", "G12", "--count", "1", "--out", "out.json"),),
    "benchmarks.papers.autotuners": (("--cases", "G12", "--count", "2", "--out", "out.json"),),
    "benchmarks.papers.convolution_misses": (("--model", "squeezenet", "--layers", "1", "--json", "out.json"),),
    "benchmarks.papers.fusion_traffic": (("--case", "G12", "--machine", "zen5", "--cores", "2", "--json", "out.json"),),
    "benchmarks.papers.ngemm": (("--depths", "64,128", "--m", "4", "--n", "16", "--rounds", "1"),),
    "benchmarks.papers.ngemm_tuning": (("--cases", "9x48x64", "--count", "3", "--json", "out.json"),),
    "benchmarks.papers.npu_chains": (("--cases", "G12,S1", "--simulate", "1024", "--json", "out.json"),),
    "benchmarks.papers.npu_mlir": (("--cases", "G12"),),
    "benchmarks.papers.paper_modes": (("--case", "G12", "--level", "L1"),),
    "benchmarks.papers.paper_cores": (
        ("--cases", "G10", "--ablation", "G10", "--count", "1", "--cores", "4", "--json", "out.json"),
    ),
    "benchmarks.papers.unroll_agent": (("--sizes", "4", "--seeds", "1", "--registers", "4", "--out", "out.json"),),
    "benchmarks.papers.validate_model": (
        ("--case", "d", "--cache", "32x8", "--count", "2", "--size", "128", "--jobs", "1", "--json", "out.json"),
    ),
    "benchmarks.papers.whole_networks": (("--only", "transformer_small", "--rounds", "1", "--out", "out.json"),),
    "benchmarks.studies.attention": (("--cases", "block_128", "--peers", "onnxruntime", *ONE_ROUND, "--results", "."),),
    "benchmarks.studies.attention_memory": (("--heads", "1", "--length", "64", "--width", "16"),),
    "benchmarks.studies.chains": (
        ("--cases", "G12", "--plain", "--not-prepacked", "--peers", "numpy", *ONE_ROUND, "--results", "."),
    ),
    "benchmarks.studies.cnns": (
        (
            "--small",
            "--models",
            "squeezenet,built_convnext_tiny",
            "--peers",
            "",
            "--rounds",
            "1",
            "--directory",
            "models",
            "--json",
            "out.json",
        ),
    ),
    "benchmarks.studies.compilers": (("--cases", "G12"),),
    "benchmarks.studies.conv": (("--cases", "3x3_8-8_8", "--peers", "onnxruntime", *ONE_ROUND, "--results", "."),),
    "benchmarks.studies.convolution_list": (
        ("--slice", "40/60", "--rounds", "1", "--json", "out.json"),
        ("--join", "out.json"),
    ),
    "benchmarks.studies.convolution_planning": (("--models", "squeezenet", "--layers", "2", "--target", "zen4"),),
    "benchmarks.studies.decoder": (("--levels", "0", "--layers", "1", "--rounds", "1"),),
    "benchmarks.studies.depthwise": (("--slice", "1/1000", *ONE_ROUND, "--json", "out.json"), ("--join", "out.json")),
    "benchmarks.studies.dynamic_models": (("--models", "encoder", "--pairs", "2"),),
    "benchmarks.studies.function_accuracy": (("exp", "--count", "1000", "--dialect", "portable"),),
    "benchmarks.studies.function_polynomials": (("--out", "coefficients.py"),),
    "benchmarks.studies.function_speed": (("exp", "--rounds", "1", "--dialect", "portable"),),
    "benchmarks.studies.gemm": (("--cases", "16x16x16", "--not-prepacked", "--peers", "numpy", *ONE_ROUND, "--results", "."),),
    "benchmarks.studies.gpu_compilation": (("--only", "G12 softmax", "--targets", "a100", "--json", "out.json"),),
    "benchmarks.studies.images": (("--cases", "crop_224", "--rounds", "1"),),
    "benchmarks.studies.joint_levels": (("--cases", "G10", "--random", "1", "--json", "out.json"),),
    "benchmarks.studies.left_operands": (("--repeats", "1", "--names", "left:64x4x64,right:4x64x64"),),
    "benchmarks.studies.lengths": (("--case", "decode", "--lengths", "33"),),
    "benchmarks.studies.micro_kernels": (("--samples", "1", "matmul_portable_f32_6x8"),),
    "benchmarks.studies.mlp": (("--cases", "mlp_32", "--peers", "onnxruntime", *ONE_ROUND, "--results", "."),),
    "benchmarks.studies.models": (("--models", "mixer", "--peers", "onnxruntime", "--small", *ONE_ROUND, "--results", "."),),
    "benchmarks.studies.offline_compilation": (("--only", "G2 gemm_chain 64x64", "--architectures", "sm_80"),),
    "benchmarks.studies.packing_time": (("--models", "squeezenet", "--layers", "2", "--rounds", "1"),),
    "benchmarks.studies.paired": (("HEAD", "--rounds", "1", "--only", "mlp"),),
    "benchmarks.studies.planning_time": (("--rounds", "1", "--only", "attention"),),
    "benchmarks.studies.portable": (("--cases", "G12", "--plain", "--not-prepacked", "--peers", "numpy", *ONE_ROUND),),
    "benchmarks.studies.precision_of_models": (("--models", "unet", "--small"),),
    "benchmarks.studies.price_of_convolutions": (("measure", "out.json", "--slice", "1/1000"), ("report", "out.json")),
    "benchmarks.studies.product_tiles": (("--cost",),),
    "benchmarks.studies.quantised_convolutions": (
        ("--cases", "3x3_8-8_8", "--rounds", "1", "--layers", "1", "--json", "out.json"),
    ),
    "benchmarks.studies.quantised_models": (
        (
            *("--models", "mixer", "--forms", "qdq", "--small", "--rounds", "1", "--layers", "1"),
            *("--directory", "models", "--json", "out.json"),
        ),
    ),
    "benchmarks.studies.schedules.regret": (("--cases", "G12", "--count", "1", "--out", "out.json"),),
    "benchmarks.studies.sessions": (("--models", "mixer", "--small", "--processes", "1", "--results", "."),),
    "benchmarks.studies.shared_cores": (("--cases", "chain:G12:plain", "--rounds", "1"),),
    "benchmarks.studies.simulated_cores": (("--cases", "G12", "--rounds", "1", "--json", "out.json"),),
    "benchmarks.studies.slicing": (
        ("region",),
        ("measure", "--model", "squeezenet", "--layers", "3x3_16-64_55", "--rounds", "1"),
        ("packing", "--model", "squeezenet", "--layers", "3x3_16-64_55", "--rounds", "1"),
    ),
    "benchmarks.studies.soak": (("--minutes", "0.05", "--threads", "2"),),
    "benchmarks.studies.start_up": (("--processes", "1"),),
    "benchmarks.studies.threads": (("--cases", "G12", "--rounds", "1"),),
    "benchmarks.studies.torch_models": (
        (
            *("--models", "mixer", "--small", "--contenders", "tilewright,eager", "--parts", "times"),
            *("--rounds", "1", "--json", "out.json"),
        ),
        ("--models", "", "--known", "out.json"),
    ),
    "benchmarks.studies.torch_overhead": (
        ("--model", "encoder", "--layers", "1", "--rounds", "1", "--calls", "40", "--json", "out.json"),
    ),
    "benchmarks.studies.torch_weights_of_bytes": (
        ("--width", "128", "--hidden", "256", "--rows", "2", "--rounds", "1", "--contenders", "tilewright"),
    ),
    "benchmarks.studies.winograd": (("--layers", "8x14", "--rounds", "1"),),
    "benchmarks.studies.yardsticks": ((".", "--cases", "attention_g9", *ONE_ROUND),),
    "benchmarks.tuning": (
        ("measure", "--problems", TUNED, "--first", "3", "--others", "2", "--full", "3", "--directory", "study"),
        ("judge", "--directory", "study"),
        ("headlines", "--problems", TUNED, "--directory", "study"),
    ),
}
"""By module, a tuple for each command line, in this order and in one directory."""
NEEDED = {f"benchmarks.studies.{name}": "triton" for name in ("gpu_compilation", "offline_compilation")}
"""Packages that a script cannot do without, and the extra `test` does not have."""


def scripts() -> list[str]:
    """The modules that have a command line."""
    files = [path for path in sorted((ROOT / "benchmarks").rglob("*.py")) if '__name__ == "__main__"' in path.read_text()]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__") for path in files]
    return [name for name in names if not name.startswith(PARTS)]
