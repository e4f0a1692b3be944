"""A timed all-reduce at the message sizes of a deployment."""
