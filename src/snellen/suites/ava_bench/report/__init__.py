"""AVA-Bench: report sections for the paper's tables and figures."""
