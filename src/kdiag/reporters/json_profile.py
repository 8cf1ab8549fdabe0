"""A profile as one JSON object, schema `kdiag.profile/1`; a number that is unavailable is null."""

from kdiag.records import CompileEvidence, Gpu, LaunchProfile, Profile

from .json_number import fields

SCHEMA = "kdiag.profile/1"

Json = dict[str, object]


def to_json(profile: Profile) -> Json:
    return {
        "schema": SCHEMA,
        "source": profile.source,
        "gpu": _gpu(profile.gpu),
        "kernels": [_launch(launch) for launch in profile.kernels],
        **fields(profile, "others notes"),
    }


def _gpu(gpu: Gpu) -> Json:
    limits = fields(gpu.limits, "dram_gbs l2_gbs l1_gbs fp32_tflops fp64_tflops tensor_tflops")
    return {**fields(gpu, "name compute_capability sm_count"), "limits": limits, "limits_from": gpu.limits.source}


def _launch(launch: LaunchProfile) -> Json:
    diagnosis = launch.diagnosis
    return {
        **fields(launch, "index name symbol role constants nvtx grid block duration_us share_pct sol roofline"),
        **fields(diagnosis, "bottleneck confidence"),
        "causes": [fields(cause, "id score evidence") for cause in diagnosis.causes],
        **fields(diagnosis, "not_evaluated consequences"),
        **fields(launch, "contradictions"),
        "compiled": None if launch.compiled is None else _compiled(launch.compiled),
    }


def _compiled(compiled: CompileEvidence) -> Json:
    return {
        **fields(compiled, "target registers stack_bytes shared_bytes threads blocks_per_sm occupancy_pct"),
        "occupancy_limited_by": compiled.limited_by,
        **fields(compiled, "instructions remarks"),
    }
