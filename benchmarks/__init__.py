"""Measurements that hold the promises of speed; each script prints a table and exits 1 when a bar is missed."""
