"""A few pixels in the layout of every dataset of annotated images, as path -> bytes, each with its origin."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import h5py
import numpy as np
import scipy.io
from PIL import Image

from tests.curated_sets.datasets.layouts import Files, image_files


def plain(value: Any) -> bytes:
    return json.dumps(value).encode()


def lvis() -> Files:
    # lvisdataset.org, "Data format": no file_name, images by coco_url; val holds images of train2017 too
    def image(number: int, folder: str, absent: list[int], unsure: list[int]) -> dict[str, Any]:
        return {"id": number, "width": 8, "height": 6, "license": 1, "flickr_url": "", "date_captured": "",
                "coco_url": f"http://images.cocodataset.org/{folder}/{number:012}.jpg",
                "neg_category_ids": absent, "not_exhaustive_category_ids": unsure}  # fmt: skip

    def annotation(number: int, image: int, kind: int, box: list[float], area: float) -> dict[str, Any]:
        return {"id": number, "image_id": image, "category_id": kind, "bbox": box, "area": area,
                "segmentation": [[0.0, 0.5, 3.25, 0.5, 3.25, 4.0]]}  # fmt: skip

    kinds = [
        {"id": number, "name": name, "synset": f"{name}.n.01", "synonyms": [name], "def": "", "frequency": "f",
         "image_count": 1, "instance_count": 1} for number, name in ((3, "aerosol_can"), (7, "zebra"))
    ]  # fmt: skip
    train = {
        "info": {"version": "v1"},
        "annotations": [
            annotation(1, 30, 7, [1.0, 1.5, 2.0, 3.0], 4.5),
            annotation(2, 20, 3, [0.0, 0.0, 8.0, 6.0], 30.0),
            annotation(3, 30, 7, [4.0, 2.0, 4.4, 2.5], 6.25),  # 0.4 pixels beyond the edge
        ],
        "images": [image(20, "train2017", [7], []), image(30, "train2017", [], [3])],
        "licenses": [],
        "categories": kinds,
    }
    val = {"images": [image(40, "train2017", [], [])], "annotations": [], "categories": kinds}
    return {
        **image_files(*(f"train2017/{number:012}.jpg" for number in (20, 30, 40))),
        "annotations/lvis_v1_train.json": plain(train),
        "annotations/lvis_v1_val.json": plain(val),
    }


def objects365() -> Files:
    # zhiyuan_objv2_train.json as loaders of it read: file_name images/v1/patchN/NAME.jpg, unpacked to train/patchN
    def file(name: str) -> bytes:
        image = {"id": 5, "width": 8, "height": 6, "file_name": name, "license": 5, "url": ""}
        annotations = [
            {"id": n, "iscrowd": crowd, "isfake": 0, "isreflected": 0, "area": 4.0, "image_id": 5, "category_id": kind,
             "bbox": [n * 2.0, 1.0, 2.0, 2.0]} for n, crowd, kind in ((0, 0, 1), (1, 1, 2), (2, 0, 1))
        ]  # fmt: skip
        kinds = [{"id": 1, "name": "Person"}, {"id": 2, "name": "Sneakers"}]
        return plain({"images": [image], "annotations": annotations, "categories": kinds, "licenses": []})

    return {
        **image_files("train/patch0/objects365_v1_00000005.jpg", "val/patch16/objects365_v2_00908726.jpg"),
        "zhiyuan_objv2_train.json": file("images/v1/patch0/objects365_v1_00000005.jpg"),
        "zhiyuan_objv2_val.json": file("images/v2/patch16/objects365_v2_00908726.jpg"),
    }


def inaturalist() -> Files:
    # github.com/visipedia/inat_comp/tree/master/2021, "Annotation Format"
    name = "train/04084_Animalia_Chordata_Aves_Passeriformes_Corvidae_Corvus_corax/a.jpg"
    kind = {"id": 4084, "name": "Corvus corax", "common_name": "Common Raven", "supercategory": "Birds",
            "kingdom": "Animalia", "phylum": "Chordata", "class": "Aves", "order": "Passeriformes",
            "family": "Corvidae", "genus": "Corvus", "specific_epithet": "corax",
            "image_dir_name": name.split("/")[1]}  # fmt: skip

    def file(name: str) -> bytes:
        image = {"id": 9, "width": 8, "height": 6, "file_name": name, "license": 0, "rights_holder": "x", "date": ""}
        return plain({"info": {}, "images": [image], "categories": [kind],
                      "annotations": [{"id": 1, "image_id": 9, "category_id": 4084}], "licenses": []})  # fmt: skip

    other = name.replace("train", "val")
    return {**image_files(name, other), "train.json": file(name), "val.json": file(other)}


def inaturalist_2017() -> Files:
    # 2017/README.md of visipedia/inat_comp, sections "Bounding Boxes" and "Data"
    def file(name: str) -> bytes:
        image = {"id": 9, "width": 8, "height": 6, "file_name": name, "license": 3, "rights_holder": "x"}
        annotation = {"id": 1, "image_id": 9, "category_id": 2, "bbox": [1, 1, 4, 3], "area": 6.0, "iscrowd": 0}
        kinds = [{"id": 2, "name": "Corvus corax", "supercategory": "Aves"}]
        return plain({"info": {}, "images": [image], "categories": kinds, "annotations": [annotation], "licenses": []})

    names = [f"train_val_images/Aves/Corvus corax/{letter}.jpg" for letter in "ab"]
    files = {f"{split}_2017_bboxes.json": file(name) for split, name in zip(("train", "val"), names, strict=True)}
    return {**image_files(*names), **files}


DIOR_XML = """<annotation><filename>{name}.jpg</filename><size><width>8</width><height>6</height></size>
<object><name>ship</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>4</xmax><ymax>3</ymax></bndbox></object>
<object><name>harbor</name><bndbox><xmin>5</xmin><ymin>1</ymin><xmax>8</xmax><ymax>6</ymax></bndbox></object>
</annotation>"""


def dior() -> Files:
    # DIOR as unpacked: Annotations/Horizontal Bounding Boxes next to Oriented ones; pixels from 1
    files = image_files("JPEGImages-trainval/00001.jpg", "JPEGImages-test/11726.jpg")
    for name in ("00001", "11726"):
        files[f"Annotations/Horizontal Bounding Boxes/{name}.xml"] = DIOR_XML.format(name=name).encode()
    return files


def carpk() -> Files:
    # CARPK_devkit/data: lines x1 y1 x2 y2 class (readme of the devkit)
    base = "CARPK_devkit/data"
    files = image_files(*(f"{base}/Images/2016_GF_{n}.png" for n in "12"))
    files |= {f"{base}/Annotations/2016_GF_{n}.txt": b"1 1 3 4 1\n4 0 8 2 1\n" for n in "12"}
    return files | {f"{base}/ImageSets/train.txt": b"2016_GF_1\n"}


def crowd_human() -> Files:
    # crowdhuman.org/download.html: odgt lines; ID with a comma; fbox may reach beyond the image
    def line(name: str) -> bytes:
        boxes = [
            {"tag": "person", "hbox": [1, 1, 1, 1], "head_attr": {"ignore": 0, "occ": 0, "unsure": 0},
             "fbox": [0, 1, 3, 9], "vbox": [0, 1, 3, 4], "extra": {"box_id": 0, "occ": 0}},
            {"tag": "mask", "hbox": [5, 1, 2, 2], "head_attr": {"ignore": 1}, "fbox": [5, 1, 2, 2],
             "vbox": [5, 1, 2, 2], "extra": {"ignore": 1}},
        ]  # fmt: skip
        return plain({"ID": name, "gtboxes": boxes}) + b"\n"

    return {
        **image_files("Images/273271,c9db000d5146c15.jpg", "Images/273278,a.jpg"),
        "annotation_train.odgt": line("273271,c9db000d5146c15"),
        "annotation_val.odgt": line("273278,a"),
    }


def vs_crowd() -> Files:
    # README of HopLee6/VSCrowd-Dataset (frames of four digits); files of six digits by users of it
    return {
        **image_files(*(f"videos/{name}.jpg" for name in ("train_001/000001", "train_001/000010", "test_001/000001"))),
        "annotations/train_001.txt": b"0001 68 1.5 0.25 3.5 2.75 2.5 1.5 52 5 1 7 3 6 2\n0010 68 2 1 4 3 3 2\n",
        "annotations/test_001.txt": b"000001 3 1 1 3 3 2 2\n",
    }


def fsc_147() -> Files:
    # annotation_FSC147_384.json as the authors' code reads it: H, W, box_examples_coordinates, points, …
    about = {"H": 6, "W": 8, "box_examples_coordinates": [[[0, 0], [0, 2], [2, 2], [2, 0]]], "ratio_h": 1.0,
             "points": [[1.5, 2.25], [4.0, 5.0], [7.0, 1.0]]}  # fmt: skip
    return {
        **image_files("images_384_VarV2/2.jpg", "images_384_VarV2/3.jpg"),
        "annotation_FSC147_384.json": plain({"2.jpg": about, "3.jpg": {**about, "points": [[1, 2]]}}),
        "ImageClasses_FSC147.txt": b"2.jpg\tsea shells\n3.jpg\thot air balloons\n",
        "Train_Test_Val_FSC_147.json": plain({"train": ["2.jpg"], "val": ["3.jpg"], "test": []}),
    }


def kitti() -> Files:
    # readme.txt of the object devkit (15 columns; mapping/) and of the depth devkit (16 bits, metres times 256)
    buffer = io.BytesIO()
    depth = np.zeros((6, 8), np.uint16)
    depth[3, 2] = 12 * 256 + 128
    Image.fromarray(depth).save(buffer, "PNG")
    drive = "2011_09_26_drive_0005_sync"
    lines = (
        "Car 0.00 1 -1.57 1.00 2.00 5.00 4.00 1.50 1.60 4.00 1.00 1.70 20.00 0.00\n"
        "Pedestrian 0.00 0 0.20 5.00 1.00 7.00 5.00 1.89 0.48 1.20 1.84 1.47 8.41 1.5707963\n"
        "DontCare -1 -1 -10 0.00 0.00 1.00 1.00 -1 -1 -1 -1000 -1000 -1000 -10\n"
    )
    return {
        **image_files("training/image_2/000000.png", "training/image_2/000001.png"),
        "training/label_2/000000.txt": lines.encode(),
        "training/label_2/000001.txt": lines.encode(),
        "mapping/train_rand.txt": b"2,1\n",
        "mapping/train_mapping.txt": f"2011_09_26 {drive} 0000000009\n2011_09_26 {drive} 0000000005\n".encode(),
        f"data_depth_annotated/train/{drive}/proj_depth/groundtruth/image_02/0000000005.png": buffer.getvalue(),
    }


def nyu() -> Files:
    # homepage, "Labeled Dataset": arrays stored column by column, texts behind references, version 7.3 (HDF5)
    buffer = io.BytesIO()
    rng = np.random.default_rng(0)
    labels, instances = np.zeros((2, 8, 6), np.uint16), np.zeros((2, 8, 6), np.uint8)
    depths = np.full((2, 8, 6), 3.0, np.float32)
    labels[0, 1:4, 2:6], instances[0, 1:4, 2:6] = 2, 1  # columns 1 to 3, rows 2 to 5
    labels[0, 6, 0], instances[0, 6, 0] = 2, 2
    labels[1, :, :], instances[1, :, :] = 1, 1
    depths[0, 2, 3], depths[0, 3, 5] = 1.25, 0.0  # 0: not measured
    with h5py.File(buffer, "w", userblock_size=512) as file:
        file["images"] = rng.integers(0, 256, (2, 3, 8, 6), dtype=np.uint8)
        file["labels"], file["instances"], file["depths"] = labels, instances, depths
        for name, texts in (("names", ("wall", "chair")), ("scenes", ("office_0001", "kitchen_0003"))):
            references = []
            for number, text in enumerate(texts):
                dataset = file.create_dataset(
                    f"#refs#/{name}{number}", data=np.array([[ord(letter)] for letter in text], "u2")
                )
                references.append(dataset.ref)
            file.create_dataset(name, data=np.array([references], dtype=h5py.ref_dtype), dtype=h5py.ref_dtype)
    return {"nyu_depth_v2_labeled.mat": b"MATLAB 7.3 MAT-file".ljust(512) + buffer.getvalue()[512:]}


def vqa() -> Files:
    # visualqa.org/download: questions and annotations in separate files, ten answers each
    files = image_files(*(f"{split}2014/COCO_{split}2014_000000000042.jpg" for split in ("train", "val")))
    for split in ("train", "val"):
        questions = [{"image_id": 42, "question": "How many dogs?", "question_id": 42000}]
        answers = [{"answer": answer, "answer_confidence": "yes", "answer_id": n + 1}
                   for n, answer in enumerate(("3", *("2",) * 9))]  # fmt: skip
        annotation = {"question_type": "how many", "multiple_choice_answer": "2", "answers": answers, "image_id": 42,
                "answer_type": "number", "question_id": 42000}  # fmt: skip
        files[f"v2_OpenEnded_mscoco_{split}2014_questions.json"] = plain({"info": {}, "questions": questions})
        files[f"v2_mscoco_{split}2014_annotations.json"] = plain({"info": {}, "annotations": [annotation]})
    return files


def coco_text() -> Files:
    # bgshih.github.io/cocotext: objects by id
    name = "COCO_train2014_000000217925.jpg"
    word = {"id": 45346, "image_id": 217925, "bbox": [1.0, 1.0, 3.0, 2.0], "mask": [], "area": 6.0,
            "language": "english", "class": "machine printed",
            "legibility": "legible", "utf8_string": "Caf\u00e9"}  # fmt: skip
    image = {"id": 217925, "file_name": name, "width": 8, "height": 6, "set": "train"}
    file = {
        "cats": {}, "anns": {"45346": word}, "imgs": {"217925": image}, "imgToAnns": {"217925": [45346]}, "info": {},
    }  # fmt: skip
    return {**image_files(f"train2014/{name}"), "cocotext.v2.json": plain(file)}


def iiit5k() -> Files:
    # README of the archive: struct arrays traindata and testdata
    files = image_files("IIIT5K/train/1009_2.png", "IIIT5K/test/1002_1.png")
    for name, image, word in (("traindata", "train/1009_2.png", "YOU"), ("testdata", "test/1002_1.png", "PRIVATE")):
        buffer = io.BytesIO()
        fields = [(field, object) for field in ("ImgName", "GroundTruth", "smallLexi")]
        rows = np.array([[(np.array([image]), np.array([word]), np.array(["A"]))]], dtype=fields)
        scipy.io.savemat(buffer, {name: rows})  # type: ignore[arg-type]  # it takes open files too
        files[f"IIIT5K/{name}.mat"] = buffer.getvalue()
    return files


def text_vqa() -> Files:
    # textvqa.org/dataset: data of questions, and of words with boxes in shares of the image
    files = Files()
    for split, image in (("train", "0054c91397f2fe05"), ("val", "003a8ae2ef43b901")):
        questions = {"question": "what brand?", "image_id": image, "image_width": 1024, "image_height": 768,
                 "question_id": 7, "answers": ["nokia", "other", *("nokia",) * 8], "set_name": split}  # fmt: skip
        box = {"top_left_x": 0.25, "top_left_y": 0.5, "width": 0.5, "height": 0.25, "rotation": 0.0, "yaw": 0.0}
        words = {"image_id": image, "ocr_tokens": ["NOKIA"], "ocr_info": [{"word": "NOKIA", "bounding_box": box}]}
        files |= image_files(f"train_images/{image}.jpg")
        files[f"TextVQA_0.5.1_{split}.json"] = plain({"dataset_type": split, "data": [questions]})
        files[f"TextVQA_Rosetta_OCR_v0.2_{split}.json"] = plain({"data": [words]})
    return files


def ego_orient() -> Files:
    # testing_data/benchmark_mini.json of the authors' repository
    name = "imagenet_after/COCO_val2014_000000358765.jpg"
    questions = [
        {"type": kind, "domain": "real", "base_dataset": "D3_Eval", "image": f"./{name}", "question": "Which way?",
         "original_label": "front right", "label": label, "category_name": "bird"}
        for kind, label in (("general_complex", "front right"), ("general_binary", "yes"))
    ]  # fmt: skip
    base = "all_data/EgocentricDataset"
    return {**image_files(f"{base}/{name}"), f"{base}/train_benchmark/benchmark.json": plain(questions)}


def places() -> Files:
    # filelist_places365-standard.tar, and the filelist of the 69 further classes
    return {
        **image_files("data_256_standard/a/arch/00000001.jpg", "val_256/Places365_val_00000001.jpg"),
        **image_files("data_256_extra/c/cabin/outdoor/00000001.jpg"),
        "places365_train_standard.txt": b"/a/arch/00000001.jpg 1\n",
        "places365_val.txt": b"Places365_val_00000001.jpg 0\n",
        "categories_places365.txt": b"/a/airfield 0\n/a/arch 1\n",
        "extra69_train.txt": b"/c/cabin/outdoor/00000001.jpg 0\n",
        "categories_extra69.txt": b"/c/cabin/outdoor 0\n",
    }


def cub() -> Files:
    # README of CUB_200_2011
    names = ("001.Black_footed_Albatross/a_0046_18.jpg", "002.Laysan_Albatross/b_1.jpg")
    kinds = [name.split("/")[0] for name in names]
    files = image_files(*(f"CUB_200_2011/images/{name}" for name in names))
    for table, lines in (
        ("images", names), ("image_class_labels", "12"), ("classes", kinds), ("train_test_split", "01"),
        ("bounding_boxes", ("1.0 2.0 3.0 4.0", "0.0 0.0 8.0 6.0")),
    ):  # fmt: skip
        text = "".join(f"{number} {line}\n" for number, line in enumerate(lines, 1))
        files[f"CUB_200_2011/{table}.txt"] = text.encode()
    return files


def aircraft() -> Files:
    # README of fgvc-aircraft-2013b: variants may hold spaces, boxes count from 1
    base = "fgvc-aircraft-2013b/data"
    files = image_files(*(f"{base}/images/003430{n}.jpg" for n in (7, 8, 9)))
    files[f"{base}/images_box.txt"] = b"0034307 1 2 8 5\n0034308 1 1 4 4\n0034309 3 1 4 4\n"
    for split, line in (("train", "0034307 Boeing 717"), ("val", "0034308 707-320"), ("test", "0034309 DH-82")):
        files[f"{base}/images_variant_{split}.txt"] = f"{line}\n".encode()
    return files


def moments() -> Files:
    # trainingSet.csv and validationSet.csv: path, action, votes; the videos are not opened
    return {
        "training/clapping/yt-1_2.mp4": b"video",
        "validation/boxing/yt-3_4.mp4": b"video",
        "trainingSet.csv": b"clapping/yt-1_2.mp4,clapping,4,0\n",
        "validationSet.csv": b"boxing/yt-3_4.mp4,boxing,3,1\n",
    }


def expw() -> Files:
    # HazyResearch/meerkat, datasets/expw: name, face, top, left, right, bottom, confidence, emotion
    return {
        **image_files("data/image/origin/angry_a.jpg", "data/image/origin/b.jpg"),
        "data/label/label.lst": b"angry_a.jpg 0 1 2 5 6 98.5 0\nangry_a.jpg 1 0 6 8 3 50 6\nb.jpg 0 0 0 3 3 60 3\n",
    }


def raf_db() -> Files:
    # EmoLabel/list_patition_label.txt and Annotation/boundingbox as loaders read them
    names, files = ("train_00001", "test_0001"), Files()
    for number, name in enumerate(names):
        files |= image_files(f"basic/Image/original/{name}.jpg")
        files[f"basic/Annotation/boundingbox/{name}_boundingbox.txt"] = f"{number + 1}.0 1.5 5 6\n".encode()
    return {**files, "basic/EmoLabel/list_patition_label.txt": b"train_00001.jpg 5\ntest_0001.jpg 1\n"}


ANNOTATED_LAYOUTS: Mapping[str, Callable[[], Files]] = {
    "LVIS": lvis,
    "Objects365": objects365,
    "iNaturalist-2021": inaturalist,
    "iNaturalist-2017": inaturalist_2017,
    "DIOR": dior,
    "CARPK": carpk,
    "CrowdHuman": crowd_human,
    "VSCrowd": vs_crowd,
    "FSC-147": fsc_147,
    "KITTI": kitti,
    "NYU-Depth-V2": nyu,
    "VQAv2": vqa,
    "COCO-Text": coco_text,
    "IIIT5K": iiit5k,
    "TextVQA": text_vqa,
    "EgoOrientBench": ego_orient,
    # github.com/olivesgatech/mini-CURE-OR, File Name Format
    "CURE-OR": lambda: image_files("01_no_challenge/white/1_1_3_092_01_0.jpg", "2_5_5_007_05_3.jpg"),
    # homepage of DTD
    "DTD": lambda: image_files("dtd/images/banded/banded_0002.jpg", "dtd/images/zigzagged/zigzagged_0001.jpg"),
    # one archive per texture, and one of all
    "Kylberg": lambda: image_files("blanket1-flat/blanket1-a-p001.png", "withoutRotateAll/canvas1-a-p001.png"),
    # homepage of KTH-TIPS
    "KTH-TIPS": lambda: image_files("KTH_TIPS/aluminium_foil/15-scale_1_im_1_col.png", "KTH_TIPS/cork/16-scale_1.png"),
    "KTH-TIPS2-b": lambda: image_files(
        "KTH-TIPS2-b/cork/sample_a/16a-scale_10_im_1_col.png", "KTH-TIPS2-b/wool/sample_b/22b-scale_2_im_1_col.png"
    ),
    # homepage of AID
    "AID": lambda: image_files("AID/Airport/airport_1.jpg", "AID/Viaduct/viaduct_1.jpg"),
    "Places434": places,
    "RAF-DB": raf_db,
    "ExpW": expw,
    "CUB-200-2011": cub,
    "FGVC-Aircraft": aircraft,
    "Moments-in-Time": moments,
}
