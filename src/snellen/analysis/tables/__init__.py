"""Tables, sections and plots that reports are made of, from the view of one run."""
