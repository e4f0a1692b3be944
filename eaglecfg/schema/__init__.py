"""Typed models of eaglecfg.yaml and of study files; they check shape only, relations are rules."""
