"""One declaration per dataset. Licences are given if the dataset's own page states them, else `UNKNOWN`.

Names of objects and classes, and so of folders, are the datasets' own.
"""

UNKNOWN = "unknown: see homepage"
MVTEC_LICENCE = "CC BY-NC-SA 4.0"
