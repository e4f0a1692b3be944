"""Scripts read as bash runs them: what is imported without a TODO is what a stub of the server gets."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.engines.table import load_facts
from eaglecfg.review.imports.flags import read_flags
from eaglecfg.review.imports.text import Text
from tests.review.imported import imported

BASH = shutil.which("bash")
FACTS = load_facts("sglang", "0.5.14")
R = "python3 -m sglang.launch_server --model-path org/m "
WATCHED = ("A", "B", "X", "TP")

# Each line is one script. Several start the server more than once, or under a condition that bash decides.
CASES = [
    "TP=2\nwhile getopts t: o; do case $o in t) TP=9;; esac; done\n" + R + "--tp ${TP}",
    "if true; then case a in a) TP=3;; esac; fi; TP=2; " + R + "--tp $TP",
    "f() { " + R + '"$@"; }; f; f --tp 2',
    "f() { " + R + '--tp "$1" "${@:2}"; }; f 2',
    "A=(); " + R + '"${A[@]}" --tp 2',
    "A=; " + R + '--tp 2 --served-model-name "$A"',
    "f() { " + R + '--tp 2 "$*"; }; f --port',
    'A=; bash -c "unset A; ' + R + '--served-model-name x\\\\$A"',
    "TP=2; TP=8 eval '" + R + "--tp $TP'",
    'A=x; bash -c "' + R + '--served-model-name \\\\$A"',
    'A=x; bash -c "' + R + "--served-model-name '$A'\"",
    "TP=2; bash -c '" + R + "--tp $1 --port $2' x 4 5",
    "TP=2\nif false; then TP=4; fi\n" + R + "--tp $TP",
    "TP=2; while false; do TP=3; done; " + R + "--tp $TP",
    "until true; do TP=3; done; TP=1; " + R + "--tp $TP",
    'X="--tp 2"; ' + R + '"$X"',
    "X=; " + R + "$X --tp 2",
    "X=(1 2 3); " + R + "--tp ${X[1]}",
    "X=(1 2 3); " + R + "--tp ${#X[@]}",
    "X=abc; " + R + "--served-model-name ${X^^}",
    "X=abc; " + R + "--served-model-name ${X/b/c} --port ${#X}",
    "X=abc; " + R + "--served-model-name ${X:1}",
    "X=abc; Y=X; " + R + "--served-model-name ${!Y}",
    "declare -A M; M[a]=3; " + R + "--tp ${M[a]}",
    "X=(1 2); X[1]=5; " + R + "--tp ${X[1]}",
    "X=(1 2); X[0]=5; " + R + "--tp $X",
    "TP=1\nTP=2 true\n" + R + "--tp $TP",
    "export A=1; A=2; " + R,
    "A=1; export -n A; " + R,
    "export A=1; export -n A; " + R,
    "export A=1; declare +x A; " + R,
    "export A=1; unset -v A; " + R,
    "f() { export A=1; }; f; " + R,
    "f() { local A=1; export A; " + R + "; }; f",
    "f() { local -x A=1; " + R + "; }; f",
    "f() ( A=2; " + R + "--tp $A ); A=1; f; ",
    "f() { TP=3; }; TP=2; (f); " + R + "--tp $TP",
    "f() { TP=3; }; TP=2; f | cat; " + R + "--tp $TP",
    "f() { TP=3; }; TP=2; X=$(f); " + R + "--tp $TP",
    "f() { g; }; g() { TP=$1; }; TP=2; f 5; " + R + '--tp "$TP"',
    "f() { set -- 7 8; " + R + "--tp $1; }; f 1",
    "A=1; readonly A; export A; " + R,
    'export A="a\nb"; ' + R,
    'export "A=1"; ' + R,
    "N=A; export $N=5; " + R,
    'eval "TP=3"; ' + R + "--tp $TP",
    "eval TP=3 X=4; " + R + "--tp $TP --port $X",
    "TP=3 eval '" + R + "--tp $TP'",
    "A=1 bash -c '" + R + "--tp $A'",
    "export A=1; bash -c '" + R + "--tp $A'",
    "A=1; bash -c '" + R + "--tp ${A:-9}'",
    "bash -c '" + R + "--tp $1' x 5",
    "A=1 env B=2 " + R,
    "export A=1; env A=2 " + R,
    "export A=1; A=3 env -u A " + R,
    "export A=1; command " + R,
    "set -a\n. /dev/null\nTP=3\nset +a\nX=1\n" + R + "--tp $TP",
    "set -o allexport; TP=3; set +o allexport; X=1; " + R + "--tp $TP",
    "for TP in 4; do " + R + "--tp $TP; done",
    "TP=2; for TP in 4; do :; done; " + R + "--tp $TP",
    "TP=1; printf -v TP 5; " + R + "--tp $TP",
    "TP=1; read TP <<< 5; " + R + "--tp $TP",
    "TP=1; IFS=, read -r TP X <<< 5,6; " + R + "--tp $TP",
    "TP=1; mapfile -t TP < /dev/null; " + R + "--tp $TP",
    "TP=1; { TP=2; }; " + R + "--tp $TP",
    "TP=1; { TP=2; } & " + R + "--tp $TP",
    "TP=1; true && TP=2 & wait; " + R + "--tp $TP",
    "TP=1; ! TP=2; " + R + "--tp $TP",
    "TP=1; time TP=2; " + R + "--tp $TP",
    "TP=1; [ 1 = 2 ] || TP=2; " + R + "--tp $TP",
    "TP=1; false || true && TP=2; " + R + "--tp $TP",
    "TP=$((2+2)); TP=$((TP*2)); " + R + "--tp $TP",
    "TP=$((010)); " + R + "--tp $TP",
    "TP=$((5/2)) P=$((-5/2)) Q=$((-5%3)); " + R + '--tp $TP --port "$P$Q"',
    "TP=$((2**3)); " + R + "--tp $TP",
    "TP=$((1?2:3)); " + R + "--tp $TP",
    "TP=$[1+1]; " + R + "--tp $TP",
    "A=5; TP=$((A++)); " + R + "--tp $A",
    "A=5; TP=$((A=3)); " + R + "--tp $A",
    ": ${A:=7}; " + R + "--tp $A",
    ': "${A:=7}"; export A; ' + R,
    "A=; : ${A:=7}; " + R + "--tp $A",
    "A=; " + R + "--tp ${A-9}",
    "A=; " + R + '--served-model-name "${A:-9 8}"',
    R + '--served-model-name "${A:-"x y"}"',
    R + "--served-model-name ${A:-$((1+2))}",
    R + '--served-model-name "${A:-a}${B:-b}"',
    R + "--served-model-name 'it'\\''s'",
    R + '--served-model-name "a\\"b\\\\c\\$d"',
    R + "--served-model-name a\\ b",
    R + "--served-model-name $'a\\tb'",
    R + '--served-model-name "a`echo b`"',
    R + "--served-model-name a#b # c",
    R + '--served-model-name "#b"',
    R + "--tp 2 2>&1 >/dev/null </dev/null; ",
    R + "--tp 2 &>/dev/null; " + R + "--tp 3",
    "TP=2; [[ $TP == 2 ]] && TP=3; " + R + "--tp $TP",
    "TP=2; if ((TP==2)); then TP=3; fi; " + R + "--tp $TP",
    "select x in a; do break; done </dev/null; TP=1; " + R + "--tp $TP",
    "A=1\nfunction f() { A=2\n}\nf\n" + R + "--tp $A",
    "function f { A=2; }; A=1; f; " + R + "--tp $A",
    "f() { return; A=2; }; A=1; f; " + R + "--tp $A",
    "f() { A=2; return 0; A=3; }; A=1; f; " + R + "--tp $A",
    "f() { if true; then A=2; return; fi; A=3; }; A=1; f; " + R + "--tp $A",
    "f() { shift; echo; }; f 1 2; " + R + "--tp 1",
    'f() { local a="$1" b="${2:-5}"; ' + R + "--tp $a --port $b; }; f 1",
    "f() { local a; a=$1; " + R + "--tp $a; }; a=9; f 1; " + R + "--tp $a",
    "f() { " + R + '--tp ${1} "${@:2:1}"; }; f 1 --disable-radix-cache 3',
    "f() { " + R + "--tp $# ; }; f 1 2",
    'f() { local args=("$@"); ' + R + '"${args[@]:1}"; }; f x --tp 2',
    "ARGS=(); ARGS+=(--tp 2); " + R + '"${ARGS[@]}"',
    "ARGS=(); if true; then ARGS+=(--tp 2); fi; " + R + '"${ARGS[@]}"',
    'ARGS=(--tp 2); ARGS=("${ARGS[@]}" --port 3); ' + R + '"${ARGS[@]}"',
    'ARGS=(--tp 2); unset "ARGS[0]"; ' + R + '"${ARGS[@]}"',
    'TP=2; trap "TP=3" EXIT; ' + R + "--tp $TP",
    'TP=2; alias x="TP=3"; ' + R + "--tp $TP",
    "TP=2; coproc TP=3; " + R + "--tp $TP",
    "cd / && TP=3; " + R + "--tp $TP",
    "echo a && TP=3; " + R + "--tp $TP",
    "test -d /nope && TP=3; " + R + "--tp ${TP:-1}",
    "TP=1; pushd / >/dev/null; TP=2; popd >/dev/null; " + R + "--tp $TP",
    "A=1; A+=2; " + R + "--tp $A",
    "A=1; export A+=2; " + R,
    "A=1; B=$A A=2; " + R + "--tp $B --port $A",
    "A=a; case $A in a) TP=2;; *) TP=3;; esac; " + R + "--tp $TP",
    "A=a; case $A in\n  a|b)\n TP=2\n ;;\nesac\n" + R + "--tp ${TP:-1}",
    "x() { case $1 in start) " + R + "--tp 2 ;; stop) pkill x ;; esac; }; x start",
    "exit_code=0; TP=2; " + R + "--tp $TP || exit $exit_code",
    "if [ 1 = 2 ]; then exit; fi; " + R + "--tp 2",
    "while true; do " + R + "--tp 2; break; done; " + R + "--tp 3",
    "TP=2; until " + R + "--tp $TP; do TP=3; done",
    'cat <<< "TP=3"; TP=2; ' + R + "--tp $TP",
    "TP=2; cat <<EOF >/dev/null\n$(TP=3)\nEOF\n" + R + "--tp $TP",
    "TP=2; source <(echo TP=3); " + R + "--tp $TP",
    "A=1; export A; f() { unset A; }; f; " + R,
    "A=1; export A; f() { local A; unset A; }; f; " + R,
    "A=~/x; " + R + '--tp 1 --served-model-name "$A"',
    'A="~/x"; ' + R + "--tp 1 --served-model-name $A",
    'A="a*b"; ' + R + "--served-model-name $A",
    'A="--tp 2   --port 3"; ' + R + "$A",
    "A=\"--served-model-name 'a b'\"; " + R + "$A --tp 2",
    "A=$(echo 2); " + R + "--tp $A",
    "A=2 B=$A; " + R + "--tp $B",
    "A=x; unset -f A; " + R + "--served-model-name $A",
    "{ " + R + "--tp 2; } 2>&1 | cat",
    "A=1 B=2 ; export A B; " + R,
    "typeset -x A=1; " + R,
    "[ -f /nope ] && . /nope; " + R + "--tp 2",
    "nohup " + R + "--tp 2 2>/dev/null",
    'PYTHON="python3 -m"; $PYTHON sglang.launch_server --model-path org/m --tp 2',
    'CMD=(python3 -m sglang.launch_server); "${CMD[@]}" --model-path org/m --tp 2',
    'CMD="python3 -m sglang.launch_server"; CMD="$CMD --model-path org/m"; exec $CMD --tp 2',
    "getopts x: o; TP=2; " + R + "--tp $TP",
    "wait; A=1; export A & " + R,
]

STUB = """#!/bin/sh
printf '%s\\0' ARGV "$@" >> "$STUB_OUT"
for name in A B X TP; do
  eval "test -n \\"\\${$name+x}\\"" && eval "printf '%s\\0' \\"ENV:$name=\\$$name\\"" >> "$STUB_OUT"
done
printf 'END\\0' >> "$STUB_OUT"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a python3 that writes down how it was started."""
    path = tmp_path_factory.mktemp("bin")
    (path / "python3").write_text(STUB)
    (path / "python3").chmod(0o755)
    return path


def started(script: str, folder: Path) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """(settings, watched variables) of each start of the server by bash."""
    out = folder / "out"
    out.write_bytes(b"")
    subprocess.run(
        [str(BASH)],
        input=script.encode(),
        env={"PATH": f"{folder}:{os.defpath}", "STUB_OUT": str(out), "HOME": "/root"},
        cwd=folder,
        capture_output=True,
        timeout=10,
    )
    found = []
    for block in out.read_text().split("END\0")[:-1]:
        words = block.split("\0")[1:-1]
        read = read_flags([Text(word) for word in words[2:] if not word.startswith("ENV:")], FACTS)
        settings = {name: one.value for name, one in read.settings.items()}
        settings["model_path"] = settings.get("model_path", "")
        found.append(
            (settings, dict(word[4:].split("=", 1) for word in words if word.startswith("ENV:")))  # type: ignore[misc]
        )
    return found


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize("script", CASES)
def test_nothing_is_imported_otherwise_than_bash_starts_it(script: str, folder: Path) -> None:
    result, config = imported(script)
    if result.left_open:
        return  # it says that it does not know
    got = []
    for each in config.deployments:
        settings: dict[str, Any] = {"model_path": each.model.target.checkpoint, **each.model.server}
        settings |= each.model.parallel.model_dump(exclude_unset=True)
        got.append((settings, {name: text for name, text in each.model.env.items() if name in WATCHED}))
    wanted = started(script, folder)
    assert wanted
    assert [one for one in wanted if one not in got] == []
    assert [one for one in got if one not in wanted] == []


def test_most_of_what_bash_starts_for_certain_is_imported() -> None:
    known = sum(imported(script)[0].left_open == 0 for script in CASES)
    assert known > len(CASES) // 2
