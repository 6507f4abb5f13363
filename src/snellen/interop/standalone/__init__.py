"""Modules that are copied into exports, with the parser and the metrics that they import."""
