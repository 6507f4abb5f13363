"""One declaration a dataset. Licences are written where the dataset's own page says them, else `UNKNOWN`.

Names of objects and classes, and so folders, are the datasets' own.
"""

UNKNOWN = "unknown: see homepage"
MVTEC_LICENCE = "CC BY-NC-SA 4.0"
