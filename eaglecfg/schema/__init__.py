"""Typed models of eaglecfg.yaml and of study files; pydantic checks shape only, relations are rules."""
