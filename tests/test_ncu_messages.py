"""What ncu says, in its own words from public logs, and what kdiag makes of it."""

from hypothesis import given
from hypothesis import strategies as st

from kdiag.executors.ncu.messages import read_messages

GOOD = """==PROF== Connected to process 367502 (/usr/bin/python3.10)
==PROF== Profiling "unrolled_elementwise_kernel" - 0: 0%....50%....100% - 8 passes
==PROF== Profiling "ampere_fp16_s1688gemm_fp16_12..." - 1 (2/3): 0%....50%....100% - 9 passes
==PROF== Profiling "add_kernel": 0%....50%....100% - 1 pass
==PROF== Disconnected from process 367502
==PROF== Report: /tmp/hgemm.prof.ncu-rep
"""
HALF_WAY = """==PROF== Profiling "volta_h884gemm_128x256_ldg8_nn" - 17: 0%....50%....100% - 19 passes
==PROF== Profiling "volta_h884gemm_128x256_ldg8_nn" - 18: 0%....50%.... - 19 passes
==ERROR== Failed to profile "volta_h884gemm_128x256_ldg8_nn" in process 24701
==PROF== Trying to shutdown target application
==ERROR== The application returned an error code (15).
==ERROR== An error occurred while trying to profile.
"""
SIGNAL = """==PROF== Profiling "gemm" - 19: 0%....50%....100% - 19 passes
==PROF== Profiling "gemm" - 20: 0%..==PROF== Received signal
==PROF== Trying to shutdown target application
 - 3 passes
==ERROR== Failed to profile "gemm" in process 25093
==PROF== Trying to shutdown target application
==ERROR== The application returned an error code (15).
"""
LAUNCH_FAILED = """==PROF== Profiling "good_k" - 0: 0%....50%....100% - 33 passes
==PROF== Profiling "bad_k" - 1: 0%....50%....100% - 1 pass
==ERROR== LaunchFailed
==ERROR== LaunchFailed
==PROF== Trying to shutdown target application
==ERROR== The application returned an error code (9).
"""
PREPARE = """==PROF== Profiling "first" - 0: 0%....50%....100% - 8 passes
==ERROR== Failed to prepare kernel for profiling
==ERROR== Unknown Error on device 0.
==ERROR== Failed to profile "const:" in process 12
==ERROR== The application returned an error code (9).
==ERROR== An error occurred while trying to profile.
"""
NONE = """==PROF== Connected to process 664418 (/mnt/c/wmma_ptx)
[WMMA C++] C[0,0]=79.000000
==PROF== Disconnected from process 664418
==WARNING== No kernels were profiled.
Available Kernels:
1. wmma_cxx_kernel
2. gn_stats_kernel_h(const __half *, float *, int, int)
done.
3. not a kernel
"""


def test_launches_and_passes():
    heard = read_messages(GOOD)
    assert heard.profiled == ("unrolled_elementwise_kernel", "ampere_fp16_s1688gemm_fp16_12...", "add_kernel")
    assert heard.passes == 9
    assert heard.connected
    assert (heard.failed, heard.unfinished, heard.errors, heard.application_exit) == ((), None, (), 0)


def test_a_launch_that_fails_half_way_is_named_and_the_one_before_it_counts():
    heard = read_messages(HALF_WAY)
    assert heard.profiled == ("volta_h884gemm_128x256_ldg8_nn",)
    assert heard.failed == ("volta_h884gemm_128x256_ldg8_nn",)
    assert heard.application_exit == 15


def test_a_launch_that_is_interrupted_has_not_failed():
    heard = read_messages(SIGNAL)
    assert (heard.profiled, heard.failed, heard.unfinished) == (("gemm",), (), "gemm")


def test_launch_failed_names_the_launch_under_way():
    heard = read_messages(LAUNCH_FAILED)
    assert heard.profiled == ("good_k",)
    assert heard.failed == ("bad_k",)
    assert heard.launch_failed
    assert heard.errors == ("LaunchFailed",)


def test_a_kernel_that_cannot_be_prepared_is_not_the_one_before_it():
    heard = read_messages(PREPARE)
    assert heard.profiled == ("first",)
    assert heard.failed == ("const:",)
    assert heard.errors == ("Failed to prepare kernel for profiling", "Unknown Error on device 0.")


def test_kernels_that_were_seen_only():
    heard = read_messages(NONE)
    assert heard.profiled == ()
    assert heard.available == ("wmma_cxx_kernel", "gn_stats_kernel_h(const __half *, float *, int, int)")


words = st.sampled_from(
    [
        *("==PROF== ", "==ERROR== ", "==WARNING== ", 'Profiling "k" - 0: ', "0%....50%....100%", " - 8 passes", "\n"),
        *("LaunchFailed", 'Failed to profile "k" in process 1', "Received signal", "Available Kernels:\n", "1. k"),
        *("The application returned an error code (", "7", "-1", ").", "Disconnected from process 1", '"', "=="),
    ]
)


@given(st.lists(st.one_of(words, st.text(max_size=8)), max_size=40).map("".join))
def test_any_text_is_read_and_nothing_is_invented(text):
    heard = read_messages(text)
    for name in (*heard.profiled, *heard.failed, *heard.available):
        assert name in text
    assert len(heard.profiled) <= text.count("Profiling")
    assert (heard.passes is None) <= (heard.profiled == ())


names = st.text(st.characters(codec="ascii", categories=("L", "N"), include_characters="_<>:, *&()"), min_size=1)


@given(st.lists(st.tuples(names, st.integers(1, 99)), max_size=8))
def test_every_profiled_launch_is_counted(launches):
    log = "".join(
        f'==PROF== Profiling "{name}" - {index}: 0%....50%....100% - {passes} pass{"es" * (passes > 1)}\n'
        for index, (name, passes) in enumerate(launches)
    )
    heard = read_messages(log)
    assert heard.profiled == tuple(name for name, _ in launches)
    assert heard.passes == max((passes for _, passes in launches), default=None)
