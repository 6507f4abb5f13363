"""What exported tasks import: the parser and the metrics as other tools call them."""
