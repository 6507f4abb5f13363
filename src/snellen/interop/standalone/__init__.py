"""Modules that exports take with them, together with the parser and the metrics they import."""
