"""Entry point of the stand-in server."""

from __future__ import annotations

import os
import sys

from eaglecfg.tune import standin
from eaglecfg.tune.standin import faults
from eaglecfg.tune.standin.serve import main

if __name__ == "__main__":
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(standin.__doc__, faults.__doc__, sep="\n")  # noqa: T201 - the only thing that is not an engine's
        sys.exit(0)
    sys.exit(main(sys.argv[1:], os.environ))
