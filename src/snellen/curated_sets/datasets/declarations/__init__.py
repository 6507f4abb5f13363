"""One declaration per dataset. Names of objects and classes, and so of folders, are the datasets' own."""
