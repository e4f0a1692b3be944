"""Numbers that options take."""

from __future__ import annotations

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A range that ``nan`` and ``inf`` are outside of: no comparison with nan holds, and click takes it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Fails as click's own ranges do."""
        if isinstance(value, str) and "_" in value:
            self.fail(f"{value!r} is not a number.", param, ctx)  # Python takes 1_5 for 15
        number = click.FLOAT.convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return super().convert(number, param, ctx)
