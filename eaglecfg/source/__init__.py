"""YAML text to plain data, with a place in the text for every key and value. Knows no domain word."""
