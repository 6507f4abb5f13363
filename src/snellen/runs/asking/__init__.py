"""Asking: views, the ask loop and its calls, failures, resuming and replaying."""
