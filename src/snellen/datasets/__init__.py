"""Real datasets on the user's disk: records of labelled pictures (`SOURCES`), scenes with all they hold (`SCENES`)."""

from snellen.core.registry import Registry
from snellen.datasets.reading import Source
from snellen.datasets.scene_reading import SceneSource

_HERE = "snellen.datasets.declarations"

SOURCES: Registry[Source] = Registry(
    "source",
    {
        "MVTec-AD": f"{_HERE}.manufacture:MVTEC_AD",
        "MVTec-AD-2": f"{_HERE}.manufacture:MVTEC_AD_2",
        "MVTec-LOCO": f"{_HERE}.manufacture:MVTEC_LOCO",
        "MVTec-3D": f"{_HERE}.manufacture:MVTEC_3D",
        "VisA": f"{_HERE}.manufacture:VISA",
        "BTAD": f"{_HERE}.manufacture:BTAD",
        "GoodsAD": f"{_HERE}.manufacture:GOODS_AD",
        "ISP-AD": f"{_HERE}.manufacture:ISP_AD",
        "ITD": f"{_HERE}.manufacture:ITD",
        "NEU-DET": f"{_HERE}.manufacture:NEU_DET",
        "WFDD": f"{_HERE}.e_commerce:WFDD",
        "AITEX": f"{_HERE}.e_commerce:AITEX",
        "Product1M": f"{_HERE}.e_commerce:PRODUCT1M",
        "Products-10K": f"{_HERE}.e_commerce:PRODUCTS_10K",
        "SceneryWatermark": f"{_HERE}.e_commerce:SCENERY_WATERMARK",
        "RiceImage": f"{_HERE}.e_commerce:RICE_IMAGE",
        "Fabrics": f"{_HERE}.e_commerce:FABRICS",
        "ImageExposures": f"{_HERE}.e_commerce:IMAGE_EXPOSURES",
        "ClothingAttributesDataset": f"{_HERE}.e_commerce:CLOTHING_ATTRIBUTES",
        "Rice-Leaf-Disease": f"{_HERE}.agriculture:RICE_LEAF_DISEASE",
        "TomatoLeaf": f"{_HERE}.agriculture:TOMATO_LEAF",
        "COD10K": f"{_HERE}.agriculture:COD10K",
        "CAMO": f"{_HERE}.agriculture:CAMO",
        "NC4K": f"{_HERE}.agriculture:NC4K",
        "25-Indian-Bird": f"{_HERE}.agriculture:INDIAN_BIRD",
        "EPLID": f"{_HERE}.agriculture:EPLID",
        "V2-Plant-Seedlings": f"{_HERE}.agriculture:PLANT_SEEDLINGS",
        "MeatDataset": f"{_HERE}.agriculture:MEAT",
        "GMAI-MMBench": f"{_HERE}.medical:GMAI_MMBENCH",
        "MSD-Brain": f"{_HERE}.medical:MSD_BRAIN",
        "MSD-Spleen": f"{_HERE}.medical:MSD_SPLEEN",
    },
)
"""The datasets of VFM Bench, Table 5 (33 rows, 31 distinct ones)."""

SCENES: Registry[SceneSource] = Registry(
    "source of scenes",
    {
        "LVIS": f"{_HERE}.things:LVIS",
        "Objects365": f"{_HERE}.things:OBJECTS365",
        "iNaturalist-2021": f"{_HERE}.things:INATURALIST",
        "DIOR": f"{_HERE}.things:DIOR",
        "CARPK": f"{_HERE}.things:CARPK",
        "CrowdHuman": f"{_HERE}.things:CROWD_HUMAN",
        "VSCrowd": f"{_HERE}.things:VS_CROWD",
        "FSC-147": f"{_HERE}.things:FSC_147",
        "KITTI": f"{_HERE}.things:KITTI",
        "NYU-Depth-V2": f"{_HERE}.questions:NYU_DEPTH",
        "VQAv2": f"{_HERE}.questions:VQA_V2",
        "COCO-Text": f"{_HERE}.questions:COCO_TEXT",
        "IIIT5K": f"{_HERE}.questions:IIIT5K",
        "TextVQA": f"{_HERE}.questions:TEXT_VQA",
        "EgoOrientBench": f"{_HERE}.questions:EGO_ORIENT",
        "CURE-OR": f"{_HERE}.questions:CURE_OR",
        "DTD": f"{_HERE}.classes:DTD",
        "Kylberg": f"{_HERE}.classes:KYLBERG",
        "KTH-TIPS": f"{_HERE}.classes:KTH_TIPS",
        "KTH-TIPS2-b": f"{_HERE}.classes:KTH_TIPS2_B",
        "AID": f"{_HERE}.classes:AID",
        "Places434": f"{_HERE}.classes:PLACES",
        "RAF-DB": f"{_HERE}.classes:RAF_DB",
        "ExpW": f"{_HERE}.classes:EXPW",
        "CUB-200-2011": f"{_HERE}.classes:CUB",
        "FGVC-Aircraft": f"{_HERE}.classes:AIRCRAFT",
        "Moments-in-Time": f"{_HERE}.classes:MOMENTS",
    },
)
"""The datasets of AVA-Bench: the 26 of Table 2 and appendix A.2, and VSCrowd, which it cites for crowds."""
