"""A server that only pretends: SGLang's dialect, numbers from a formula, faults on demand. Standard library
only.

``python -m eaglecfg.tune.standin --port N [any SGLang flag] [--fault NAME[:ARG][?SETTING=VALUE]] ...``
tests the tuner without a model or a GPU. ``model`` holds the formula, ``faults`` the faults.
"""
