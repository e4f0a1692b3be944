"""Rules whose failure explains many others; a rule names them in its ``follows``."""

from __future__ import annotations

NO_EAGLE3 = ("EC501", "EC503", "EC508", "EC510")
"""The draft will not run as an EAGLE-3 draft: another algorithm, or a target that captures nothing."""

OTHER_DRAFT = ("EC502", "EC504", "EC505", "EC506", "EC507")
"""The draft's class is not one that this engine version builds as an EAGLE-3 draft."""

UNLOADABLE = (*NO_EAGLE3, *OTHER_DRAFT)
"""No state is captured for this draft at all, so that ids, widths and tensor names do not matter yet."""
