from __future__ import annotations

from typing import Any

from eaglecfg.engines.arguments import arguments
from eaglecfg.engines.command import environment, launch_arguments
from eaglecfg.schema.deployment import Deployment
from tests.engines.build import facts

PAIR = {"target": {"checkpoint": "models/target"}, "draft": {"checkpoint": "models/draft"}}


def deployment(**parts: Any) -> Deployment:
    return Deployment.model_validate({**PAIR, **parts})


def test_a_deployment_becomes_the_words_of_a_command_line() -> None:
    made = deployment(
        parallel={"tp_size": 8},
        speculative={"num_steps": 2, "eagle_topk": 1, "num_draft_tokens": 3},
        server={"attention-backend": "flashinfer", "mem_fraction_static": 0.85, "trust_remote_code": True},
    )
    words = launch_arguments(made, facts("0.5.14"))
    assert words == [
        "--model-path",
        "models/target",
        "--tp-size",
        "8",
        "--speculative-draft-model-path",
        "models/draft",
        "--speculative-algorithm",
        "EAGLE3",
        "--speculative-eagle-topk",
        "1",
        "--speculative-num-draft-tokens",
        "3",
        "--speculative-num-steps",
        "2",
        "--attention-backend",
        "flashinfer",
        "--mem-fraction-static",
        "0.85",
        "--trust-remote-code",
    ]


def test_speculation_that_is_off_leaves_the_draft_out() -> None:
    words = launch_arguments(deployment(speculative="off"), facts("0.5.14"))
    assert words == ["--model-path", "models/target"]


def test_a_draft_alone_is_run_with_eagle3() -> None:
    assert arguments(deployment())["speculative_algorithm"].value == "EAGLE3"
    assert "speculative_algorithm" not in arguments(Deployment.model_validate({"target": PAIR["target"]}))


def test_switches_lists_and_objects() -> None:
    made = deployment(
        speculative="off",
        server={
            "disable_cuda_graph": False,
            "cuda_graph_bs": [1, 2, 4],
            "json_model_override_args": {"num_hidden_layers": 2},
        },
    )
    assert launch_arguments(made, facts("0.5.12"))[2:] == [
        "--cuda-graph-bs",
        "1",
        "2",
        "4",
        "--json-model-override-args",
        '{"num_hidden_layers": 2}',
    ]


def test_a_field_whose_option_is_spelled_otherwise_gets_that_spelling() -> None:
    made = deployment(speculative="off", server={"fp8_gemm_runner_backend": "triton"})
    assert launch_arguments(made, facts("0.5.14"))[2:] == ["--fp8-gemm-backend", "triton"]


def test_aliases_get_the_name_of_the_flag() -> None:
    made = deployment(server={"tensor-parallel-size": 4})
    argument = arguments(made, facts("0.5.14"))["tp_size"]
    assert (argument.value, argument.path) == (4, ("server", "tensor-parallel-size"))


def test_nccl_variables_get_their_prefix_back() -> None:
    made = deployment(nccl={"proto": "LL", "NCCL_P2P_LEVEL": "SYS"}, env={"OMP_NUM_THREADS": "1"})
    assert environment(made) == {"OMP_NUM_THREADS": "1", "NCCL_PROTO": "LL", "NCCL_P2P_LEVEL": "SYS"}


def test_a_value_that_looks_like_an_option_stays_a_value() -> None:
    made = deployment(speculative="off", server={"served_model_name": "-x", "random_seed": -1, "a": "-0.5"})
    assert launch_arguments(made)[2:] == ["--served-model-name=-x", "--random-seed", "-1", "--a", "-0.5"]


def test_a_variable_that_is_handed_on_is_left_to_whoever_launches() -> None:
    made = deployment(env={"HF_TOKEN": "${HF_TOKEN}", "HOME": "${HF_TOKEN}"})
    assert environment(made) == {"HOME": "${HF_TOKEN}"}
