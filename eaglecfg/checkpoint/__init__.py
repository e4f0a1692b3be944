"""Facts about a checkpoint from its files: config.json, tensor headers, vocabulary maps. Never weights."""
