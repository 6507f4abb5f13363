"""The datasets of VFM Bench with their values in Tables 5 and 7."""

from __future__ import annotations

from collections.abc import Mapping

from snellen.curated_sets.datasets.declarations.nature import OPEN
from snellen.suites.vfm_bench.class_images import DatasetRow, Sources

IN_BOTH = "Table 7 also counts some of its objects as E-commerce, without naming them; here all are Manufacture."
NOT_IN_TABLE_7 = "In Table 5 but not in Table 7: the level is that of the datasets with the same layout."
INDUSTRY_OPEN = "Table 5 gives no industry; Table 7 lists it under E-commerce."
ONE_CLASS = "Table 7 has two classes where the dataset has one."


LENT: Sources = {("COD10K", OPEN): ("CAMO", "NC4K")}
"""By (source, class): sources that have only the opposite class and borrow this one (Table 7 has two classes there)."""
ROW_OF_DATASET: Mapping[str, DatasetRow] = {
    "MVTec-AD": DatasetRow("Manufacture", "detail", 5354, IN_BOTH),
    "MVTec-AD-2": DatasetRow("Manufacture", "detail", 5174, IN_BOTH),
    "MVTec-LOCO": DatasetRow("Manufacture", "detail", 3644),
    "MVTec-3D": DatasetRow("Manufacture", "detail", 4147, NOT_IN_TABLE_7),
    "VisA": DatasetRow("Manufacture", "object", 10821),
    "BTAD": DatasetRow("Manufacture", "pattern", 2830),
    "GoodsAD": DatasetRow("Manufacture", "detail", 6124, NOT_IN_TABLE_7),
    "ISP-AD": DatasetRow(
        "Manufacture", "detail", 559049, "Table 5 has 3 objects (the modalities LSM-1, LSM-2, ASM) of 3 classes."
    ),
    "ITD": DatasetRow("Manufacture", "detail", 5868),
    "NEU-DET": DatasetRow("Manufacture", "pattern", 1800),
    "WFDD": DatasetRow("E-commerce", "detail", 444, INDUSTRY_OPEN),
    "AITEX": DatasetRow("E-commerce", "detail", 247, INDUSTRY_OPEN),
    "Product1M": DatasetRow("E-commerce", "pattern", 1182083),
    "Products-10K": DatasetRow("E-commerce", "pattern", 150000),
    "SceneryWatermark": DatasetRow("E-commerce", "pattern", 22783),
    "RiceImage": DatasetRow("E-commerce", "pattern", 75000),
    "Fabrics": DatasetRow("E-commerce", "pattern", 7885),
    "ImageExposures": DatasetRow("E-commerce", "style", 1000),
    "ClothingAttributesDataset": DatasetRow("E-commerce", "style", 1856),
    "Rice-Leaf-Disease": DatasetRow("Agriculture", "detail", 120),
    "TomatoLeaf": DatasetRow("Agriculture", "detail", 11000),
    "COD10K": DatasetRow("Agriculture", "pattern", 10000),
    "CAMO": DatasetRow("Agriculture", "pattern", 1250, ONE_CLASS),
    "NC4K": DatasetRow("Agriculture", "pattern", 4121, ONE_CLASS),
    "25-Indian-Bird": DatasetRow(
        "Agriculture", "pattern", 22620, "Table 7 has three groups of its species, without naming them."
    ),
    "EPLID": DatasetRow("Agriculture", "pattern", 3588),
    "V2-Plant-Seedlings": DatasetRow("Agriculture", "pattern", 5539),
    "MeatDataset": DatasetRow("Agriculture", "pattern", 365),
    "GMAI-MMBench": DatasetRow(
        "Medical",
        "pattern",
        26000,
        "Table 7 has 100 objects on three levels, without a rule that distinguishes them; here all records have "
        "the level with the most queries.",
    ),
    "MSD-Brain": DatasetRow("Medical", "detail", 750),
    "MSD-Spleen": DatasetRow("Medical", "detail", 61, "Table 7 has three classes that no page describes."),
}
"""Rows by name of `snellen.curated_sets.datasets.DATASETS`: 33 rows of Table 5, 31 distinct datasets."""
