#!/bin/sh
# Written by eaglecfg render: change eaglecfg.yaml and render again rather than editing this.
# deployment: "plain", engine: sglang "0.5.14"
set -eu
exec python3 -m sglang.launch_server \
  --model-path org/model \
  --revision 1.10
