"""A machine with nothing wrong, to change one thing of."""

from __future__ import annotations

from eaglecfg.machine.gpus import read_gpus
from eaglecfg.machine.host import Host, Limit, SharedMemory
from eaglecfg.machine.links import read_links
from eaglecfg.machine.places import Places
from eaglecfg.machine.python import Library, ServingPython
from eaglecfg.machine.servers import Ports
from eaglecfg.machine.survey import EngineStanding, Machine
from tests.machine.library import h200, nvml

GIB = 1 << 30
NVML = nvml(h200(2))
GPUS = read_gpus(NVML, None, Places())
HOST = Host(
    "6.8.0", "", "", 64, 512 * GIB, SharedMemory("/dev/shm", 256 * GIB, 256 * GIB), Limit(None, None),
    Limit(65536, 65536), 2, False, False, (), (),
)  # fmt: skip
PYTHON = ServingPython(
    executable="/venv/bin/python",
    version="3.12.3",
    torch="2.11.0+cu130",
    torch_folder="/venv/lib/torch",
    torch_cuda="13.0",
    nccl_required="2.28.9",
    nccl_packages={"nvidia-nccl-cu13": "2.28.9"},
    nccl_torch=Library("/venv/lib/nvidia/nccl/lib/libnccl.so.2", "rpath", "2.28.9"),
    sglang="0.5.14",
    sglang_folder="/venv/lib/sglang",
    cuda_driver="13.0",
)
GOOD = Machine(
    host=HOST,
    python=PYTHON,
    driver="580.159.04",
    cuda_driver="13.0",
    gpus=GPUS,
    links=read_links(NVML, GPUS),
    engine=EngineStanding("0.5.14", "known", "0.5.14"),
    ports=Ports(30000, (), 12000, 21999, 0),
)
