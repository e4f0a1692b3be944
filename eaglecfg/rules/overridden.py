"""Which findings rest on a value that json_model_override_args brought in."""

from __future__ import annotations

from eaglecfg.engines.overrides import LABEL
from eaglecfg.engines.resolve import OVERRIDES, override_args
from eaglecfg.record import replace
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding


def with_override(finding: Finding, context: Context) -> Finding:
    """``finding``, with the override named and shown where it rests on a key that the override sets."""
    keys, path = override_args(context.argument(OVERRIDES)), context.argument_path(OVERRIDES)
    own = next((e for e in finding.evidence if e.file.endswith(LABEL) and e.key.split(".")[0] in keys), None)
    if own is None or path == finding.path or any(path == place for place, _ in finding.related):
        return finding
    key = own.key.split(".")[0]
    note = f"sets {key} for target and draft alike"
    said = "" if OVERRIDES in finding.message else f" ({key} is set by {OVERRIDES})"
    return replace(finding, message=finding.message + said, related=(*finding.related, (path, note)))
