"""What the decorator-hint edit does and refuses."""

from .edited import sized


def _copy(decorator: str, imported: str = "import cuda.tile as ct", prefix: str = "ct.") -> str:
    return (
        f"{imported}\n\n\n"
        f"{decorator}\n"
        f"def copy_kernel(x, y, T: {prefix}Constant[int]):\n"
        f"    {prefix}store(y, ({prefix}bid(0),), {prefix}load(x, ({prefix}bid(0),), shape=(T,)))\n"
    )


MEMBERS = "from cuda.tile import Constant, bid, kernel, load, store"

EXAMPLES = (
    sized(
        "a bare decorator",
        "copy_kernel",
        "occupancy=4",
        _copy("@ct.kernel  # one tile a block"),
        _copy("@ct.kernel(occupancy=4)  # one tile a block"),
    ),
    sized(
        "a decorator that sets something else, over several lines",
        "copy_kernel",
        "num_worker_warps=8",
        _copy("@ct.kernel(\n    opt_level=3,  # the default\n)"),
        _copy("@ct.kernel(\n    opt_level=3,  # the default\n    num_worker_warps=8,\n)"),
    ),
    sized(
        "another value, imported by name",
        "copy_kernel",
        "occupancy=2",
        _copy("@kernel(occupancy=1, opt_level=3)", MEMBERS, ""),
        _copy("@kernel(occupancy=2, opt_level=3)", MEMBERS, ""),
    ),
    sized(
        "chosen by target",
        "copy_kernel",
        "occupancy=4",
        _copy("@ct.kernel(occupancy=ct.ByTarget(sm_100=2))"),
        refused="occupancy is chosen for each target with ByTarget",
    ),
    sized(
        "a name",
        "copy_kernel",
        "occupancy=4",
        _copy("@ct.kernel(occupancy=BLOCKS)"),
        refused="occupancy is not a literal in the decorator",
    ),
    sized(
        "hints set at run time",
        "copy_kernel",
        "occupancy=4",
        _copy("@ct.kernel") + "\n\ntuned = copy_kernel.replace_hints(occupancy=8)\n",
        refused="the launch chooses hints at run time",
    ),
)
