"""`snellen tower`: training heads on vision towers, comparing towers, and the models that ComBo trains."""
