"""A few pixels in the layout of every declared source of scenes, as path -> bytes; beside each, its origin."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

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


SCENE_LAYOUTS: Mapping[str, Callable[[], Files]] = {
    "LVIS": lvis,
    "Objects365": objects365,
    "iNaturalist-2021": inaturalist,
}
