"""Datasets of surface and assembly defects, counted to Manufacture."""

from snellen.datasets.declarations import MVTEC_LICENCE, UNKNOWN
from snellen.datasets.formats.mvtec import MvtecLayout
from snellen.datasets.formats.voc import VocBoxes
from snellen.datasets.reading import Source, SourceCard

IN_BOTH = "Table 7 counts some of its objects to E-commerce too, without saying which; here all are Manufacture."
NOT_IN_TABLE_7 = "In Table 5 but not in Table 7: the level is that of the datasets with the same layout."

MVTEC_AD = Source(
    SourceCard(
        name="MVTec-AD",
        title="MVTec AD",
        industry="Manufacture",
        level="detail",
        licence=MVTEC_LICENCE,
        citation="Bergmann et al., The MVTec Anomaly Detection Dataset, IJCV 129(4), 2021",
        homepage="https://www.mvtec.com/company/research/datasets/mvtec-ad",
        layout="OBJECT/train/good, OBJECT/test/DEFECT, OBJECT/ground_truth/DEFECT/*_mask.png (readme of the archive)",
        pictures=5354,
        objects=(
            "bottle", "cable", "capsule", "carpet", "grid", "hazelnut", "leather", "metal_nut", "pill", "screw",
            "tile", "toothbrush", "transistor", "wood", "zipper",
        ),
        notes=IN_BOTH,
    ),
    MvtecLayout(),
)  # fmt: skip

MVTEC_AD_2 = Source(
    SourceCard(
        name="MVTec-AD-2",
        title="MVTec AD 2",
        industry="Manufacture",
        level="detail",
        licence=MVTEC_LICENCE,
        citation="Heckler-Kram et al., The MVTec AD 2 Dataset, arXiv 2503.21622, 2025",
        homepage="https://www.mvtec.com/company/research/datasets/mvtec-ad-2",
        layout="OBJECT/train/good, OBJECT/validation/good, OBJECT/test_public/{good,bad}, "
        "OBJECT/test_public/ground_truth/bad/*_mask.png (readme of the archive; test_private has no labels)",
        pictures=5174,
        objects=("can", "fabric", "fruit_jelly", "rice", "sheet_metal", "vial", "wallplugs", "walnuts"),
        notes=IN_BOTH,
    ),
    MvtecLayout(splits=("train", "validation", "test_public"), masks="{split}/ground_truth/{label}"),
)

MVTEC_LOCO = Source(
    SourceCard(
        name="MVTec-LOCO",
        title="MVTec LOCO AD",
        industry="Manufacture",
        level="detail",
        licence=MVTEC_LICENCE,
        citation="Bergmann et al., Beyond Dents and Scratches, IJCV 130(4), 2022",
        homepage="https://www.mvtec.com/company/research/datasets/mvtec-loco",
        layout="OBJECT/{train,validation}/good, OBJECT/test/{good,logical_anomalies,structural_anomalies}, "
        "OBJECT/ground_truth/CLASS/NUMBER/*.png (readme of the archive)",
        pictures=3644,
        objects=("breakfast_box", "juice_bottle", "pushpins", "screw_bag", "splicing_connectors"),
    ),
    MvtecLayout(splits=("train", "validation", "test")),
)

MVTEC_3D = Source(
    SourceCard(
        name="MVTec-3D",
        title="MVTec 3D-AD",
        industry="Manufacture",
        level="detail",
        licence=MVTEC_LICENCE,
        citation="Bergmann et al., The MVTec 3D-AD Dataset for Unsupervised 3D Anomaly Detection and Localization, "
        "VISAPP 2022",
        homepage="https://www.mvtec.com/company/research/datasets/mvtec-3d-ad",
        layout="OBJECT/{train,validation}/good/rgb, OBJECT/test/DEFECT/{rgb,gt} (readme of the archive; the depth in "
        "xyz is not read)",
        pictures=4147,
        objects=(
            "bagel", "cable_gland", "carrot", "cookie", "dowel", "foam", "peach", "potato", "rope", "tire",
        ),
        notes=NOT_IN_TABLE_7,
    ),
    MvtecLayout(splits=("train", "validation", "test"), masks="{split}/{label}/gt", pictures="rgb"),
)  # fmt: skip

VISA = Source(
    SourceCard(
        name="VisA",
        title="VisA (Visual Anomaly)",
        industry="Manufacture",
        level="object",
        licence="CC BY 4.0",
        citation="Zou et al., SPot-the-Difference Self-Supervised Pre-training for Anomaly Detection and "
        "Segmentation, ECCV 2022",
        homepage="https://github.com/amazon-science/spot-diff",
        layout="OBJECT/Data/Images/{Normal,Anomaly}, OBJECT/Data/Masks/Anomaly (VisA.tar as unpacked, homepage)",
        pictures=10821,
        objects=(
            "candle", "capsules", "cashew", "chewinggum", "fryum", "macaroni1", "macaroni2", "pcb1", "pcb2", "pcb3",
            "pcb4", "pipe_fryum",
        ),
        notes="Two classes an object, as Table 7 has them; the kinds of flaws in image_anno.csv are not read.",
    ),
    MvtecLayout(splits=("Data/Images",), masks="Data/Masks/{label}", unmarked=("Normal",)),
)  # fmt: skip

BTAD = Source(
    SourceCard(
        name="BTAD",
        title="BTAD (beanTech Anomaly Detection)",
        industry="Manufacture",
        level="pattern",
        licence=UNKNOWN,
        citation="Mishra et al., VT-ADL: A Vision Transformer Network for Image Anomaly Detection and Localization, "
        "ISIE 2021",
        homepage="http://avires.dimi.uniud.it/papers/btad/btad.zip",
        layout="{01,02,03}/train/ok, {01,02,03}/test/{ok,ko}, {01,02,03}/ground_truth/ko (the archive as loaders "
        "read it: BTech_Dataset_transformed)",
        pictures=2830,
        objects=("01", "02", "03"),
    ),
    MvtecLayout(unmarked=("ok",)),
)

GOODS_AD = Source(
    SourceCard(
        name="GoodsAD",
        title="PKU-GoodsAD",
        industry="Manufacture",
        level="detail",
        licence=UNKNOWN,
        citation="Zhang et al., PKU-GoodsAD: A Supermarket Goods Dataset for Unsupervised Anomaly Detection and "
        "Segmentation, IEEE RA-L 9(3), 2024",
        homepage="https://github.com/jianzhang96/GoodsAD",
        layout="OBJECT/train/good, OBJECT/test/DEFECT, OBJECT/ground_truth/DEFECT (as MVTec AD, homepage)",
        pictures=6124,
        objects=("cigarette_box", "drink_bottle", "drink_can", "food_bottle", "food_box", "food_package"),
        notes=NOT_IN_TABLE_7,
    ),
    MvtecLayout(),
)

ISP_AD = Source(
    SourceCard(
        name="ISP-AD",
        title="ISP-AD (Industrial Screen Printing)",
        industry="Manufacture",
        level="detail",
        licence=UNKNOWN,
        citation="Krassnig and Gruber, ISP-AD: A Large-Scale Real-World Dataset for Advancing Industrial Anomaly "
        "Detection with Synthetic and Real Defects, arXiv 2503.04997, 2025",
        homepage="https://huggingface.co/datasets/p4ulk/ISP-AD",
        layout="MODALITY/train/good, MODALITY/test/CLASS, MODALITY/ground_truth/CLASS (assumed: as MVTec AD; the "
        "folders of the archive are described on no page we know)",
        pictures=559049,
        notes="Table 5 has 3 objects (the modalities LSM-1, LSM-2, ASM) of 3 classes.",
    ),
    MvtecLayout(),
)

ITD = Source(
    SourceCard(
        name="ITD",
        title="ITD (Industrial Textile Dataset)",
        industry="Manufacture",
        level="detail",
        licence=UNKNOWN,
        citation="Thomine and Snoussi, Distillation-based fabric anomaly detection, Textile Research Journal "
        "94(5-6), 2023",
        homepage="https://github.com/SimonThomine/IndustrialTextileDataset",
        layout="TYPE/train/good, TYPE/test/{good,anomaly}; no masks (homepage)",
        pictures=5868,
        objects=(
            "type1cam1", "type2cam2", "type3cam1", "type4cam2", "type5cam2", "type6cam2", "type7cam2", "type8cam1",
            "type9cam2", "type10cam2",
        ),
    ),
    MvtecLayout(masks=""),
)  # fmt: skip

NEU_DET = Source(
    SourceCard(
        name="NEU-DET",
        title="NEU-DET (NEU surface defects of hot-rolled steel)",
        industry="Manufacture",
        level="pattern",
        licence=UNKNOWN,
        citation="Wu, NEU-DET, IEEE DataPort, 2024",
        homepage="https://dx.doi.org/10.21227/j84r-f770",
        layout="IMAGES/*.jpg and ANNOTATIONS/*.xml in the form of Pascal VOC, or train and validation folders of "
        "both: pictures and annotations are paired by their names",
        pictures=1800,
        labels=("crazing", "inclusion", "patches", "pitted_surface", "rolled-in_scale", "scratches"),
    ),
    VocBoxes("steel strip"),
)
