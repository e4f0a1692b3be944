"""eaglecfg checks and tunes EAGLE-3 speculative decoding deployments on SGLang."""

__version__ = "0.1.0"
