"""NCCL: facts by version, exact grammars of its variables, and what the engine makes of them."""
