"""All that is wrong, in one list."""

from __future__ import annotations

from collections.abc import Sequence

from eaglecfg.machine.declared import compare
from eaglecfg.machine.findings import Finding, worst_first
from eaglecfg.machine.gpu_findings import check_gpus
from eaglecfg.machine.host_findings import check_host
from eaglecfg.machine.python_findings import check_python
from eaglecfg.machine.setting_findings import check_settings
from eaglecfg.machine.survey import Machine
from eaglecfg.schema.loaded import LoadedConfig, LoadedDeployment


def diagnose(
    machine: Machine, config: LoadedConfig | None = None, deployments: Sequence[LoadedDeployment] = ()
) -> list[Finding]:
    """Every finding about the machine, and about the machine against these deployments, the worst first."""
    found = [
        *check_gpus(machine),
        *check_python(machine),
        *check_settings(machine),
        *check_host(machine),
    ]
    if config is not None:
        for deployment in deployments:
            found += [one for one in compare(machine, config, deployment) if one not in found]
    return worst_first(found)
