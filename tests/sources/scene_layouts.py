"""A few pixels in the layout of every declared source of scenes, as path -> bytes; beside each, its origin."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from PIL import Image

from tests.sources.layouts import Files, pictures


def plain(value: Any) -> bytes:
    return json.dumps(value).encode()


def lvis() -> Files:
    # lvisdataset.org, "Data format": no file_name, pictures by coco_url; val holds pictures of train2017 too
    def image(number: int, folder: str, absent: list[int], unsure: list[int]) -> dict[str, Any]:
        return {"id": number, "width": 8, "height": 6, "license": 1, "flickr_url": "", "date_captured": "",
                "coco_url": f"http://images.cocodataset.org/{folder}/{number:012}.jpg",
                "neg_category_ids": absent, "not_exhaustive_category_ids": unsure}  # fmt: skip

    def thing(number: int, image: int, kind: int, box: list[float], area: float) -> dict[str, Any]:
        return {"id": number, "image_id": image, "category_id": kind, "bbox": box, "area": area,
                "segmentation": [[0.0, 0.5, 3.25, 0.5, 3.25, 4.0]]}  # fmt: skip

    kinds = [
        {"id": number, "name": name, "synset": f"{name}.n.01", "synonyms": [name], "def": "", "frequency": "f",
         "image_count": 1, "instance_count": 1} for number, name in ((3, "aerosol_can"), (7, "zebra"))
    ]  # fmt: skip
    train = {
        "info": {"version": "v1"},
        "annotations": [
            thing(1, 30, 7, [1.0, 1.5, 2.0, 3.0], 4.5),
            thing(2, 20, 3, [0.0, 0.0, 8.0, 6.0], 30.0),
            thing(3, 30, 7, [4.0, 2.0, 4.4, 2.5], 6.25),  # 0.4 pixels beyond the edge
        ],
        "images": [image(20, "train2017", [7], []), image(30, "train2017", [], [3])],
        "licenses": [],
        "categories": kinds,
    }
    val = {"images": [image(40, "train2017", [], [])], "annotations": [], "categories": kinds}
    return {
        **pictures(*(f"train2017/{number:012}.jpg" for number in (20, 30, 40))),
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
        **pictures("train/patch0/objects365_v1_00000005.jpg", "val/patch16/objects365_v2_00908726.jpg"),
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
    return {**pictures(name, other), "train.json": file(name), "val.json": file(other)}


DIOR_XML = """<annotation><filename>{name}.jpg</filename><size><width>8</width><height>6</height></size>
<object><name>ship</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>4</xmax><ymax>3</ymax></bndbox></object>
<object><name>harbor</name><bndbox><xmin>5</xmin><ymin>1</ymin><xmax>8</xmax><ymax>6</ymax></bndbox></object>
</annotation>"""


def dior() -> Files:
    # DIOR as unpacked: Annotations/Horizontal Bounding Boxes beside Oriented ones; pixels from 1
    files = pictures("JPEGImages-trainval/00001.jpg", "JPEGImages-test/11726.jpg")
    for name in ("00001", "11726"):
        files[f"Annotations/Horizontal Bounding Boxes/{name}.xml"] = DIOR_XML.format(name=name).encode()
    return files


def carpk() -> Files:
    # CARPK_devkit/data: lines x1 y1 x2 y2 class (readme of the devkit)
    base = "CARPK_devkit/data"
    files = pictures(*(f"{base}/Images/2016_GF_{n}.png" for n in "12"))
    files |= {f"{base}/Annotations/2016_GF_{n}.txt": b"1 1 3 4 1\n4 0 8 2 1\n" for n in "12"}
    return files | {f"{base}/ImageSets/train.txt": b"2016_GF_1\n"}


def crowd_human() -> Files:
    # crowdhuman.org/download.html: odgt lines; ID with a comma; fbox may reach beyond the picture
    def line(name: str) -> bytes:
        boxes = [
            {"tag": "person", "hbox": [1, 1, 1, 1], "head_attr": {"ignore": 0, "occ": 0, "unsure": 0},
             "fbox": [0, 1, 3, 9], "vbox": [0, 1, 3, 4], "extra": {"box_id": 0, "occ": 0}},
            {"tag": "mask", "hbox": [5, 1, 2, 2], "head_attr": {"ignore": 1}, "fbox": [5, 1, 2, 2],
             "vbox": [5, 1, 2, 2], "extra": {"ignore": 1}},
        ]  # fmt: skip
        return plain({"ID": name, "gtboxes": boxes}) + b"\n"

    return {
        **pictures("Images/273271,c9db000d5146c15.jpg", "Images/273278,a.jpg"),
        "annotation_train.odgt": line("273271,c9db000d5146c15"),
        "annotation_val.odgt": line("273278,a"),
    }


def fsc_147() -> Files:
    # annotation_FSC147_384.json as the authors' code reads it: H, W, box_examples_coordinates, points, …
    about = {"H": 6, "W": 8, "box_examples_coordinates": [[[0, 0], [0, 2], [2, 2], [2, 0]]], "ratio_h": 1.0,
             "points": [[1.5, 2.25], [4.0, 5.0], [7.0, 1.0]]}  # fmt: skip
    return {
        **pictures("images_384_VarV2/2.jpg", "images_384_VarV2/3.jpg"),
        "annotation_FSC147_384.json": plain({"2.jpg": about, "3.jpg": {**about, "points": [[1, 2]]}}),
        "ImageClasses_FSC147.txt": b"2.jpg\tsea shells\n3.jpg\thot air balloons\n",
        "Train_Test_Val_FSC_147.json": plain({"train": ["2.jpg"], "val": ["3.jpg"], "test": []}),
    }


def kitti() -> Files:
    # readme.txt of the object devkit (15 columns; mapping/) and of the depth devkit (16 bits, metres times 256)
    held = io.BytesIO()
    depth = np.zeros((6, 8), np.uint16)
    depth[3, 2] = 12 * 256 + 128
    Image.fromarray(depth).save(held, "PNG")
    drive = "2011_09_26_drive_0005_sync"
    lines = (
        "Car 0.00 1 -1.57 1.00 2.00 5.00 4.00 1.50 1.60 4.00 1.00 1.70 20.00 0.00\n"
        "Pedestrian 0.00 0 0.20 5.00 1.00 7.00 5.00 1.89 0.48 1.20 1.84 1.47 8.41 1.5707963\n"
        "DontCare -1 -1 -10 0.00 0.00 1.00 1.00 -1 -1 -1 -1000 -1000 -1000 -10\n"
    )
    return {
        **pictures("training/image_2/000000.png", "training/image_2/000001.png"),
        "training/label_2/000000.txt": lines.encode(),
        "training/label_2/000001.txt": lines.encode(),
        "mapping/train_rand.txt": b"2,1\n",
        "mapping/train_mapping.txt": f"2011_09_26 {drive} 0000000009\n2011_09_26 {drive} 0000000005\n".encode(),
        f"data_depth_annotated/train/{drive}/proj_depth/groundtruth/image_02/0000000005.png": held.getvalue(),
    }


SCENE_LAYOUTS: Mapping[str, Callable[[], Files]] = {
    "LVIS": lvis,
    "Objects365": objects365,
    "iNaturalist-2021": inaturalist,
    "DIOR": dior,
    "CARPK": carpk,
    "CrowdHuman": crowd_human,
    "FSC-147": fsc_147,
    "KITTI": kitti,
}
