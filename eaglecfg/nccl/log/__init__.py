"""NCCL's own log: what NCCL took from its environment, and what it chose for which message."""
