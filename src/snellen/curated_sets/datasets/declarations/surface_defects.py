"""Datasets of surface and assembly defects."""

from snellen.curated_sets.datasets.dataset import Dataset, DatasetCard
from snellen.curated_sets.datasets.evidence import github, listing, loader
from snellen.curated_sets.datasets.formats.box_files import VocBoxes
from snellen.curated_sets.datasets.formats.mvtec import MvtecLayout

MVTEC_LICENCE = "CC BY-NC-SA 4.0"

MVTEC_AD = Dataset(
    DatasetCard(
        name="MVTec-AD",
        title="MVTec AD",
        licence=MVTEC_LICENCE,
        citation="Bergmann et al., The MVTec Anomaly Detection Dataset, IJCV 129(4), 2021",
        homepage="https://www.mvtec.com/company/research/datasets/mvtec-ad",
        layout="OBJECT/train/good, OBJECT/test/DEFECT, OBJECT/ground_truth/DEFECT/*_mask.png",
        objects=(
            "bottle", "cable", "capsule", "carpet", "grid", "hazelnut", "leather", "metal_nut", "pill", "screw",
            "tile", "toothbrush", "transistor", "wood", "zipper",
        ),
        verified="loaders",
        evidence=(
            loader(
                github("open-edge-platform/anomalib", "src/anomalib/data/datasets/image/mvtecad.py", "1c23be5ec4"),
                "The 15 objects; OBJECT/SPLIT/CLASS/NAME.png, OBJECT/ground_truth/CLASS/NAME.png or NAME_mask.png; "
                "good has no masks.",
            ),
            loader(
                github("amazon-science/patchcore-inspection", "src/patchcore/datasets/mvtec.py", "8a7748c84b"),
                "OBJECT/SPLIT/CLASS and OBJECT/ground_truth/CLASS; only the class good of test has no masks.",
            ),
        ),
    ),
    MvtecLayout(),
)  # fmt: skip

MVTEC_AD_2 = Dataset(
    DatasetCard(
        name="MVTec-AD-2",
        title="MVTec AD 2",
        licence=MVTEC_LICENCE,
        citation="Heckler-Kram et al., The MVTec AD 2 Dataset, arXiv 2503.21622, 2025",
        homepage="https://www.mvtec.com/company/research/datasets/mvtec-ad-2",
        layout="OBJECT/train/good, OBJECT/validation/good, OBJECT/test_public/{good,bad}, "
        "OBJECT/test_public/ground_truth/bad/*_mask.png (test_private has no labels)",
        objects=("can", "fabric", "fruit_jelly", "rice", "sheet_metal", "vial", "wallplugs", "walnuts"),
        verified="loaders",
        evidence=(
            loader(
                github("open-edge-platform/anomalib", "src/anomalib/data/datasets/image/mvtecad2.py", "21f7a98625"),
                "The 8 objects; train/good, validation/good, test_public/{good,bad}, "
                "test_public/ground_truth/bad/NAME_mask.png; the private test images have no labels.",
            ),
            loader(
                github("TonyLinX/MediCLIP", "data/README.md"),
                "The same folders: test_private, test_private_mixed, test_public/{bad,good,ground_truth}, "
                "train/good, validation/good.",
            ),
            loader(
                github("HUST-SLOW/RoBiS", "data/data.md"),
                "mvtec_ad_2/OBJECT/{test_private,test_private_mixed,test_public,train,validation}.",
            ),
        ),
    ),
    MvtecLayout(splits=("train", "validation", "test_public"), masks="{split}/ground_truth/{label}"),
)

MVTEC_LOCO = Dataset(
    DatasetCard(
        name="MVTec-LOCO",
        title="MVTec LOCO AD",
        licence=MVTEC_LICENCE,
        citation="Bergmann et al., Beyond Dents and Scratches, IJCV 130(4), 2022",
        homepage="https://www.mvtec.com/company/research/datasets/mvtec-loco",
        layout="OBJECT/{train,validation}/good, OBJECT/test/{good,logical_anomalies,structural_anomalies}, "
        "OBJECT/ground_truth/CLASS/NUMBER/*.png",
        objects=("breakfast_box", "juice_bottle", "pushpins", "screw_bag", "splicing_connectors"),
        verified="loaders",
        evidence=(
            loader(
                github("open-edge-platform/anomalib", "src/anomalib/data/datasets/image/mvtec_loco.py", "0aa3fc49c7"),
                "The 5 objects; SPLIT/CLASS/NAME.png, ground_truth/CLASS/NAME/000.png …, several masks per image, "
                "combined by or.",
            ),
            loader(
                github("dataset-ninja/mvtec-loco-ad", "src/convert.py", "2e20de2ba7"),
                "train/good, validation/good, test/{good,logical_anomalies,structural_anomalies}, "
                "ground_truth/CLASS/NAME/*.png; non-zero pixels mark a defect.",
            ),
        ),
    ),
    MvtecLayout(splits=("train", "validation", "test")),
)

MVTEC_3D = Dataset(
    DatasetCard(
        name="MVTec-3D",
        title="MVTec 3D-AD",
        licence=MVTEC_LICENCE,
        citation="Bergmann et al., The MVTec 3D-AD Dataset for Unsupervised 3D Anomaly Detection and Localization, "
        "VISAPP 2022",
        homepage="https://www.mvtec.com/company/research/datasets/mvtec-3d-ad",
        layout="OBJECT/{train,validation}/good/rgb, OBJECT/test/DEFECT/{rgb,gt} (the depth in xyz is not read)",
        objects=(
            "bagel", "cable_gland", "carrot", "cookie", "dowel", "foam", "peach", "potato", "rope", "tire",
        ),
        verified="loaders",
        evidence=(
            loader(
                github("open-edge-platform/anomalib", "src/anomalib/data/datasets/depth/mvtec_3d.py", "0aa3fc49c7"),
                "The 10 objects; SPLIT/CLASS/{rgb,xyz,gt}, with the same name for one image; masks only in test.",
            ),
            loader(
                github("eliahuhorwitz/3D-ADS", "data/mvtec3d.py", "f7c6b964e7"),
                "The 10 objects; OBJECT/SPLIT/CLASS/rgb/*.png, xyz/*.tiff, and gt/*.png for each class of test except "
                "good.",
            ),
        ),
    ),
    MvtecLayout(splits=("train", "validation", "test"), masks="{split}/{label}/gt", images="rgb"),
)  # fmt: skip

VISA = Dataset(
    DatasetCard(
        name="VisA",
        title="VisA (Visual Anomaly)",
        licence="CC BY 4.0",
        citation="Zou et al., SPot-the-Difference Self-Supervised Pre-training for Anomaly Detection and "
        "Segmentation, ECCV 2022",
        homepage="https://github.com/amazon-science/spot-diff",
        layout="OBJECT/Data/Images/{Normal,Anomaly}, OBJECT/Data/Masks/Anomaly (VisA.tar as unpacked)",
        objects=(
            "candle", "capsules", "cashew", "chewinggum", "fryum", "macaroni1", "macaroni2", "pcb1", "pcb2", "pcb3",
            "pcb4", "pipe_fryum",
        ),
        notes="Two classes per object; the kinds of flaws in image_anno.csv are not read.",
        verified="listing",
        evidence=(
            listing(
                github("amazon-science/spot-diff", "README.md", "1e31eb5240"),
                "12 objects with their counts (10,821 images), normal and anomalous ones in folders Normal and "
                "Anomaly; the licence.",
            ),
            listing(
                github("amazon-science/spot-diff", "split_csv/1cls.csv", "6dbf63c1f0"),
                "Paths of all files: pipe_fryum/Data/Images/Anomaly/098.JPG, pipe_fryum/Data/Masks/Anomaly/098.png.",
            ),
            listing(
                github("amazon-science/spot-diff", "utils/prepare_data.py", "e1429125db"),
                "In a mask, every non-zero pixel is marked.",
            ),
        ),
    ),
    MvtecLayout(splits=("Data/Images",), masks="Data/Masks/{label}", unmarked=("Normal",)),
)  # fmt: skip

BTAD = Dataset(
    DatasetCard(
        name="BTAD",
        title="BTAD (beanTech Anomaly Detection)",
        citation="Mishra et al., VT-ADL: A Vision Transformer Network for Image Anomaly Detection and Localization, "
        "ISIE 2021",
        homepage="http://avires.dimi.uniud.it/papers/btad/btad.zip",
        layout="{01,02,03}/train/ok, {01,02,03}/test/{ok,ko}, {01,02,03}/ground_truth/ko in BTech_Dataset_transformed",
        objects=("01", "02", "03"),
        verified="loaders",
        evidence=(
            loader(
                github("open-edge-platform/anomalib", "src/anomalib/data/datasets/image/btech.py", "0aa3fc49c7"),
                "Objects 01, 02, 03; SPLIT/{ok,ko}, images .bmp or .png, ground_truth/CLASS/NAME.png; ok is "
                "without defect.",
            ),
            loader(
                github("M-3LAB/open-iad", "dataset/btad.py", "54ef14063b"),
                "Objects 01, 02, 03; images .bmp or .png, masks of 03 .bmp.",
            ),
            loader(
                github("DonaldRR/SimpleNet", "datasets/btad.py", "15f87c5b42"),
                "OBJECT/SPLIT/CLASS and OBJECT/ground_truth/CLASS.",
            ),
        ),
        caveat="The loaders differ in the format of the masks of 03: they are found by name without suffix.",
    ),
    MvtecLayout(unmarked=("ok",)),
)

GOODS_AD = Dataset(
    DatasetCard(
        name="GoodsAD",
        title="PKU-GoodsAD",
        citation="Zhang et al., PKU-GoodsAD: A Supermarket Goods Dataset for Unsupervised Anomaly Detection and "
        "Segmentation, IEEE RA-L 9(3), 2024",
        homepage="https://github.com/jianzhang96/GoodsAD",
        layout="OBJECT/train/good, OBJECT/test/DEFECT, OBJECT/ground_truth/DEFECT (as MVTec AD)",
        objects=("cigarette_box", "drink_bottle", "drink_can", "food_bottle", "food_box", "food_package"),
        verified="listing",
        evidence=(
            listing(
                github("jianzhang96/GoodsAD", "README.md", "3634130426"),
                "The 6 objects, with good and defective images counted for each (6,124); the format is that of "
                "MVTec AD.",
            ),
        ),
        caveat="That masks are named as in MVTec AD follows from the format, but is not stated.",
    ),
    MvtecLayout(),
)

ISP_AD = Dataset(
    DatasetCard(
        name="ISP-AD",
        title="ISP-AD (Industrial Screen Printing)",
        citation="Krassnig and Gruber, ISP-AD: A Large-Scale Real-World Dataset for Advancing Industrial Anomaly "
        "Detection with Synthetic and Real Defects, arXiv 2503.04997, 2025",
        homepage="https://huggingface.co/datasets/p4ulk/ISP-AD",
        layout="supervised_MODALITY/train/defects, supervised_MODALITY/test/{good,defects}, of one modality or several",
        verified="assumed",
        evidence=(
            listing(
                "https://huggingface.co/datasets/p4ulk/ISP-AD",
                "559,049 images of three modalities in 256 and 512 pixels, synthetic and real defects; no folder "
                "is named.",
            ),
            loader(
                github(
                    "SharmaShivani12/ispad-anomaly-segmentation",
                    "deeplabv3-training-on-isp-ad-asm-shivani.ipynb",
                    "99d4ac1e44",
                ),
                "supervised_ASM/train/defects, supervised_ASM/test/defects (N_area_asm.png), supervised_ASM/test/good "
                "(1,916 images); 199,991 synthetic patches in supervised_ASM/train/syn_train_asm.hdf5.",
            ),
        ),
        caveat="One publisher of code was found instead of two; it reads one modality, ASM. HDF5 files and the kinds "
        "of defects in file names are not read. Of images in two sizes, both are read.",
    ),
    MvtecLayout(masks=""),
)

ITD = Dataset(
    DatasetCard(
        name="ITD",
        title="ITD (Industrial Textile Dataset)",
        citation="Thomine and Snoussi, Distillation-based fabric anomaly detection, Textile Research Journal "
        "94(5-6), 2023",
        homepage="https://github.com/SimonThomine/IndustrialTextileDataset",
        layout="TYPE/train/good, TYPE/test/{good,anomaly}; no masks",
        objects=(
            "type1cam1", "type2cam2", "type3cam1", "type4cam2", "type5cam2", "type6cam2", "type7cam2", "type8cam1",
            "type9cam2", "type10cam2",
        ),
        verified="listing",
        evidence=(
            listing(
                github("SimonThomine/IndustrialTextileDataset", "README.md", "092905b9aa"),
                "The 10 types with their counts; TYPE/train/good, TYPE/test/{anomaly,good}, img1.png …; no masks.",
            ),
        ),
    ),
    MvtecLayout(masks=""),
)  # fmt: skip

NEU_DET = Dataset(
    DatasetCard(
        name="NEU-DET",
        title="NEU-DET (NEU surface defects of hot-rolled steel)",
        citation="Wu, NEU-DET, IEEE DataPort, 2024",
        homepage="https://dx.doi.org/10.21227/j84r-f770",
        layout="IMAGES/*.jpg and ANNOTATIONS/*.xml in Pascal VOC form, or train and validation folders of both: "
        "images and annotations are paired by name",
        labels=("crazing", "inclusion", "patches", "pitted_surface", "rolled-in_scale", "scratches"),
        verified="loaders",
        evidence=(
            loader(
                github(
                    "siddhartamukherjee/NEU-DET-Steel-Surface-Defect-Detection",
                    "ANNOTATIONS/scratches_100.xml",
                    "4bab6b2550",
                ),
                "A copy of the files: ANNOTATIONS/*.xml and IMAGES/*.jpg with the same names. A box across an "
                "image of 200 pixels runs from 1 to 200: pixels count from 1 and the last one is included.",
            ),
            loader(
                github("Buster-maker/neural-architecture-search", "README.md"),
                "1,800 images of six kinds of defects, one folder of images and one of annotations in Pascal VOC form.",
            ),
        ),
    ),
    VocBoxes("steel strip"),
)
