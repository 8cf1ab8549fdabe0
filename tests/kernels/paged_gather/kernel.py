"""Rows of a cache whose pages a table names, as in paged attention."""

import cuda.tile as ct
import torch

PAGE = 4


@ct.kernel
def paged_gather_kernel(cache, table, lengths, out, WIDTH: ct.Constant[int], PAGE_SIZE: ct.Constant[int]):
    sequence, page = ct.bid(0), ct.bid(1)
    length = ct.gather(lengths, sequence)
    number = ct.gather(table, (sequence, page))
    slots = ct.arange(PAGE_SIZE, dtype=ct.int32)
    positions = page * PAGE_SIZE + slots
    valid = (positions < length)[:, None]
    columns = ct.arange(WIDTH, dtype=ct.int32)[None, :]
    rows = (number * PAGE_SIZE + slots)[:, None]
    values = ct.gather(cache, (rows, columns), mask=valid, padding_value=0.0)
    ct.scatter(out, (sequence, positions[:, None], columns), values, check_bounds=True)


def paged_gather(cache: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    sequences, pages = table.shape
    out = torch.empty((sequences, pages * PAGE, cache.shape[1]), dtype=cache.dtype, device=cache.device)
    grid = (sequences, pages, 1)
    arguments = (cache, table, lengths, out, cache.shape[1], PAGE)
    ct.launch(torch.cuda.current_stream(), grid, paged_gather_kernel, arguments)
    return out
