"""What each engine version accepts, defaults to, rewrites and captures: facts as data, functions on top."""
