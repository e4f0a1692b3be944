#!/bin/sh
# What `make demo` runs. $1: the eaglecfg command, $2: the Python that has it.
set -eu
eaglecfg=$1 python=$2
cd "$(dirname "$0")/.."
say() { printf '\n\033[1m== %s\033[0m\n\n' "$*"; }

say "1/4  The example deployment, wired as trained"
"$eaglecfg" validate eaglecfg.yaml --deployment tiny

say "2/4  A faulty sibling: same weights, capture ids written in another convention"
"$python" examples/faulty_sibling.py .eaglecfg/demo/sibling
if "$eaglecfg" validate .eaglecfg/demo/sibling/eaglecfg.yaml; then
    echo "the fault was not caught" >&2
    exit 1
fi

say "3/4  Kimi-K2.5 shapes: same files, before and after an engine upgrade"
"$python" examples/kimi-k2.5/make_files.py
"$eaglecfg" validate examples/kimi-k2.5/before.yaml
if "$eaglecfg" validate examples/kimi-k2.5/after-upgrade.yaml; then
    echo "the fault was not caught" >&2
    exit 1
fi

say "4/4  Tuning the example: real launches, timed, on this CPU"
"$eaglecfg" tune studies/quickstart.yaml --out .eaglecfg/demo/study
