"""Datasets of things and their boxes, for AVA-Bench: open scenes, nature, remote sensing, crowds."""

from snellen.sources.declarations import UNKNOWN
from snellen.sources.formats.coco_json import CocoFile, CocoJson
from snellen.sources.scene_reading import SceneCard, SceneSource

COCO_FLAGS = "of a thing: iscrowd, where it is set"

LVIS = SceneSource(
    SceneCard(
        name="LVIS",
        title="LVIS v1",
        tasks=("localization", "counting", "spatial", "object", "colour"),
        licence="CC BY 4.0",
        citation="Gupta, Dollár and Girshick, LVIS: A Dataset for Large Vocabulary Instance Segmentation, CVPR 2019",
        homepage="https://www.lvisdataset.org",
        layout="lvis_v1_train.json and lvis_v1_val.json (beside the pictures or in annotations/), train2017/*.jpg and "
        "val2017/*.jpg of COCO (the page's download section)",
        extras="of a picture: split; neg_category_ids and not_exhaustive_category_ids as names of classes",
        notes="The licence is that of the annotations; pictures are from Flickr under licences of their own. `area` is "
        "that of the mask. Only classes outside not_exhaustive_category_ids may be counted.",
    ),
    CocoJson(
        files=tuple(
            CocoFile(split, (f"annotations/lvis_v1_{split}.json", f"lvis_v1_{split}.json"), tail=2)
            for split in ("train", "val")
        ),
        name="coco_url",
        of_image=("neg_category_ids", "not_exhaustive_category_ids"),
        of_class=("synset", "frequency"),
    ),
)

OBJECTS365 = SceneSource(
    SceneCard(
        name="Objects365",
        title="Objects365 v2",
        tasks=("localization", "spatial", "object", "colour"),
        licence=UNKNOWN,
        citation="Shao et al., Objects365: A Large-Scale, High-Quality Dataset for Object Detection, ICCV 2019",
        homepage="https://www.objects365.org",
        layout="zhiyuan_objv2_train.json and zhiyuan_objv2_val.json (beside train/ and val/ or in annotations/), "
        "train/patchN/*.jpg, val/patchN/*.jpg (as unpacked; by loaders of it)",
        extras="of a thing: iscrowd, isfake, isreflected, where they are set; of a picture: split",
        notes="iscrowd marks a group in one box: such classes of a picture cannot be counted.",
    ),
    CocoJson(
        files=tuple(
            CocoFile(split, (f"annotations/zhiyuan_objv2_{split}.json", f"zhiyuan_objv2_{split}.json"), split, tail=2)
            for split in ("train", "val")
        ),
    ),
)

INATURALIST = SceneSource(
    SceneCard(
        name="iNaturalist-2021",
        title="iNaturalist 2021",
        tasks=("localization", "object", "fine-grained"),
        licence=UNKNOWN,
        citation="Van Horn et al., Benchmarking Representation Learning for Natural World Image Collections, CVPR 2021",
        homepage="https://github.com/visipedia/inat_comp/tree/master/2021",
        layout="train.json or train_mini.json, val.json, and the pictures as file_name has them: "
        "train/CLASS/*.jpg, val/CLASS/*.jpg (homepage)",
        extras="of a thing: common_name, supercategory, kingdom, phylum, class, order, family, genus; of a picture: "
        "split",
        notes="The published annotations hold no boxes (those of 2017 do), while AVA-Bench locates birds and mammals: "
        "boxes are read where a file has `bbox`, else the one thing of a picture has none. Aves and Mammalia stand in "
        "`class`. Pictures have licences of their own.",
    ),
    CocoJson(
        files=(CocoFile("train", ("train.json", "train_mini.json")), CocoFile("val", ("val.json",))),
        of_class=("common_name", "supercategory", "kingdom", "phylum", "class", "order", "family", "genus"),
    ),
)
