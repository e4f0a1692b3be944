"""A Report turned into text, concise lines or JSON. No domain logic."""
