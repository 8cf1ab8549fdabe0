"""Numbers on the command line."""

import math
from typing import Any

import click


class Number(click.FloatRange):
    """A finite number in a range; for click nan is in every one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        return number if math.isfinite(number) else self.fail(f"{value} is not a finite number.", param, ctx)
