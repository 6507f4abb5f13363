"""Specialized models for comparison (appendix E, Table 4): what they learn from, and that none of it is tested."""
