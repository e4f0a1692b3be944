"""The command line. click lives only here."""
