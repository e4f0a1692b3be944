"""Existing launches (commands, scripts, compose files, manifests, running servers) to an eaglecfg.yaml."""
