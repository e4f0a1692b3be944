"""What a server that already runs does, against its config. Read only."""
