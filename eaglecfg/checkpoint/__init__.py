"""Facts about a checkpoint from its files: config.json, safetensors headers, vocabulary maps. Never weights."""
