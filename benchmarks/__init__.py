"""Measurements that hold the promises of speed: each prints a table and exits 1 when a bar is missed."""
