"""A few pixels in the layout of every dataset of labelled images, as path -> bytes, each with its origin."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import nibabel
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
from PIL import Image

from snellen.curated_sets.datasets.declarations import goods, surface_defects

Files = dict[str, bytes]
SIZE = (8, 6)
MARKS = ("no_watermark", "watermark")


def image(name: str, size: tuple[int, int] = SIZE) -> bytes:
    """An image in the format of its file name, different for every name."""
    rng = np.random.default_rng(int(hashlib.sha256(name.encode()).hexdigest()[:8], 16))
    buffer = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)).save(buffer, kind(name))
    return buffer.getvalue()


def kind(name: str) -> str:
    return {"jpg": "JPEG", "jpeg": "JPEG", "bmp": "BMP"}.get(name.rpartition(".")[2].lower(), "PNG")


def mask(*box: int, size: tuple[int, int] = SIZE, value: int = 255) -> bytes:
    """Grey, `value` inside [x1, y1, x2, y2)."""
    values = np.zeros((size[1], size[0]), np.uint8)
    if box:
        values[box[1] : box[3], box[0] : box[2]] = value
    buffer = io.BytesIO()
    Image.fromarray(values).save(buffer, "PNG")
    return buffer.getvalue()


def write(root: Path, files: Mapping[str, bytes], *, backwards: bool = False) -> Path:
    for name in sorted(files, reverse=backwards):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[name])
    return root


def image_files(*names: str) -> Files:
    return {name: image(name) for name in names}


def mvtec_ad() -> Files:
    # Bergmann et al. 2021, section 3, and readme.txt of mvtec_anomaly_detection.tar.xz
    files = Files()
    for name in surface_defects.MVTEC_AD.card.objects:
        base = f"mvtec_anomaly_detection/{name}"
        files |= image_files(f"{base}/train/good/000.png", f"{base}/test/good/000.png", f"{base}/test/hole/000.png")
        files[f"{base}/ground_truth/hole/000_mask.png"] = mask(1, 2, 4, 5)
    return files


def mvtec_ad_2() -> Files:
    # readme of mvtec_ad_2.tar.gz; the same tree is in the readme of hust-slow/RoBiS
    files = Files()
    for name in surface_defects.MVTEC_AD_2.card.objects:
        base = f"mvtec_ad_2/{name}"
        files |= image_files(
            f"{base}/train/good/000_regular.png",
            f"{base}/validation/good/001_regular.png",
            f"{base}/test_public/good/000_regular.png",
            f"{base}/test_public/bad/000_overexposed.png",
            f"{base}/test_private/000_regular.png",
        )
        files[f"{base}/test_public/ground_truth/bad/000_overexposed_mask.png"] = mask(0, 0, 2, 2)
    return files


def mvtec_loco() -> Files:
    # Bergmann et al. 2022 and readme.txt of the archive: one folder of masks per image, one mask per defect
    files = Files()
    for name in surface_defects.MVTEC_LOCO.card.objects:
        test, truth = f"{name}/test", f"{name}/ground_truth"
        files |= image_files(f"{name}/train/good/000.png", f"{name}/validation/good/000.png", f"{test}/good/000.png")
        files |= image_files(f"{test}/logical_anomalies/000.png", f"{test}/structural_anomalies/000.png")
        files[f"{truth}/logical_anomalies/000/000.png"] = mask(1, 1, 2, 2, value=247)
        files[f"{truth}/logical_anomalies/000/001.png"] = mask(5, 3, 7, 6, value=248)
        files[f"{truth}/structural_anomalies/000/000.png"] = mask(0, 0, 1, 1)
    return files


def mvtec_3d() -> Files:
    # readme.txt of mvtec_3d_anomaly_detection.tar.xz: rgb, xyz and gt side by side
    files = Files()
    for name in surface_defects.MVTEC_3D.card.objects:
        for inner in ("train/good", "validation/good", "test/good", "test/crack"):
            files |= image_files(f"{name}/{inner}/rgb/000.png")
            files[f"{name}/{inner}/xyz/000.tiff"] = b"depth"
        files[f"{name}/test/good/gt/000.png"] = mask()
        files[f"{name}/test/crack/gt/000.png"] = mask(2, 2, 3, 3)
    return files


def visa() -> Files:
    # VisA.tar as github.com/amazon-science/spot-diff (prepare_data.py) reads it: JPG and PNG masks of 0 and 1, 2, …
    files: Files = {"split_csv/1cls.csv": b"object,split,label,image,mask\n"}
    for name in surface_defects.VISA.card.objects:
        base = f"{name}/Data"
        files |= image_files(*(f"{base}/Images/Normal/{n}.JPG" for n in ("0000", "0001")))
        files |= image_files(f"{base}/Images/Anomaly/000.JPG")
        files[f"{base}/Masks/Anomaly/000.png"] = mask(3, 1, 5, 2, value=2)
        files[f"{name}/image_anno.csv"] = b"image,label,mask\n"
    return files


def btad() -> Files:
    # btad.zip as anomalib and others read it; product 01 in BMP
    files = Files()
    for name, suffix in (("01", "bmp"), ("02", "png"), ("03", "bmp")):
        base = f"BTech_Dataset_transformed/{name}"
        files |= image_files(*(f"{base}/{inner}/0000.{suffix}" for inner in ("train/ok", "test/ok", "test/ko")))
        files[f"{base}/ground_truth/ko/0000.png"] = mask(1, 1, 3, 3)
    return files


def like_mvtec(objects: tuple[str, ...], suffix: str, truth: str) -> Files:
    files = Files()
    for name in objects:
        files |= image_files(*(f"{name}/{inner}/000.{suffix}" for inner in ("train/good", "test/good", "test/opened")))
        if truth:
            files[f"{name}/ground_truth/opened/{truth}"] = mask(1, 1, 3, 3)
    return files


def itd() -> Files:
    # github.com/SimonThomine/IndustrialTextileDataset, section "Utilisation": no masks
    files = Files()
    for name in surface_defects.ITD.card.objects:
        files |= image_files(
            f"{name}/train/good/img1.png", f"{name}/test/good/img1.png", f"{name}/test/anomaly/img1.png"
        )
    return files


VOC = """<annotation><filename>{name}.jpg</filename><object><name>{label}</name><bndbox><xmin>2</xmin><ymin>1</ymin>
<xmax>4</xmax><ymax>3</ymax></bndbox></object><object><name>{label}</name><bndbox><xmin>5</xmin><ymin>2</ymin>
<xmax>8</xmax><ymax>6</ymax></bndbox></object></annotation>"""


def neu_det() -> Files:
    # IMAGES and ANNOTATIONS as in NEU-DET.zip of the authors' page; Pascal VOC, Everingham et al. 2010
    files = Files()
    for label in surface_defects.NEU_DET.card.labels:
        files |= image_files(f"NEU-DET/IMAGES/{label}_1.jpg")
        files[f"NEU-DET/ANNOTATIONS/{label}_1.xml"] = VOC.format(name=f"{label}_1", label=label).encode()
    return files


def aitex() -> Files:
    # aitex.es/afid: nnnn_ddd_ff.png and nnnn_ddd_ff_mask.png; some masks come in two files
    files = image_files("Defect_images/0001_002_00.png", *(f"NODefect_images/2306881-210020u/{n}.png" for n in "12"))
    files["Mask_images/0001_002_00_mask1.png"] = mask(0, 0, 1, 1)
    files["Mask_images/0001_002_00_mask2.png"] = mask(6, 4, 8, 6)
    return files


def product1m() -> Files:
    # github.com/zhanxlin/Product1M: id#####title#####url#####url#####product#;#product
    def line(number: int, *products: str) -> str:
        url = f"https://example.org/{number}.jpg"
        return f"{number}#####title, with comma#####{url}#####{url}#####{'#;#'.join(products)}"

    single = [line(n, f"牌子 product {n}", f"牌子 product {n}") for n in range(50)]
    several = line(50, "牌子 product 1", "牌子 product 2")
    return {
        **image_files(*(f"images/{n}.jpg" for n in range(52))),
        "product1m_dev_ossurl_v2.txt": "\n".join([*single, several]).encode(),
        "product1m_test_ossurl_v2.txt": f"{line(51, '牌子 product 1')}\n".encode(),
    }


def products_10k() -> Files:
    # train.csv and test_kaggletest.csv of the release (arXiv 2008.10545): name,class,group
    rows = "\n".join(f"{n}.jpg,{n},{n // 48}" for n in range(49))
    return {
        **image_files(*(f"train/{n}.jpg" for n in range(49)), "test/0.jpg"),
        "train.csv": f"name,class,group\n{rows}\n".encode(),
        "test_kaggletest.csv": b"name,class,group\n0.jpg,0,0\n",
    }


def folders(*names: str) -> Files:
    """Two images in each folder except the last, which has one."""
    return image_files(*(f"{name}/{n}.jpg" for name in names for n in "12"[: 1 if name == names[-1] else 2]))


def fabrics() -> Files:
    # elliswmartin/fabric, 0_preprocess.ipynb: of each sample images under several lights
    samples = (("Cotton", 1), ("Cotton", 2), ("Wool", 1), ("Unclassified", 1))
    return image_files(*(f"Fabrics/{name}/{n}/im_{n}.png" for name, n in samples))


def scenery() -> Files:
    # huggingface.co/datasets/qwertyforce/scenery_watermarks: the features in its README, the names of its files
    files = Files()
    for number in range(2):
        table = pa.table({"image": [{"bytes": image(f"{number}{name}")} for name in MARKS], "label": [0, 1]})
        features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": list(MARKS)}}
        about, buffer = json.dumps({"info": {"features": features}}), io.BytesIO()
        pq.write_table(table.replace_schema_metadata({"huggingface": about}), buffer)
        files[f"data/train-0000{number}-of-00002-ab1be11dcc36e61f.parquet"] = buffer.getvalue()
    return files


def exposures() -> Files:
    # SICE: Dataset_Part1/SCENE/1.JPG … and Dataset_Part1/Label/SCENE.JPG (Cai et al. 2018)
    files = image_files(*(f"Dataset_Part1/1/{n}.JPG" for n in range(1, 6)), "Dataset_Part1/Label/1.JPG")
    return files | image_files(*(f"Dataset_Part2/10/{n}.PNG" for n in range(1, 11)), "Dataset_Part2/Label/10.PNG")


def clothing() -> Files:
    # 26 files ATTRIBUTE_GT.mat, each with a column GT (Chen et al. 2012; loaders of the release)
    files = image_files(*(f"images/00000{n}.jpg" for n in (1, 2, 3)))
    colours, patterns = ("black", "blue", "white"), ("pattern_solid", "pattern_spot")
    for attribute in goods.CLOTHING_ATTRIBUTES.reader.attributes:  # type: ignore[attr-defined]
        for name in attribute.files:
            rows = [1.0, 2.0, float("nan")] if len(attribute.files) == 1 else [1.0, 1.0, 1.0]
            if name in (*colours, *patterns):  # 1: one colour, one pattern; 2: two of each; 3: unknown
                rows = [2.0 if name in ("black", "pattern_solid") else 1.0, 2.0, float("nan")]
            buffer = io.BytesIO()
            scipy.io.savemat(buffer, {"GT": np.array(rows)[:, None]})  # type: ignore[arg-type]  # it takes open files too
            files[f"labels/{name}_GT.mat"] = buffer.getvalue()
    return files


def gmai_rows() -> list[dict[str, str]]:
    """Columns of GMAI-MMBench_VAL.tsv as its readme and VLMEvalKit name them."""
    cells = [base64.b64encode(image(f"{n}.png")).decode() for n in range(3)]
    about = {"category": "Disease Diagnosis", "clinical VQA task": "Disease Diagnosis", "department": "Dermatology",
             "perceptual granularity": "Image Level", "modality": "Dermoscopy"}  # fmt: skip
    options = {"A": "nevus", "B": "melanoma", "C": "keratosis", "D": "", "E": ""}
    return [
        {"index": "0", "image": cells[0], "question": 'What is\n"this"?', **options, "answer": "B", **about},
        {"index": "1", "image": cells[1], "question": "And this?", **options, "answer": "A", **about},
        {"index": "2", "image": "0", "question": "Again?", **options, "answer": "B", **about},
        {"index": "3", "image": cells[2], "question": "Who knows?", **options, "answer": "", **about},
    ]


def gmai() -> Files:
    import csv

    buffer = io.StringIO()
    rows = gmai_rows()
    writer = csv.DictWriter(buffer, list(rows[0]), delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return {"GMAI-MMBench_VAL.tsv": buffer.getvalue().encode()}


def volume(values: np.ndarray, affine: np.ndarray | None = None) -> bytes:
    image = nibabel.Nifti1Image(values, np.eye(4) if affine is None else affine)  # type: ignore[no-untyped-call]
    return gzip.compress(image.to_bytes(), mtime=0)


def brain_labels() -> np.ndarray:
    """12 x 10 x 6 voxels, right-anterior-superior: slice 1 edema, 2 mostly non-enhancing, 3 less of edema, 4 enhancing
    and more edema than slice 1 has, but less of it."""
    labels = np.zeros((12, 10, 6), np.uint8)
    labels[2:8, 3:9, 1] = 1
    labels[4:9, 4:9, 2], labels[4:6, 4:6, 2] = 2, 1
    labels[4:9, 3:8, 3] = 1
    labels[0:7, 2:10, 4], labels[8:12, :, 4] = 3, 1
    return labels


def brain() -> Files:
    # Task01_BrainTumour.tar: imagesTr of four channels (FLAIR, T1w, T1gd, T2w), labelsTr, dataset.json
    rng = np.random.default_rng(0)
    name = "Task01_BrainTumour"
    return {
        f"{name}/dataset.json": b"{}",
        f"{name}/imagesTr/BRATS_001.nii.gz": volume(rng.integers(0, 900, (12, 10, 6, 4)).astype(np.int16)),
        f"{name}/labelsTr/BRATS_001.nii.gz": volume(brain_labels()),
        f"{name}/imagesTs/BRATS_485.nii.gz": volume(np.zeros((12, 10, 6, 4), np.int16)),
        f"{name}/imagesTr/._BRATS_001.nii.gz": b"what macOS leaves behind",
    }


def spleen() -> Files:
    # Task09_Spleen.tar: CT in Hounsfield units
    labels = np.zeros((12, 10, 9), np.uint8)
    labels[2:8, 2:8, 2] = labels[3:8, 3:8, 3] = 1
    values = np.linspace(-1000, 1000, labels.size).reshape(labels.shape).astype(np.int16)
    name = "Task09_Spleen"
    return {f"{name}/imagesTr/spleen_2.nii.gz": volume(values), f"{name}/labelsTr/spleen_2.nii.gz": volume(labels)}


def camouflage(images: str, truth: str, *names: str) -> Files:
    files = image_files(*(f"{images}/{name}.jpg" for name in names))
    return files | {f"{truth}/{name}.png": mask(2, 1, 6, 4) for name in names if "NonCAM" not in name}


CAMO, COD = "CAMO-V.1.0-CVIU2019", "COD10K-v3"

LAYOUTS: Mapping[str, Callable[[], Files]] = {
    "MVTec-AD": mvtec_ad,
    "MVTec-AD-2": mvtec_ad_2,
    "MVTec-LOCO": mvtec_loco,
    "MVTec-3D": mvtec_3d,
    "VisA": visa,
    "BTAD": btad,
    # github.com/jianzhang96/GoodsAD: "the dataset format is same as MVTec AD", JPG
    "GoodsAD": lambda: like_mvtec(surface_defects.GOODS_AD.card.objects, "jpg", "000.png"),
    # SharmaShivani12/ispad-anomaly-segmentation: one modality of a copy on Kaggle
    "ISP-AD": lambda: image_files(
        *(f"supervised_ASM/{name}_area_asm.png" for name in ("train/defects/1", "test/defects/2", "test/defects/3")),
        "supervised_ASM/test/good/4.png",
    ),
    "ITD": itd,
    "NEU-DET": neu_det,
    # Loaders of WFDD take it as MVTec AD
    "WFDD": lambda: like_mvtec(goods.WFDD.card.objects, "png", "000_mask.png"),
    "AITEX": aitex,
    "Product1M": product1m,
    "Products-10K": products_10k,
    "SceneryWatermark": scenery,
    # Rice_Image_Dataset.zip of the authors' page: one folder per variety
    "RiceImage": lambda: folders(*(f"Rice_Image_Dataset/{name}" for name in goods.RICE_IMAGE.card.labels)),
    "Fabrics": fabrics,
    "ImageExposures": exposures,
    "ClothingAttributesDataset": clothing,
    # UCI repository, Rice Leaf Diseases: three folders
    "Rice-Leaf-Disease": lambda: folders("Bacterial leaf blight", "Brown spot", "Leaf smut"),
    # Kaggle kaustubhb999/tomatoleaf: tomato/train, tomato/val
    "TomatoLeaf": lambda: folders("tomato/train/Tomato___healthy", "tomato/val/Tomato___Leaf_Mold"),
    # CAMO-V.1.0-CVIU2019: Images/Train, Images/Test, GT (Le et al. 2019; loaders)
    "CAMO": lambda: {
        **camouflage(f"{CAMO}/Images/Train", f"{CAMO}/GT", "camourflage_00001"),
        **camouflage(f"{CAMO}/Images/Test", f"{CAMO}/GT", "camourflage_00002"),
    },
    # COD10K-v3: Train and Test with Image, GT_Object; names COD10K-CAM-… and COD10K-NonCAM-… (Fan et al. 2020)
    "COD10K": lambda: {
        **camouflage(f"{COD}/Train/Image", f"{COD}/Train/GT_Object", "COD10K-CAM-1-Aquatic-1-BatFish-1"),
        **camouflage(f"{COD}/Test/Image", f"{COD}/Test/GT_Object", "COD10K-NonCAM-5-Other-1"),
    },
    # NC4K: Imgs, GT (Lyu et al. 2021; loaders)
    "NC4K": lambda: camouflage("NC4K/Imgs", "NC4K/GT", "10"),
    # SapientSapiens/capstone1project-2025-mlz: the archive of Kaggle as unpacked
    "25-Indian-Bird": lambda: folders(*(f"training_set/training_set/{name}" for name in ("House Crow", "Hoopoe"))),
    # No page describes the folders of EPLID: one folder per class
    "EPLID": lambda: folders("cotton", "pepper"),
    # Giselsson et al. 2017: one folder per species
    "V2-Plant-Seedlings": lambda: folders("Black-grass", "Charlock"),
    # Craingit/MeatTypeClassification and ZorAlf/LBP_Meat_Classification: one folder per class
    "MeatDataset": lambda: folders("horse", "beef", "pork"),
    "GMAI-MMBench": gmai,
    "MSD-Brain": brain,
    "MSD-Spleen": spleen,
}
