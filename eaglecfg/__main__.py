"""``python -m eaglecfg``."""

from eaglecfg.cli.main import main

main()
