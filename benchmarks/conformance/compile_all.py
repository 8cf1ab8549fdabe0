"""Compiles every case for one target on the CPU and prints what does not compile: no GPU needed.

python compile_all.py [sm_90]
"""

import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from io import BytesIO

from catalogue import all_cases

CASES = all_cases()


def refusal(name: str, target: str) -> str | None:
    """Why the compiler refuses the case, None if it does not."""
    from cuda.tile.compilation import export_kernel
    from launch import arguments, tensors

    from kdiag.cutile.signature import signature

    case = CASES[name]
    given = arguments(case.arguments, (array for _, array in tensors(case, "cpu")))
    try:
        made = signature(case.kernel, given)
        export_kernel(case.kernel, [made], output_file=BytesIO(), gpu_code=target, output_format="cubin")
    except Exception as error:  # noqa: BLE001 - whatever a case raises is its result
        return f"{type(error).__name__}: {error}"
    return None


def main(target: str = "sm_90") -> None:
    """See the module's text."""
    start = time.monotonic()
    with ProcessPoolExecutor() as pool:
        answers = dict(zip(CASES, pool.map(refusal, CASES, [target] * len(CASES), chunksize=8), strict=True))
    for name, reason in answers.items():
        if reason is not None:
            print(f"{name:50} {' '.join(reason.split())[:400]}")
    refused = Counter(CASES[name].family for name, reason in answers.items() if reason is not None)
    for family, count in Counter(case.family for case in CASES.values()).items():
        print(f"{family:30} {count:4} cases, {refused[family]:3} refused")
    seconds = time.monotonic() - start
    print(f"{len(CASES)} cases, {refused.total()} refused for {target}, {seconds:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
