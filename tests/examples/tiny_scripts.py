"""Makes the scripts beside the tiny pair importable for its tests."""

from __future__ import annotations

import sys
from pathlib import Path

TINY = Path(__file__).resolve().parents[2] / "examples" / "tiny"
if str(TINY) not in sys.path:
    sys.path.insert(0, str(TINY))
