"""Datasets of objects with boxes or points: open scenes, nature, remote sensing, crowds, roads."""

from snellen.curated_sets.datasets.dataset import Dataset, DatasetCard
from snellen.curated_sets.datasets.evidence import github, listing, loader
from snellen.curated_sets.datasets.formats.box_files import CrowdHuman, Kitti, TextBoxes, VocObjects
from snellen.curated_sets.datasets.formats.points import Fsc147, VsCrowd
from snellen.datasets.formats.coco_json import CocoFile, CocoJson

LVIS = Dataset(
    DatasetCard(
        name="LVIS",
        title="LVIS v1",
        licence="CC BY 4.0",
        citation="Gupta, Dollár and Girshick, LVIS: A Dataset for Large Vocabulary Instance Segmentation, CVPR 2019",
        homepage="https://www.lvisdataset.org",
        layout="lvis_v1_train.json and lvis_v1_val.json (next to the images or in annotations/), train2017/*.jpg and "
        "val2017/*.jpg of COCO",
        extras="of an image: split; neg_category_ids and not_exhaustive_category_ids as names of classes",
        notes="The licence is that of the annotations; images are from Flickr under their own licences. `area` is "
        "that of the mask. Only classes outside not_exhaustive_category_ids may be counted.",
        verified="loaders",
        evidence=(
            loader(
                github("open-mmlab/mmdetection", "configs/_base_/datasets/lvis_v1_instance.py", "09df0e347e"),
                "annotations/lvis_v1_train.json with train2017/; images of annotations/lvis_v1_val.json are in "
                "val2017/ and train2017/.",
            ),
            loader(
                github("facebookresearch/VLPart", "datasets/README.md", "aaaffa9b5a"),
                "lvis_v1_train.json and lvis_v1_val.json, images train2017/ and val2017/ of COCO.",
            ),
        ),
        caveat="The fields neg_category_ids and not_exhaustive_category_ids are those of the dataset's page, which "
        "was not available.",
    ),
    CocoJson(
        files=tuple(
            CocoFile(split, (f"annotations/lvis_v1_{split}.json", f"lvis_v1_{split}.json"), tail=2)
            for split in ("train", "val")
        ),
        name="coco_url",
        image_fields=("neg_category_ids", "not_exhaustive_category_ids"),
        category_fields=("synset", "frequency"),
    ),
)

OBJECTS365 = Dataset(
    DatasetCard(
        name="Objects365",
        title="Objects365 v2",
        citation="Shao et al., Objects365: A Large-Scale, High-Quality Dataset for Object Detection, ICCV 2019",
        homepage="https://www.objects365.org",
        layout="zhiyuan_objv2_train.json and zhiyuan_objv2_val.json (next to train/ and val/ or in annotations/), "
        "train/patchN/*.jpg, val/patchN/*.jpg",
        extras="of an object: iscrowd, isfake, isreflected, if set; of an image: split",
        notes="iscrowd marks a group in one box: such classes of an image cannot be counted.",
        verified="loaders",
        evidence=(
            loader(
                github("open-mmlab/mmdetection", "configs/_base_/datasets/objects365v2_detection.py", "0d8877bc6b"),
                "annotations/zhiyuan_objv2_train.json with train/, annotations/zhiyuan_objv2_val.json with val/.",
            ),
            loader(
                github("ultralytics/ultralytics", "ultralytics/cfg/datasets/Objects365.yaml", "002363f134"),
                "The publisher's archives patchN and zhiyuan_objv2_SPLIT.json; bbox is x, y of the upper left "
                "corner, width, height in pixels; file_name ends with the image's name.",
            ),
        ),
    ),
    CocoJson(
        files=tuple(
            CocoFile(split, (f"annotations/zhiyuan_objv2_{split}.json", f"zhiyuan_objv2_{split}.json"), split, tail=2)
            for split in ("train", "val")
        )
    ),
)

INATURALIST = Dataset(
    DatasetCard(
        name="iNaturalist-2021",
        title="iNaturalist 2021",
        citation="Van Horn et al., Benchmarking Representation Learning for Natural World Image Collections, CVPR 2021",
        homepage="https://github.com/visipedia/inat_comp/tree/master/2021",
        layout="train.json or train_mini.json, val.json, and the images at their file_name: train/CLASS/*.jpg, "
        "val/CLASS/*.jpg",
        extras="of an object: common_name, supercategory, kingdom, phylum, class, order, family, genus; of an image: "
        "split",
        notes="The published annotations contain no boxes (those of 2017 do), while AVA-Bench locates birds and "
        "mammals: boxes are read if a file has `bbox`, else the one object of an image has none. Aves and Mammalia are "
        "in `class`. Images have their own licences.",
        verified="listing",
        evidence=(
            listing(
                github("visipedia/inat_comp", "2021/README.md", "137846b4f7"),
                "The JSON: image_id and category_id of an annotation, and no box; class, order, family … of a "
                "category; 10,000 species.",
            ),
        ),
        caveat="The names of the files and image folders are on a later version of that page than the one read.",
    ),
    CocoJson(
        files=(CocoFile("train", ("train.json", "train_mini.json")), CocoFile("val", ("val.json",))),
        category_fields=("common_name", "supercategory", "kingdom", "phylum", "class", "order", "family", "genus"),
    ),
)

INATURALIST_2017 = Dataset(
    DatasetCard(
        name="iNaturalist-2017",
        title="iNaturalist 2017, with boxes",
        citation="Van Horn et al., The iNaturalist Species Classification and Detection Dataset, CVPR 2018",
        homepage="https://github.com/visipedia/inat_comp/tree/master/2017",
        layout="train_2017_bboxes.json, val_2017_bboxes.json, train_val_images/SUPERCATEGORY/SPECIES/*.jpg",
        extras="of an object: supercategory; of an image: split",
        notes="Not a dataset of AVA-Bench: it stands in for iNaturalist-2021, whose boxes are not published. People "
        "drew boxes by supercategory: if a training image has several boxes, not each need be of the species named. "
        "For research only. Images have their own licences.",
        verified="listing",
        evidence=(
            listing(
                github("visipedia/inat_comp", "2017/README.md", "1509ec0be3"),
                "The names of the archives and folders; boxes [x, y, width, height] in pixels from the upper left "
                "corner, area half of the box, iscrowd always 0; 5,089 categories with their supercategories.",
            ),
        ),
        caveat="That the archives contain train_2017_bboxes.json and val_2017_bboxes.json follows from their names.",
    ),
    CocoJson(
        files=tuple(CocoFile(split, (f"{split}_2017_bboxes.json",)) for split in ("train", "val")),
        category_fields=("supercategory",),
        areas=False,
    ),
)

DIOR = Dataset(
    DatasetCard(
        name="DIOR",
        title="DIOR",
        citation="Li et al., Object detection in optical remote sensing images: A survey and a new benchmark, ISPRS "
        "Journal of Photogrammetry and Remote Sensing 159, 2020",
        homepage="http://www.escience.cn/people/gongcheng/DIOR.html",
        layout="Annotations/Horizontal Bounding Boxes/*.xml, JPEGImages-trainval/*.jpg, JPEGImages-test/*.jpg",
        verified="loaders",
        evidence=(
            loader(
                github("open-mmlab/mmrotate", "mmrotate/datasets/dior.py", "37ee2799ec"),
                "JPEGImages-trainval/NUMBER.jpg, Annotations/Oriented Bounding Boxes/NUMBER.xml (in addition to the "
                "horizontal ones); the 20 classes.",
            ),
            loader(
                github("microsoft/torchgeo", "torchgeo/datasets/dior.py", "2e2639a56f"),
                "Objects with name and bndbox of xmin, ymin, xmax, ymax, as in Pascal VOC; 20 classes.",
            ),
        ),
        caveat="Annotations/Horizontal Bounding Boxes is known from code of unknown origin. Loaders use the "
        "numbers unchanged; that they count from 1 is the rule of Pascal VOC.",
    ),
    VocObjects("Annotations/Horizontal Bounding Boxes", ("JPEGImages-trainval", "JPEGImages-test")),
)

CARPK = Dataset(
    DatasetCard(
        name="CARPK",
        title="CARPK",
        citation="Hsieh, Lin and Hsu, Drone-based Object Counting by Spatially Regularized Regional Proposal Networks, "
        "ICCV 2017",
        homepage="https://lafi.github.io/LPN/",
        layout="CARPK_devkit/data/Annotations/*.txt (lines x1 y1 x2 y2 1), CARPK_devkit/data/Images/*.png",
        labels=("car",),
        verified="loaders",
        evidence=(
            loader(
                github("natalib1/Car-Counting-Challenge", "datasets/draw_bounding_boxes.sh", "6d660329b3"),
                "CARPK_devkit/data/Annotations and CARPK_devkit/data/Images.",
            ),
            loader(
                github("natalib1/Car-Counting-Challenge", "datasets/tool/draw_bounding_boxes.py", "6d660329b3"),
                "NAME.txt of each image: five whole numbers per car, the first four x1 y1 x2 y2 in pixels.",
            ),
            loader(
                github("sordonia120446/vision", "app/carpk/draw_bounding_boxes.py", "27f869b764"),
                "The same columns; a car is x2 - x1 wide.",
            ),
        ),
    ),
    TextBoxes("data/Annotations", "data/Images", "car"),
)

CROWD_HUMAN = Dataset(
    DatasetCard(
        name="CrowdHuman",
        title="CrowdHuman",
        citation="Shao et al., CrowdHuman: A Benchmark for Detecting Human in a Crowd, arXiv 1805.00123, 2018",
        homepage="https://www.crowdhuman.org",
        layout="annotation_train.odgt, annotation_val.odgt, Images/*.jpg (the zips of train and val unpacked into one "
        "folder or several)",
        labels=("person",),
        extras="of an object: full_box and head_box as [x1, y1, x2, y2], not clipped; ignore, if set; of an image: "
        "split",
        notes="AVA-Bench names the Crowd Surveillance Dataset in its main text and CrowdHuman in its appendix, with "
        "the citation of a third one, VSCrowd. CrowdHuman and VSCrowd are read; no page that we know describes the "
        "files of the Crowd Surveillance Dataset (Yan et al. 2019). Persons with ignore, and `mask`, are not single "
        "persons: do not count images that have them.",
        verified="loaders",
        evidence=(
            loader(
                github("open-mmlab/mmdetection", "mmdet/datasets/crowdhuman.py", "0854fb2d2e"),
                "ID.jpg is the image; fbox, vbox and hbox are [x, y, width, height] in pixels; tags other than "
                "person, and extra.ignore, are not single persons.",
            ),
            loader(
                github("dataset-ninja/crowdhuman", "src/convert.py", "b8121238dd"),
                "annotation_train.odgt and annotation_val.odgt, one JSON object per line with ID and gtboxes; images "
                "in CrowdHuman_train0N/Images and CrowdHuman_val/Images.",
            ),
        ),
    ),
    CrowdHuman(),
)

VS_CROWD = Dataset(
    DatasetCard(
        name="VSCrowd",
        title="VSCrowd",
        citation="Li et al., Video Crowd Localization With Multifocus Gaussian Neighborhood Attention and a "
        "Large-Scale Benchmark, IEEE Transactions on Image Processing 31, 2022",
        homepage="https://github.com/HopLee6/VSCrowd-Dataset",
        layout="annotations/VIDEO.txt (VIDEO is train_NNN or test_NNN; one line per frame: FrameID, then HeadID x1 y1 "
        "x2 y2 p1 p2 for each head), videos/VIDEO/FrameID.jpg",
        labels=("person",),
        extras="of an object: head, its id in the video; point, x and y of its centre in pixels; of an image: video; "
        "split",
        notes="AVA-Bench cites it for crowds, under the names of two other datasets (see CrowdHuman). Boxes are "
        "those of heads. The five frames per second are nearly the same image: keep those of a video on one side of a "
        "split. The page counts 634 videos, 479 for training and 137 for testing, which add up to 616.",
        verified="listing",
        evidence=(
            listing(
                "https://github.com/HopLee6/VSCrowd-Dataset",
                "train_XXX.txt and test_XXX.txt, one line per frame: FrameID, then for each head HeadID x1 y1 x2 y2 p1 "
                "p2 (left, top, right, bottom, centre); 0001 is the first frame.",
            ),
        ),
        caveat="The paths videos/VIDEO/FRAME.jpg and annotations/ are known from code of unknown origin.",
    ),
    VsCrowd(),
)

FSC_147 = Dataset(
    DatasetCard(
        name="FSC-147",
        title="FSC-147",
        citation="Ranjan et al., Learning To Count Everything, CVPR 2021",
        homepage="https://github.com/cvlab-stonybrook/LearningToCountEverything",
        layout="annotation_FSC147_384.json, ImageClasses_FSC147.txt, Train_Test_Val_FSC_147.json, "
        "images_384_VarV2/*.jpg",
        extras="of an object: point, x and y in pixels; of an image: split",
        verified="listing",
        evidence=(
            listing(
                github("cvlab-stonybrook/LearningToCountEverything", "test.py", "18df403e0e"),
                "images_384_VarV2; a split is a list of file names under train, val, test; an image has "
                "box_examples_coordinates and points, in pixels of that folder's images.",
            ),
            listing(
                github("cvlab-stonybrook/LearningToCountEverything", "data/ImageClasses_FSC147.txt", "a8041e89fe"),
                "The file of classes is in the repository, next to Train_Test_Val_FSC_147.json.",
            ),
            loader(
                github("Verg-Avesta/CounTR", "util/FSC147.py", "01e83fd438"),
                "The first number of a point is along the width, the second along the height.",
            ),
        ),
        caveat="The authors' stored code calls the annotations json_annotationCombined_384_VarV2_updated1.json; "
        "annotation_FSC147_384.json is the name in much other code, which was read without its repositories.",
    ),
    Fsc147(),
)

KITTI = Dataset(
    DatasetCard(
        name="KITTI",
        title="KITTI, object and depth benchmarks",
        licence="CC BY-NC-SA 3.0",
        citation="Geiger et al., Vision meets Robotics: The KITTI Dataset, IJRR 32(11), 2013; Uhrig et al., Sparsity "
        "Invariant CNNs, 3DV 2017",
        homepage="https://www.cvlibs.net/datasets/kitti/",
        layout="training/image_2/*.png, training/label_2/*.txt; for depth also mapping/ of the object devkit and "
        "data_depth_annotated/{train,val}/DRIVE/proj_depth/groundtruth/image_02/*.png",
        extras="of an object: truncated, occluded, size_m (height, width, length), at_m (x, y, z), rotation_y, "
        "nearest_m; of an image: drive, if the devkit's mapping gives it; unmarked, if there are DontCare regions: "
        "x1, y1, x2, y2 of all of them, one after the other",
        notes="DontCare regions are not objects; objects in them are not marked. nearest_m is the distance of the "
        "nearest corner of the object's box along the camera's axis, computed from its position, size and rotation. "
        "Depth is measured by laser at some pixels only, and for those images whose frame is in the depth benchmark.",
        verified="loaders",
        evidence=(
            loader(
                github("tensorflow/datasets", "tensorflow_datasets/object_detection/kitti.py", "0acf31d0f6"),
                "The 15 columns of training/label_2 in order, DontCare left out, left, top, right, bottom in "
                "pixels from the upper left corner; mapping/train_rand.txt counts lines of mapping/train_mapping.txt "
                "from 1, whose second word is the drive.",
            ),
            loader(
                github("pytorch/vision", "torchvision/datasets/kitti.py", "004357d84c"),
                "One text file per image, of the same number; columns 4 to 7 the box, 8 to 10 height, width and "
                "length, 11 to 13 the position, 14 the rotation.",
            ),
        ),
        caveat="The paths of the depth benchmark's files, and that their values are metres times 256, are from the "
        "readme of its devkit, which was not available.",
    ),
    Kitti(),
)
