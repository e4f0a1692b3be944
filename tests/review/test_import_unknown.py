"""Exit code 0 means that every value of the launch stands in the file: what depends on more is a TODO."""

from __future__ import annotations

import pytest

from tests.review.imported import imported, only

RUN = "python3 -m sglang.launch_server --model-path org/m "


@pytest.mark.parametrize(
    ("script", "todo"),
    [
        # words that may hold flags
        (RUN + "$EXTRA", "${EXTRA} is not known here: it may hold flags"),
        (RUN + '"${EXTRA[@]}"', "it may hold flags"),
        (RUN + "${S:+--speculative-algorithm EAGLE3} --tp 2", "it may hold flags"),
        (RUN + "${S+--trust-remote-code}", "it may hold flags"),
        (RUN + "--trust-remote-code $EXTRA", "it may hold flags"),
        (RUN + "$(cat flags)", "it may hold flags"),
        (RUN + '"$@"', "the caller's own arguments"),
        (RUN + "$*", "the caller's own arguments"),
        (RUN + "--port ${PORT+1234}", "${PORT+1234} is not known here"),
        (RUN + "'--tp 8'", "belongs to no flag"),
        ("ARGS=(--tp 2); [ -n x ] && ARGS+=(--port 1); " + RUN + '"${ARGS[@]}"', "it may hold flags"),
        ("ARGS=(--tp 2); if x; then ARGS+=(--port 1); fi; " + RUN + '"${ARGS[@]}"', "it may hold flags"),
        ('A="--tp 2"; if x; then A="$A --port 1"; fi; ' + RUN + "$A", "it may hold flags"),
        ('A="--tp 2"; [ x ] && A+=" --port 1"; ' + RUN + "$A", "it may hold flags"),
        # the environment under a condition
        ("if x; then export NCCL_PROTO=LL; fi; " + RUN, "the condition under which NCCL_PROTO is set"),
        ("case $X in a) export NCCL_PROTO=LL;; esac; " + RUN, "the condition under which NCCL_PROTO"),
        ("case $X in (a|b) export NCCL_PROTO=LL;; (*) ;; esac; " + RUN, "the condition under which"),
        ("for i in 1 2; do export NCCL_PROTO=LL; done; " + RUN, "the condition under which NCCL_PROTO"),
        ('[ -n "$F" ] && export NCCL_PROTO=LL; ' + RUN, "the condition under which NCCL_PROTO"),
        ('[ -n "$F" ] && x && export NCCL_PROTO=LL; ' + RUN, "the condition under which NCCL_PROTO"),
        ("lspci | grep -q H100 && export NCCL_PROTO=LL; " + RUN, "the condition under which NCCL_PROTO"),
        ("nvidia-smi topo -m && export NCCL_PROTO=LL; " + RUN, "the condition under which NCCL_PROTO"),
        ("[ x ] && { export NCCL_PROTO=LL; }; " + RUN, "the condition under which NCCL_PROTO"),
        ("f() { export NCCL_PROTO=LL; }; [ x ] && f; " + RUN, "the condition under which NCCL_PROTO"),
        ("f() { [ x ] && return; export NCCL_PROTO=LL; }; f; " + RUN, "the condition under which NCCL_PROTO"),
        ("f() { if x; then return; fi; export NCCL_PROTO=LL; }; f; " + RUN, "the condition under which"),
        (
            "export NCCL_PROTO=LL; [ -z x ] || unset NCCL_PROTO; " + RUN,
            "the condition under which NCCL_PROTO",
        ),
        ("export NCCL_PROTO=LL; if x; then unset NCCL_PROTO; fi; " + RUN, "the condition under which"),
        ("export NCCL_PROTO=LL; if x; then NCCL_PROTO=Simple; fi; " + RUN, "the condition under which"),
        ("if x; then NCCL_PROTO=LL; fi; export NCCL_PROTO; " + RUN, "the condition under which NCCL_PROTO"),
        ("read NCCL_PROTO < f; export NCCL_PROTO; " + RUN, "what read puts into NCCL_PROTO"),
        ("[ x ] && set -a; A=1; " + RUN, "set -a stands under a condition"),
        ("export A=1; sudo " + RUN, "whether sudo keeps it"),
        # values that are not followed
        ("TP=2; ((TP+=2)); " + RUN + "--tp $TP", "arithmetic"),
        ("TP=2; let TP+=2; " + RUN + "--tp $TP", "arithmetic"),
        ("TP=2; (( TP++ )); " + RUN + "--tp $TP", "arithmetic"),
        ("for ((TP=1; TP<3; TP++)); do " + RUN + "--tp $TP; done", "TP"),
        ("declare -i TP=1+1; " + RUN + "--tp $TP", "TP is not known"),
        (RUN + "--cuda-graph-bs {1..4}", "{1..4}"),
        (RUN + "--served-model-name {a,b}", "{a,b}"),
        ("python3 -m sglang.launch_server --model-path /models/llama*", "/models/llama*"),
        ("IFS=,; A=1,2; " + RUN + "--cuda-graph-bs $A", "1,2"),
        ("PORT=1; for i in a b; do " + RUN + "--port $PORT; PORT=$((PORT+1)); done", "PORT is not known"),
        ("f() { while x; do shift; done; " + RUN + "--tp $1; }; f 1 2", "1 is not known"),
        # files that are not read
        ("source env.sh; " + RUN, "env.sh is not read"),
        (". ./env.sh; " + RUN, "./env.sh is not read"),
        ("docker run --env-file p.env img " + RUN, "p.env is not read"),
        ("docker run -e $C img " + RUN, "${C} names variables of the container"),
        ("docker run $OPTS img " + RUN, "${OPTS} may hold options of the container"),
        ("docker exec -d c " + RUN, "has in its environment"),
        (RUN + "--config c.yaml", "c.yaml: let the path lead to that file"),
        ("eval $(cat x); " + RUN, "eval runs"),
        ("xargs -I{} " + RUN + "--port {} < ports", "xargs adds words"),
        ("docker-compose run x " + RUN, "has in its environment"),
        ("docker compose run x " + RUN, "has in its environment"),
        ("export A=1; su - me -c '" + RUN + "'", "whether su keeps it"),
        ("sh -c exec " + RUN, "a shell with -c runs its first word alone"),
    ],
)
def test_what_depends_on_something_unknown_is_a_todo(script: str, todo: str) -> None:
    result, _ = imported(script)
    assert result.left_open > 0
    assert any(todo in line for line in result.text.split("\n") if "# TODO: " in line), result.text
    assert any(note.todo and todo in note.text for note in result.notes) or "# TODO: " + todo in result.text


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("f() { m=$1; shift; " + RUN + "--port $1 --tp $2; }; f /m/a 30000 4", {"port": 30000, "tp": 4}),
        ("f() { shift 2; " + RUN + '"$@"; }; f a b --port 30000 --tp 4', {"port": 30000, "tp": 4}),
        ("f() { " + RUN + '"${@:2}"; }; f a --port 1 --tp 4', {"port": 1, "tp": 4}),
        ('set -- --port 1; set -- "$@" --tp 4; ' + RUN + '"$@"', {"port": 1, "tp": 4}),
        ("f() { local TP=9; }; TP=4; f; " + RUN + "--tp $TP --port 1", {"port": 1, "tp": 4}),
        ("f() { local TP=9; " + RUN + "--tp $TP --port 1; }; TP=4; f", {"port": 1, "tp": 9}),
        ("set -a; A=1; set +a; TP=4; " + RUN + "--tp $TP --port 1", {"port": 1, "tp": 4, "env": {"A": "1"}}),
        ("TP=4; echo x | TP=8; " + RUN + "--tp $TP --port 1", {"port": 1, "tp": 4}),
        ("TP=4; TP=8 & " + RUN + "--tp $TP --port 1", {"port": 1, "tp": 4}),
        ("TP=4; (TP=8); " + RUN + "--tp $TP --port 1", {"port": 1, "tp": 4}),
        ("TP=4; { TP=8; } | tee x; " + RUN + "--tp $TP --port 1", {"port": 1, "tp": 4}),
        ("TP=4; cat f | while read x; do TP=8; done; " + RUN + "--tp $TP --port 1", {"port": 1, "tp": 4}),
        ("export A=1 B=2; env -u A " + RUN + "--tp 4 --port 1", {"port": 1, "tp": 4, "env": {"B": "2"}}),
        ("export A=1; env -i B=2 " + RUN + "--tp 4 --port 1", {"port": 1, "tp": 4, "env": {"B": "2"}}),
        ("export A=1; sudo -E " + RUN + "--tp 4 --port 1", {"port": 1, "tp": 4, "env": {"A": "1"}}),
        ("S=3; " + RUN + "--tp $((S + 1)) --port $((2 * (S - 1) / 3 % 5))", {"port": 1, "tp": 4}),
        ("unset TP; " + RUN + "--tp ${TP:-4} --port 1", {"port": 1, "tp": 4}),
        ("unset X; " + RUN + "--tp 4 --port 1 ${X:+--trust-remote-code}", {"port": 1, "tp": 4}),
        ("X=1; " + RUN + "--tp 4 ${X:+--port $X}", {"port": 1, "tp": 4}),
        ("f() { case $1 in a) P=1;; esac; }\nf a\n" + RUN + "--tp 4 --port 1", {"port": 1, "tp": 4}),
        (RUN + "--tp 4 --port 1\nexit 0\n" + RUN + "--tp 8", {"port": 1, "tp": 4}),
        ("exec " + RUN + "--tp 4 --port 1\n" + RUN + "--tp 8", {"port": 1, "tp": 4}),
        ("[ x ] || { echo no >&2; exit 1; }\n" + RUN + "--tp 4 --port 1", {"port": 1, "tp": 4}),
        (
            "mkdir -p x && cd x && export A=1\n" + RUN + "--tp 4 --port 1",
            {"port": 1, "tp": 4, "env": {"A": "1"}},
        ),
        ("source /v/bin/activate\n" + RUN + "--tp 4 --port 1", {"port": 1, "tp": 4}),
        ("docker run -eNCCL_P=1 -itp1:1 --rm=true img " + RUN + "--tp 4 --port 1", {"port": 1, "tp": 4}),
        ('sbatch --wrap="' + RUN + '--tp 4 --port 1"', {"port": 1, "tp": 4}),
        ("export A=1; ssh h '" + RUN + "--tp 4 --port 1'", {"port": 1, "tp": 4}),
    ],
)
def test_what_a_shell_does_for_certain_is_read_as_it_does(script: str, found: dict[str, object]) -> None:
    result, _ = imported(script)
    assert result.left_open == 0, result.text
    one = only(script)
    assert one["parallel"]["tp_size"] == found["tp"]
    assert one["server"] == {"port": found["port"]}
    assert one.get("env") == found.get("env")


@pytest.mark.parametrize(
    "script",
    [
        RUN + "${X:+--api-key hunter2hunter2}",
        RUN + "--api-key ${KEY:-hunter2hunter2}",
        RUN + "--api-key hunter2hunter2 --api-key hunter2hunter2",
        RUN + "'--api-key hunter2hunter2'",
        "docker run ${X:+-e HF_TOKEN=hunter2hunter2} img " + RUN,
        "docker run -e HF_TOKEN=hunter2hunter2$X --label password=hunter2hunter2 img " + RUN,
        "wrap --token hunter2hunter2 " + RUN,
        "export HF_TOKEN=${HF_TOKEN:-hunter2hunter2}; " + RUN,
        "[ x ] && export HF_TOKEN=hunter2hunter2; " + RUN,
        "export U=http://me:hunter2hunter2@h/$X; " + RUN,
        RUN + "--chat-template http://me:hunter2hunter2@h/$X",
        RUN + "--chat-template $(curl http://me:hunter2hunter2@h/)",
    ],
)
def test_what_is_not_known_shows_no_secret(script: str) -> None:
    result, _ = imported(script)
    assert "hunter2" not in result.text
    assert not [note.text for note in result.notes if "hunter2" in note.text]


def test_the_known_part_of_a_list_that_grows_under_a_condition_stays() -> None:
    words = RUN.removeprefix("python3 ")
    script = f"A=({words} --tp 2)\nif x; then A+=(--port 1); fi\n"
    script += 'python3 "${A[@]}" --mem-fraction-static 0.8'
    one = only(script)
    assert one["target"] == {"checkpoint": "org/m"}
    assert one["parallel"] == {"tp_size": 2}
    assert one["server"] == {"mem_fraction_static": 0.8}


@pytest.mark.parametrize(
    "line",
    [
        f'echo "{RUN}"',
        f"echo {RUN}",
        f"printf '%s\\n' '{RUN}'",
        f"pkill -f '{RUN}' || true",
        f"sudo pkill -f '{RUN}'",
        f'pgrep -f "{RUN}" && exit 1',
        f'ps aux | grep "{RUN}"',
        f'kill $(pgrep -f "{RUN}")',
        f'test "$X" = "{RUN}"',
        f'[ "$X" = "{RUN}" ] && y',
        f'if [[ "$X" == "{RUN}" ]]; then y; fi',
        f"trap '{RUN}' EXIT",
        f"alias serve='{RUN}'",
        f': "{RUN}"',
        f'log "{RUN}"',
        f'log() {{ echo "$*"; }}; log {RUN}',
        f"ssh host \"pkill -f '{RUN}'\"",
        f"curl -d '{RUN}' http://h",
        f"cat <<EOF\n{RUN}\nEOF",
        f'case "$X" in *"{RUN}"*) y;; esac',
        f"X='{RUN}'",
    ],
)
def test_a_launch_that_is_only_spoken_of_is_none(line: str) -> None:
    _, config = imported(f"{line}\nsglang serve org/real --tp 2")
    assert [each.model.target.checkpoint for each in config.deployments] == ["org/real"]
