"""Commands and scripts: every value where the schema has it, and nothing guessed."""

from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.review.imports.importing import import_text
from tests.review.imported import imported, only, told

SERVER = "python3 -m sglang.launch_server --model-path org/m "


def server_of(flags: str, version: str = "0.5.14") -> Any:
    return only(SERVER + flags, version).get("server")


def test_a_whole_command_is_sorted_into_blocks() -> None:
    assert only(
        """
        export NCCL_PROTO=LL OMP_NUM_THREADS=4
        CUDA_VISIBLE_DEVICES=0,1 nohup python3 -m sglang.launch_server \\
          --model /models/t --revision 1.10 --tp 2 --dp-size=2 --enable-dp-attention \\
          --speculative-algorithm EAGLE3 --speculative-draft-model-path=/models/d \\
          --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4 \\
          --mem-fraction 0.80 --trust-remote-code --cuda-graph-bs 1 2 4 > log 2>&1 &
        """
    ) == {
        "target": {"checkpoint": "/models/t", "revision": "1.10"},
        "draft": {"checkpoint": "/models/d"},
        "parallel": {"tp_size": 2, "dp_size": 2, "enable_dp_attention": True},
        "speculative": {"algorithm": "EAGLE3", "num_steps": 3, "eagle_topk": 1, "num_draft_tokens": 4},
        "server": {"mem_fraction_static": 0.8, "trust_remote_code": True, "cuda_graph_bs": [1, 2, 4]},
        "nccl": {"proto": "LL"},
        "env": {"CUDA_VISIBLE_DEVICES": "0,1", "OMP_NUM_THREADS": "4"},
    }


@pytest.mark.parametrize(
    ("flags", "server"),
    [
        ("--port 1 --port=2", {"port": 2}),
        ("--chunked-prefill-size -1", {"chunked_prefill_size": -1}),
        ("--context-length 128k", {"context_length": "128k"}),
        ("--served-model-name 007", {"served_model_name": "007"}),
        ("--served-model-name ''", {"served_model_name": ""}),
        ("--served-model-name=-x", {"served_model_name": "-x"}),
        ("--json-model-override-args '{\"a\": [1]}'", {"json_model_override_args": '{"a": [1]}'}),
        ("--lora-paths a=/x b=/y", {"lora_paths": ["a=/x", "b=/y"]}),
        ("--mm-process-config '{\"a\": [1]}'", {"mm_process_config": {"a": [1]}}),
        ("--mm-process-config '{\"a\":[1]}'", {"mm_process_config": '{"a":[1]}'}),
        ("--tp-size eight", {"tp_size": "eight"}),
        ("--made-up 1 2 --other", {"made_up": [1, 2], "other": True}),
        ("--made_up=x=y", {"made_up": "x=y"}),
        ("--speculative-num-steps 3", {"speculative_num_steps": 3}),
        ("--speculative-draft-model-path d", {"speculative_draft_model_path": "d"}),
        ("--trust-remote-code true", {"trust_remote_code": "true"}),
        ("--config c.yaml", {"config": "c.yaml"}),
        ("-tp 2 --disable-radix-cache", {"disable_radix_cache": True}),
    ],
)
def test_values_keep_what_they_are(flags: str, server: dict[str, Any]) -> None:
    assert server_of(flags) == server


@pytest.mark.parametrize(
    "command",
    [
        "python -m sglang.launch_server --model-path org/m --tp 4",
        "/opt/venv/bin/python3.12 -u -m sglang.launch_server --model-path org/m --tp 4",
        "python3 -m sglang.srt.entrypoints.http_server --model-path org/m --tp 4",
        "python3 /x/sglang/launch_server.py --model-path org/m --tp 4",
        "sglang serve org/m --tp 4",
        "sglang serve --model-path=org/m --tensor-parallel-size=4",
        "exec env -u X python3 -m sglang.launch_server --model-path org/m --tp 4",
        "numactl -N 0 torchrun --nproc-per-node 4 -m sglang.launch_server --model-path org/m --tp 4",
        "srun --nodes=1 python3 -m sglang.launch_server --model-path org/m --tp 4",
        "cd /x && python3 -m sglang.launch_server --model-path org/m --tp 4 | tee log",
        "bash -lc 'exec python3 -m sglang.launch_server --model-path org/m --tp 4'",
        'ssh host "cd /x; python3 -m sglang.launch_server --model-path org/m --tp 4"',
        'CMD="python3 -m sglang.launch_server --model-path org/m"; $CMD --tp 4',
        'CMD="python3 -m sglang.launch_server --model-path org/m --tp 4"; eval "$CMD"',
        "tmux new-session -d 'python3 -m sglang.launch_server --model-path org/m --tp 4'",
        "( python3 -m sglang.launch_server --model-path org/m --tp 4 ) &",
        "if true; then python3 -m sglang.launch_server --model-path org/m --tp 4; fi",
        'M=(org/m --tp); M+=(4); python3 -m sglang.launch_server --model-path "${M[@]}"',
        "serve() { python3 -m sglang.launch_server --model-path $1 --tp $2; }\nserve org/m 4",
        "function serve {\n  python3 -m sglang.launch_server --model-path org/m --tp 4\n}",
        "cat <<EOF\npython3 -m sglang.launch_server --model-path no/no\nEOF\nsglang serve org/m --tp 4",
        "# python3 -m sglang.launch_server --model-path no/no\nsglang serve org/m --tp 4 # --tp 8",
        "TP=4\r\npython3 -m sglang.launch_server \\\r\n  --model-path org/m \\\r\n  --tp $TP\r\n",
        "python3 -m sglang.launch_server --model-path 'org/'\"m\" --tp ${TP:-4}",
        "X=4 bash -c 'python3 -m sglang.launch_server --model-path org/m --tp $X'",
        "case $1 in a) TP=2;; esac\nTP=4\npython3 -m sglang.launch_server --model-path org/m --tp $TP",
    ],
)
def test_a_server_is_found_behind_what_starts_it(command: str) -> None:
    found = only(command)
    assert found["target"] == {"checkpoint": "org/m"}
    assert found["parallel"] == {"tp_size": 4}


@pytest.mark.parametrize(
    ("command", "variables"),
    [
        ("A=1 B='c d' ", {"A": "1", "B": "c d"}),
        ("A=1; ", None),
        ("export A=1; unset A; ", None),
        ("export A; A=2\n", {"A": "2"}),
        ("declare -x A=1; declare B=2; ", {"A": "1"}),
        ("set -a; A=1; ", {"A": "1"}),
        ("env A=1 ", {"A": "1"}),
        ("sudo -E env A=1 ", {"A": "1"}),
        ("mpirun -np 2 -x A=1 ", {"A": "1"}),
        ("export A=7; docker run img ", None),
        ("export A=7; docker run -e A --env B=2 img ", {"A": "7", "B": "2"}),
        ("srun --export=ALL,A=1 ", {"A": "1"}),
        ("A=1; export B=$A$A; ", {"B": "11"}),
        ("export A=\"x\n$'y'\"; ", {"A": "x\n$'y'"}),
    ],
)
def test_the_environment_is_what_the_server_gets(command: str, variables: dict[str, str] | None) -> None:
    assert only(command + SERVER).get("env") == variables


@pytest.mark.parametrize(
    ("command", "line", "names"),
    [
        (SERVER + "--tp $TP", '# tp_size: "${TP}"', "TP"),
        (SERVER + "--port $((BASE + 1))", '# port: "$((BASE + 1))"', "$((BASE + 1))"),
        ("python3 -m sglang.launch_server --model-path $M", 'checkpoint: "${M}"', "M"),
        ("python3 -m sglang.launch_server --model-path ~/m", 'checkpoint: "~/m"', "HOME"),
        (
            "python3 -m sglang.launch_server --model-path <your-model>",
            'checkpoint: "<your-model>"',
            "<your-model>",
        ),
        ("export A=$(hostname); " + SERVER, '# A: "$(hostname)"', "$(hostname)"),
        ("export NCCL_PROTO=$P; " + SERVER, '# proto: "${P}"', "P"),
        ("if x; then TP=2; else TP=4; fi; " + SERVER + "--tp $TP", '# tp_size: "${TP}"', "TP"),
        ("[ -n x ] && TP=2; " + SERVER + "--tp $TP", '# tp_size: "${TP}"', "TP"),
        ("for TP in 2 4; do " + SERVER + "--tp $TP; done", '# tp_size: "${TP}"', "TP"),
        (SERVER + "--cuda-graph-bs 1 $MORE", '# cuda_graph_bs: [1, "${MORE}"]', "MORE"),
    ],
)
def test_what_nothing_tells_is_left_open_by_name(command: str, line: str, names: str) -> None:
    result, _ = imported(command)
    assert line in result.text
    assert f"TODO: {names} is not known here" in result.text
    assert result.left_open == 1
    assert [note for note in result.notes if note.todo]


@pytest.mark.parametrize(
    "command",
    [
        "export HF_TOKEN=hunter2; " + SERVER,
        "HF_TOKEN=hunter2 " + SERVER,
        "docker run -e HF_TOKEN=hunter2 img " + SERVER,
        SERVER + "--api-key hunter2",
        "TOKEN=hunter2; " + SERVER + "--api-key=$TOKEN",
        "export U=http://me:hunter2@proxy/; " + SERVER,
        SERVER + "--chat-template https://me:hunter2@host/t.jinja",
    ],
)
def test_secrets_are_not_copied(command: str) -> None:
    result, _ = imported(command)
    assert "hunter2" not in result.text
    assert not any("hunter2" in note.text for note in result.notes)
    assert any("secret" in note.text for note in result.notes)
    assert result.left_open == 0


def test_a_variable_that_is_handed_on_stays_so() -> None:
    assert only("docker run -e HF_TOKEN img " + SERVER)["env"] == {"HF_TOKEN": "${HF_TOKEN}"}
    assert only("export MASTER_ADDR\n" + SERVER)["env"] == {"MASTER_ADDR": "${MASTER_ADDR}"}


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("docker run --gpus all -v /d:/m img " + SERVER, "left out: --gpus all of the container"),
        ("taskset -c 0-7 " + SERVER, "left out: taskset -c 0-7 in front of the server"),
        ("source env.sh\n" + SERVER, "env.sh is not read"),
        ("cd /srv; " + SERVER, "the script goes to /srv"),
        ("docker run --env-file x.env img " + SERVER, "x.env is not read"),
        (SERVER + "--tp ${TP:-8}", "$TP is taken as '8', its default in the script"),
        (SERVER + '"$@"', "the caller's own arguments"),
        (SERVER + "--trust-remote-code yes", "is a switch that takes no value"),
        (SERVER + "--config x.yaml", "the engine reads further settings from x.yaml"),
        (SERVER + "--port", "--port has no value"),
        (SERVER + "--port 1 --port 2", "--port is given twice: 2 counts, not 1"),
        (SERVER + "-tp 2", "-tp is read as --tp"),
        (SERVER + "--pre-warm-nccl --made-up", "--made-up is no flag of sglang 0.5.14"),
        (SERVER + "--speculative-draft d --speculative-algorithm EAGLE3", "for which it was short once"),
        (SERVER + "--speculative-draft-model-path d", "a draft without --speculative-algorithm is not run"),
        (
            "/opt/v/bin/python3 -m sglang.launch_server --model-path m",
            "render it with --python /opt/v/bin/python3",
        ),
    ],
)
def test_what_is_left_out_or_read_otherwise_is_told(command: str, says: str) -> None:
    assert [text for text in told(command) if says in text], told(command)


def test_the_version_is_that_of_the_image_or_said_to_be_missing() -> None:
    run = "docker run lmsysorg/sglang:{} " + SERVER
    for tag, version in (("v0.5.14-cu129", "0.5.14"), ("v0.5.10.post1", "0.5.10.post1"), ("0.5.9", "0.5.9")):
        text = import_text(run.format(tag), "x").text
        assert f"  version: {version}  # from the image lmsysorg/sglang:{tag}\n" in text
    for tag in ("latest", "dev", "nightly-dev-20260101"):
        assert "  # TODO: nothing says which version runs" in import_text(run.format(tag), "x").text
    assert "  version: 0.5.9\n" in import_text(run.format("latest"), "x", engine_version="0.5.9").text
    with pytest.raises(UsageError, match="latest"):
        import_text(SERVER, "x", engine_version="latest")


def test_a_flag_of_another_version_names_the_versions_that_have_it() -> None:
    assert (
        "# no flag of sglang 0.5.23; 0.5.4.post1 to 0.5.19 have it"
        in imported(SERVER + "--cuda-graph-max-bs 8", "0.5.23")[0].text
    )


def test_several_servers_become_several_deployments() -> None:
    script = """
    for PORT in 1; do sglang serve org/A --port $PORT & done
    docker run --name judge img sglang serve org/B
    sglang serve org/A --port 2
    sglang serve /cache/models--org--Deep-C/snapshots/abc --served-model-name team/Deep
    """
    _, config = imported(script)
    assert [each.name for each in config.deployments] == ["a", "judge", "a-2", "deep"]


def test_hosts_of_one_server_become_one_deployment() -> None:
    lines = [
        SERVER + f"--tp 16 --nnodes 2 --dist-init-addr 10.0.0.1:5000 --node-rank {rank}\n" for rank in (0, 1)
    ]
    found = only("".join(lines))
    assert found["parallel"] == {"tp_size": 16, "nnodes": 2}
    assert found["server"] == {"dist_init_addr": "10.0.0.1:5000"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        ("ls", "expected to launch a server"),
        ("vllm serve x", "launches vllm"),
        ("trtllm-serve x", "launches TensorRT-LLM"),
        ("python -m sgl_jax.launch_server --model-path x", "launches sglang-jax"),
        ("sglang serve 'x", "line 1: a single quote is opened and never closed"),
        ('x\nsglang serve "x', "line 2: a double quote is opened and never closed"),
        ("sglang serve $(x", "line 1: a bracket is opened and never closed"),
        ("A=(1 2\nsglang serve x", "never closed"),
        ("A=" + "x" * 1000 + ";" + "A=$A$A;" * 40 + "sglang serve $A", "grow beyond"),
        (
            "".join(f"f{n}() {{ {f'f{n + 1};' * 99} A=1; }}\n" for n in range(9)) + "f0",
            "more than 20,000 commands",
        ),
        ("f() { f; }; f; ls", "expected to launch a server"),
        ("sglang serve " + "$(" * 5000, "never closed"),
        ("eval " * 50 + "'" + "eval " * 50 + "x'", "more than 8 scripts inside each other"),
    ],
)
def test_what_cannot_be_imported_is_said_in_a_line(text: str, says: str) -> None:
    with pytest.raises(UsageError, match="launch: ") as caught:
        import_text(text, "launch")
    assert says in str(caught.value)


def test_a_large_script_is_read_in_a_moment() -> None:
    script = "export A=" + "x" * 200_000 + "\n" + "echo \\a\\b'c'\"d\"$E\n" * 20_000 + SERVER
    with pytest.raises(UsageError, match="more than 20,000 commands"):
        import_text(script + "\n" + "x\n" * 20_000, "launch")
    assert (
        "checkpoint: org/m"
        in import_text(script[:500_000].rpartition("\n")[0] + "\n" + SERVER, "launch").text
    )


def test_what_no_editor_shows_and_bash_breaks_on_is_told() -> None:
    crlf = f"set -e\r\n{SERVER} --tp 2\r\n"
    assert only(crlf)["parallel"] == {"tp_size": 2}
    assert any("lines end in CR LF" in line for line in told(crlf))
    marked = f"\ufeff{SERVER} --tp 2\n"
    assert only(marked)["parallel"] == {"tp_size": 2}
    assert any("byte order mark" in line for line in told(marked))
    for text in (f"{SERVER} --tp 2\n", "\ufeffFROM img\r\nCMD " + f"{SERVER} --tp 2\r\n"):
        assert only(text)["parallel"] == {"tp_size": 2}
        assert not any("CR LF" in line or "byte order" in line for line in told(text))
    for text in (f"[Service]\r\nExecStart=/bin/{SERVER} --tp 2\r\n",):
        assert only("\ufeff" + text)["parallel"] == {"tp_size": 2}
        assert not any("CR LF" in line or "byte order" in line for line in told("\ufeff" + text))
    service = f'services: {{a: {{image: i, command: "{SERVER} --tp 2"}}}}\r\n'
    assert only("\ufeff" + service)["parallel"] == {"tp_size": 2}
