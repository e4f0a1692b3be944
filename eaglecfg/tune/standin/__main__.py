"""Entry point of the stand-in server."""

from __future__ import annotations

import os
import sys

from eaglecfg.tune.standin.serve import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
