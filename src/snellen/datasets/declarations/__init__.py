"""One declaration a dataset. Licences are written where the dataset's own page says them, else `UNKNOWN`.

Names of objects and classes, and so folders, are the datasets' own. Industries and levels are those of Table 7 of VFM
Bench, numbers of pictures those of Table 5.
"""

UNKNOWN = "unknown: see homepage"
MVTEC_LICENCE = "CC BY-NC-SA 4.0"
