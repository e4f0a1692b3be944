"""Bounds on what is read from a checkpoint, each with its reason."""

from __future__ import annotations

MAX_CONFIG_BYTES = 8 * 1024 * 1024
"""config.json and its neighbours. The largest seen, with quantisation listed per layer, are about 1 MiB."""

MAX_TOKENIZER_BYTES = 16 * 1024 * 1024
"""tokenizer_config.json with every added token spelled out; the largest seen are about 3 MiB."""

MAX_DEPTH = 64
"""Nesting of a JSON file. Real configs stay below 12."""

MAX_INDEX_BYTES = 40 * 1024 * 1024
"""An index takes about 110 bytes per tensor: the largest known models need 23 MB."""

FIRST_READ = 128 * 1024
"""Bytes of the first read of a weight file. Nearly every header fits, so most files cost a single read."""

MAX_HEADER_BYTES = 25_000_000
"""One safetensors header. A shard of 600 tensors has 80 kB; the format itself allows 100 MB, which takes
seconds and most of a gigabyte to parse."""

FORMAT_HEADER_BYTES = 100_000_000
"""The largest header that readers of the format accept at all."""

MAX_HEADER_BYTES_TOTAL = 64_000_000
"""All headers of one checkpoint together: 600,000 tensors of ordinary names."""

MAX_REPEATED = 20
"""Keys written twice that are told apart in one file; a file that has more was made for that."""

MAX_TENSORS = 500_000
"""Tensors of one checkpoint. The largest mixtures of experts, with separate scales, have about 210,000."""

MAX_DRAFT_TENSORS = 50_000
"""Tensors of one draft. A dense layer has 15, one with 256 experts about 800, and rules look at all."""

MAX_FILES = 5_000
"""Files that one index names. Checkpoints of a terabyte have 200 to 300."""

MAX_RANK = 64
"""Dimensions of one tensor. Models use up to 5."""

MAX_MAP_ENTRIES = 4_000_000
"""Entries of d2t or t2d. The largest vocabularies have about 300,000 tokens."""

MAX_FOLDER_ENTRIES = 20_000
"""Files listed in a checkpoint folder. Real ones have a few hundred."""

MAX_OPENED = 16
"""Shards of a target that are opened for the wanted tensors; they lie in two or three."""

READ_THREADS = 8
"""Shards read at the same time: hides the latency of network file systems; local disks do not care."""

THREADS_FROM = 16
"""Fewer files than this are read one by one: starting threads costs more than they save."""

MAX_PICKLE_BYTES = 32 * 1024 * 1024
"""data.pkl of a .bin file holds names and shapes only: about 150 bytes per tensor."""

MAX_PICKLE_STEPS = 1_000_000
"""Opcodes of one data.pkl. torch writes about 40 per tensor."""

MAX_ZIP_DIRECTORY_BYTES = 16 * 1024 * 1024
"""The directory of a .bin file takes about 60 bytes per tensor."""

MAX_NAME_SHOWN = 100
"""Characters of a name from a file that a message shows."""

MAX_REF_BYTES = 256
"""refs/<branch> of a hub cache. It holds the 40 digits of a commit."""

MAX_LISTING_BYTES = 16 * 1024 * 1024
"""The hub's answer about one model. 20,000 files take about 5 MB."""

MAX_FETCHED_BYTES = 256 * 1024 * 1024
"""Everything fetched for one checkpoint with --online: config, index, headers, vocabulary maps."""

FETCH_SECONDS = 120.0
"""For everything fetched for one checkpoint. 256 headers over a slow line take half a minute."""

FETCH_THREADS = 8
"""Requests at the same time; hubs limit those who ask more."""

MAX_REMOTE_FILE = 1 << 43
"""Bytes of one remote weight file, 8 TiB. Hubs allow up to 500 GB; file systems refuse more than 16 TB."""
