"""NCCL's debug output, read for what it chose and took."""
