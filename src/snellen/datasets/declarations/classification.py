"""Datasets of one class a picture or face: textures, scenes, emotions, kinds of birds and aircraft, actions."""

from snellen.datasets.dataset import Dataset, DatasetCard
from snellen.datasets.declarations import UNKNOWN
from snellen.datasets.formats.class_folders import ClassFolders
from snellen.datasets.formats.lists import ClassLists, NamedList
from snellen.datasets.formats.named_files import Aircraft, Cub200


def _class_folders(name: str, citation: str, homepage: str, layout: str, between: int = 0) -> Dataset:
    return Dataset(DatasetCard(name, name, UNKNOWN, citation, homepage, layout), ClassFolders("", between))


DTD = _class_folders(
    "DTD", "Cimpoi et al., Describing Textures in the Wild, CVPR 2014",
    "https://www.robots.ox.ac.uk/~vgg/data/dtd/", "dtd/images/TEXTURE/*.jpg (homepage)",
)  # fmt: skip
KYLBERG = _class_folders(
    "Kylberg", "Kylberg, The Kylberg Texture Dataset v. 1.0, Uppsala University, 2011", "",
    "TEXTURE/*.png (one archive a texture; the name of its folder is the class)",
)  # fmt: skip
KTH_TIPS = _class_folders(
    "KTH-TIPS", "Fritz et al., The KTH-TIPS database, 2004",
    "https://www.csc.kth.se/cvap/databases/kth-tips/", "KTH_TIPS/MATERIAL/*.png (homepage)",
)  # fmt: skip
KTH_TIPS2_B = _class_folders(
    "KTH-TIPS2-b", "Mallikarjuna et al., The KTH-TIPS2 database, 2006",
    "https://www.csc.kth.se/cvap/databases/kth-tips/", "KTH-TIPS2-b/MATERIAL/sample_{a,b,c,d}/*.png (homepage)", 1,
)  # fmt: skip
AID = _class_folders(
    "AID", "Xia et al., AID: A Benchmark Data Set for Performance Evaluation of Aerial Scene Classification, "
    "IEEE TGRS 55(7), 2017", "https://captain-whu.github.io/AID/", "AID/SCENE/*.jpg (homepage)",
)  # fmt: skip

PLACES = Dataset(
    DatasetCard(
        name="Places434",
        title="Places365 and its 69 further classes",
        licence=UNKNOWN,
        citation="Zhou et al., Places: A 10 Million Image Database for Scene Recognition, TPAMI 40(6), 2018",
        homepage="http://places2.csail.mit.edu",
        layout="places365_train_standard.txt, places365_val.txt, categories_places365.txt, data_256_standard/, "
        "val_256/, extra69_train.txt, categories_extra69.txt, data_256_extra/ (filelists and small pictures of the "
        "page; by loaders of it)",
        extras="of a picture: split",
        notes="434 = 365 + 69, and with the 30 classes of AID the 464 of AVA-Bench's main text.",
    ),
    ClassLists((
        NamedList("places365_train_standard.txt", "data_256_standard", "train", "categories_places365.txt"),
        NamedList("places365_val.txt", "val_256", "val", "categories_places365.txt"),
        NamedList("extra69_train.txt", "data_256_extra", "train", "categories_extra69.txt"),
    )),
)  # fmt: skip

RAF_DB = Dataset(
    DatasetCard(
        name="RAF-DB",
        title="RAF-DB, basic emotions",
        licence=UNKNOWN,
        citation="Li and Deng, Reliable Crowdsourcing and Deep Locality-Preserving Learning for Unconstrained Facial "
        "Expression Recognition, IEEE TIP 28(1), 2019",
        homepage="http://www.whdeng.cn/RAF/model1.html",
        layout="basic/EmoLabel/list_patition_label.txt (lines NAME NUMBER), basic/Image/original/*.jpg, "
        "basic/Annotation/boundingbox/NAME_boundingbox.txt (left, top, right, bottom)",
        notes="The box is that of the one face that has an emotion: others may be in the picture. Without the folder "
        "of the boxes faces have none. The landmarks are not read.",
    ),
    ClassLists(
        (NamedList("EmoLabel/list_patition_label.txt", "Image/original"),),
        labels={"1": "surprise", "2": "fear", "3": "disgust", "4": "happiness", "5": "sadness", "6": "anger",
                "7": "neutral"},
        boxes="Annotation/boundingbox",
    ),
)  # fmt: skip

EXPW = Dataset(
    DatasetCard(
        name="ExpW",
        title="Expression in-the-Wild",
        licence=UNKNOWN,
        citation="Zhang et al., From Facial Expression Recognition to Interpersonal Relation Prediction, IJCV 126, "
        "2018",
        homepage="http://mmlab.ie.cuhk.edu.hk/projects/socialrelation/index.html",
        layout="data/label/label.lst (lines picture, face, top, left, right, bottom, confidence, emotion), "
        "data/image/origin/*.jpg",
        notes="A picture may show several faces: each is a thing with a box.",
    ),
    ClassLists(
        (NamedList("label/label.lst", "image/origin"),),
        label=7,
        box=(3, 2, 4, 5),
        labels={"0": "angry", "1": "disgust", "2": "fear", "3": "happy", "4": "sad", "5": "surprise", "6": "neutral"},
    ),
)

CUB = Dataset(
    DatasetCard(
        name="CUB-200-2011",
        title="Caltech-UCSD Birds-200-2011",
        licence=UNKNOWN,
        citation="Wah et al., The Caltech-UCSD Birds-200-2011 Dataset, CNS-TR-2011-001, 2011",
        homepage="https://www.vision.caltech.edu/datasets/cub_200_2011/",
        layout="CUB_200_2011/{images,image_class_labels,classes,bounding_boxes,train_test_split}.txt, "
        "CUB_200_2011/images/CLASS/*.jpg (README of the archive)",
        extras="of a picture: split",
    ),
    Cub200(),
)

AIRCRAFT = Dataset(
    DatasetCard(
        name="FGVC-Aircraft",
        title="FGVC-Aircraft 2013b",
        licence=UNKNOWN,
        citation="Maji et al., Fine-Grained Visual Classification of Aircraft, arXiv 1306.5151, 2013",
        homepage="https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/",
        layout="data/images_variant_{train,val,test}.txt, data/images_box.txt, data/images/*.jpg (README of the "
        "archive)",
        extras="of a picture: split",
        notes="For research only. The last 20 rows of a picture are a banner with its author.",
    ),
    Aircraft(),
)

MOMENTS = Dataset(
    DatasetCard(
        name="Moments-in-Time",
        title="Moments in Time",
        licence=UNKNOWN,
        citation="Monfort et al., Moments in Time Dataset: one million videos for event understanding, TPAMI 42(2), "
        "2020",
        homepage="http://moments.csail.mit.edu",
        layout="trainingSet.csv, validationSet.csv (lines PATH,ACTION,votes for,votes against), "
        "training/ACTION/*.mp4, validation/ACTION/*.mp4 (by loaders of it)",
        extras="of a picture: split",
        notes="For research only. The picture is the middle frame.",
    ),
    ClassLists(
        (NamedList("trainingSet.csv", "training", "train"), NamedList("validationSet.csv", "validation", "val")),
        separator=",", video=True,
    ),
)  # fmt: skip
