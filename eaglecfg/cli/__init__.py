"""The command line. click lives only here."""

import gc

# For the start-up time, which a pre-deploy check pays at every call: collecting garbage while modules load
# finds none. Here, so that it holds while click loads.
gc.set_threshold(50_000)
