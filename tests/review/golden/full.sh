#!/bin/sh
# Written by eaglecfg render: change eaglecfg.yaml and render again rather than editing this.
# deployment: "full", engine: sglang "0.5.14"
# Relative paths count from the folder of eaglecfg.yaml: run it there.
set -eu
[ -e ../drafts/kimi-k2.5-eagle3 ] || echo 'there is no ../drafts/kimi-k2.5-eagle3 here: relative paths count from the folder of eaglecfg.yaml' >&2
: "${SGLANG_API_KEY:?is not set, and eaglecfg never writes its value}"
export HF_TOKEN="${HF_TOKEN:?is not set, and eaglecfg never writes its value}"
export NCCL_P2P_LEVEL=SYS
export NCCL_PROTO=LL
export NOTE='no: #1 $HOME'
export OMP_NUM_THREADS=1
exec python3 -m sglang.launch_server \
  --model-path /data/kimi-k2.5 \
  --tp-size 8 \
  --speculative-draft-model-path ../drafts/kimi-k2.5-eagle3 \
  --speculative-algorithm EAGLE3 \
  --speculative-eagle-topk 1 \
  --speculative-num-draft-tokens 3 \
  --speculative-num-steps 2 \
  --served-model-name 'it'"'"'s $5 "a" day' \
  --mem-fraction-static 0.85 \
  --cuda-graph-bs 1 2 4 \
  --json-model-override-args '{"rope_theta": 50000.0}' \
  --api-key="$SGLANG_API_KEY" \
  --trust-remote-code \
  --port 8000
