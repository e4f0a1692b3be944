"""What this host has: GPUs, links, versions, leftovers. Read only."""
