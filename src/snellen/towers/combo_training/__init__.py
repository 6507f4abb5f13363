"""Training data for ComBo's specialized models (appendix E, Table 4), disjoint from the test items."""
