"""ComBo: the report's sections."""
