import cuda.tile as ct
import torch

_found = {}


@ct.kernel
def tuned_add_kernel(a, b, c, TILE: ct.Constant[int]):
    at = ct.bid(0)
    left = ct.load(a, index=(at,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    right = ct.load(b, index=(at,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(c, index=(at,), tile=left + right)


def tuned_add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    c = torch.empty_like(a)
    n, stream = a.shape[0], torch.cuda.current_stream()
    configs = [{"TILE": tile, "occupancy": occupancy} for tile in (64, 128, 256) for occupancy in (1, 2)]
    key = (n, a.dtype)
    if key not in _found:
        result = ct.tune.exhaustive_search(
            configs,
            stream,
            lambda config: (ct.cdiv(n, config["TILE"]), 1, 1),
            tuned_add_kernel,
            lambda config: (a, b, c, config["TILE"]),
            lambda config: {"occupancy": config["occupancy"]},
        )
        best = result.best.config
        _found[key] = (best, tuned_add_kernel.replace_hints(occupancy=best["occupancy"]))
    best, kernel = _found[key]
    ct.launch(stream, (ct.cdiv(n, best["TILE"]), 1, 1), kernel, (a, b, c, best["TILE"]))
    return c
