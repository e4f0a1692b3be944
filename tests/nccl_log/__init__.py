"""NCCL's own log."""
