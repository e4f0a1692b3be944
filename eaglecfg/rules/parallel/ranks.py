"""How many ranks share what."""

from __future__ import annotations

from eaglecfg.engines.numerals import whole
from eaglecfg.record import record
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import NotChecked
from eaglecfg.source.span import KeyPath


@record
class Ranks:
    """``tensor`` ranks share the MLP, ``attention`` ranks the heads of one sequence, in ``groups`` such
    groups.

    Without data-parallel attention there is one group and both numbers are tp_size. ``exact`` is false where
    tp_size does not divide by the groups, which a rule of its own says.
    """

    tensor: int
    groups: int
    key: str
    path: KeyPath

    @property
    def exact(self) -> bool:
        return self.tensor > 0 and self.groups > 0 and self.tensor % self.groups == 0

    @property
    def attention(self) -> int:
        return self.tensor // self.groups if self.exact else self.tensor

    @property
    def label(self) -> str:
        """The ranks that share attention heads, in words."""
        if self.groups == 1:
            return f"{self.tensor} ranks"
        return f"{self.attention} attention ranks ({self.tensor} ÷ {self.groups})"


def ranks(ctx: Context) -> Ranks:
    """The ranks of a deployment."""
    parallel = ctx.model.parallel
    tensor = parallel.tp_size
    if parallel.attn_dp_size is not None and parallel.attn_dp_size > 1:
        return Ranks(tensor, parallel.attn_dp_size, "attn_dp_size", ctx.where("parallel", "attn_dp_size"))
    if parallel.enable_dp_attention and parallel.dp_size is not None and parallel.dp_size > 1:
        return Ranks(tensor, parallel.dp_size, "dp_size", ctx.where("parallel", "dp_size"))
    return Ranks(tensor, 1, "tp_size", ctx.where("parallel", "tp_size"))


@record
class Devices:
    """``ranks`` of one host, and ``needed``: one more than the number of the last GPU that they take there.
    ``moved``: the flags that keep them from being the first ones."""

    ranks: int
    needed: int
    moved: tuple[str, ...] = ()


def devices(ctx: Context) -> Devices:
    """The GPUs of one host that the ranks take, by the engine's own numbering.

    Replicas start behind one another; inside, pipeline stages are the ranks of a stage apart, and the ranks
    of a stage gpu_id_step (srt/managers/data_parallel_controller.py:399 in 0.5.4.post1, :747 in 0.5.23).
    """
    parallel, shared = ctx.model.parallel, ranks(ctx)
    stages, hosts = parallel.pp_size or 1, max(1, parallel.nnodes or 1)
    apart = not parallel.enable_dp_attention and shared.groups == 1
    replicas = parallel.dp_size if apart and parallel.dp_size else 1
    here = max(1, shared.tensor * stages * replicas // hosts)
    first = max(0, whole(ctx.argument("base_gpu_id")) or 0)
    step = max(1, whole(ctx.argument("gpu_id_step")) or 1)
    moved = (("base_gpu_id",) if first else ()) + (("gpu_id_step",) if step > 1 and here > 1 else ())
    tensor_here = max(1, shared.tensor // max(1, hosts // stages))
    stages_here = max(1, stages // hosts)
    last = first + (stages_here - 1) * tensor_here + (tensor_here - 1) * step
    last += (replicas - 1) * shared.tensor * stages * step
    return Devices(here, last + 1, moved)


def unsettled(ctx: Context) -> NotChecked | None:
    """Why nothing can be said about ranks: the schema refused one of the numbers they follow from."""
    names = ("tp_size", "dp_size", "attn_dp_size", "enable_dp_attention", "ep_size", "pp_size", "nnodes")
    wrong = next((name for name in names if ctx.refused("parallel", name)), None)
    if wrong is None:
        return None
    path = ctx.where("parallel", wrong)
    block = "server" if path[-2:-1] == ("server",) else "parallel"
    return NotChecked(f"{block}.{path[-1] if block == 'server' else wrong} was refused")


def spread(heads: int, ranks: int) -> bool:
    """Whether key and value heads can be cut or replicated evenly over ``ranks``."""
    return heads % ranks == 0 if heads >= ranks else ranks % heads == 0


def divisors(number: int, most: int) -> list[int]:
    """Powers of two up to ``most`` that divide ``number``: rank counts that would work."""
    return [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= most and number % n == 0]
