"""Typed models of eaglecfg.yaml and of study files; pydantic_core checks shape only, relations are rules."""
