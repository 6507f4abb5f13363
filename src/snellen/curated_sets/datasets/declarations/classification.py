"""Datasets with one class per image or face: textures, scenes, emotions, birds, aircraft, actions."""

from snellen.curated_sets.datasets.dataset import Dataset, DatasetCard
from snellen.curated_sets.datasets.evidence import github, listing, loader
from snellen.curated_sets.datasets.formats.class_folders import ClassFolders
from snellen.curated_sets.datasets.formats.lists import ClassLists, NamedList
from snellen.curated_sets.datasets.formats.named_files import Aircraft, Cub200, Kylberg

DTD = Dataset(
    DatasetCard(
        name="DTD",
        title="DTD (Describable Textures Dataset)",
        citation="Cimpoi et al., Describing Textures in the Wild, CVPR 2014",
        homepage="https://www.robots.ox.ac.uk/~vgg/data/dtd/",
        layout="dtd/images/TEXTURE/*.jpg",
        verified="loaders",
        evidence=(
            loader(
                github("pytorch/vision", "torchvision/datasets/dtd.py", "051ba34919"),
                "dtd-r1.0.1.tar.gz: dtd/images/CLASS/NAME, as listed in dtd/labels/SPLIT.txt.",
            ),
            loader(
                github("tensorflow/datasets", "tensorflow_datasets/image_classification/dtd.py", "0d456aef87"),
                "The same archive and folders; the class is the folder.",
            ),
        ),
    ),
    ClassFolders(""),
)

KYLBERG = Dataset(
    DatasetCard(
        name="Kylberg",
        title="Kylberg Texture Dataset",
        citation="Kylberg, The Kylberg Texture Dataset v. 1.0, Uppsala University, 2011",
        layout="TEXTURE-SAMPLE-PATCH.png (blanket1-a-p001.png) in any folders",
        verified="loaders",
        evidence=(
            loader(
                github(
                    "Graviti-AI/tensorbay-python-sdk", "tensorbay/opendataset/KylbergTexture/loader.py", "2e76b29ed3"
                ),
                "Classes are in the names: blanket1-a-p001.png is a patch (withoutRotateAll/), "
                "blanket1-a-p001-r30.png a rotated one, blanket1-a.png the photograph (originalPNG/).",
            ),
            loader(
                github("xekchansky/BOINC-TCNN-balancer", "preprocessing/process_kylberg.py", "002700ff4c"),
                "One archive per texture, whose name up to the first - is the class; patches of 576 x 576 pixels.",
            ),
            loader(
                github("vishnurchityala/kylberg-texture-classification", "src/train_model.py", "bc71f420e0"),
                "160 patches per class.",
            ),
        ),
    ),
    Kylberg(),
)

KTH_TIPS = Dataset(
    DatasetCard(
        name="KTH-TIPS",
        title="KTH-TIPS",
        citation="Fritz et al., The KTH-TIPS database, 2004",
        homepage="https://www.csc.kth.se/cvap/databases/kth-tips/",
        layout="KTH_TIPS/MATERIAL/*.png",
        verified="loaders",
        evidence=(
            loader(
                github("google-deepmind/dm_nevis", "dm_nevis/datasets_storage/handlers/kth_tips.py", "7dc53a2411"),
                "kth_tips_col_200x200.tar contains KTH_TIPS/MATERIAL/*.png, such as linen/44-scale_3_im_1_col.png; "
                "the folder is the class.",
            ),
            loader(
                github("scatnet/scatnet", "classification/kthtips_src.m", "44bbc6aacc"),
                "The class of an image in KTH_TIPS is its folder.",
            ),
        ),
        caveat="The archive of grey images unpacks to the same KTH_TIPS: keep them apart.",
    ),
    ClassFolders(""),
)

KTH_TIPS2_B = Dataset(
    DatasetCard(
        name="KTH-TIPS2-b",
        title="KTH-TIPS2-b",
        citation="Mallikarjuna et al., The KTH-TIPS2 database, 2006",
        homepage="https://www.csc.kth.se/cvap/databases/kth-tips/",
        layout="KTH-TIPS2-b/MATERIAL/sample_{a,b,c,d}/*.png",
        verified="loaders",
        evidence=(
            listing(
                "https://m.moam.info/the-kth-tips2-database_5b1a33227f8b9ab76d8b45c9.html",
                "The users' guide: four physical samples of each of 11 materials; no folder is named.",
            ),
            loader(
                github("google-deepmind/dm_nevis", "dm_nevis/datasets_storage/handlers/kth_tips.py", "7dc53a2411"),
                "MATERIAL/sample_a/22a-scale_10_im_10_col.png; the class is the folder above the sample.",
            ),
            loader(
                github("scabini/RADAM", "datasets.py", "41c182f565"),
                "The same, sample_a to sample_d; 11 materials from aluminium_foil to wool; there are also *.txt and "
                "*.pdf files.",
            ),
        ),
    ),
    ClassFolders("", between=1),
)

AID = Dataset(
    DatasetCard(
        name="AID",
        title="AID",
        citation="Xia et al., AID: A Benchmark Data Set for Performance Evaluation of Aerial Scene "
        "Classification, IEEE TGRS 55(7), 2017",
        homepage="https://captain-whu.github.io/AID/",
        layout="AID/SCENE/*.jpg",
        verified="loaders",
        evidence=(
            loader(
                "https://huggingface.co/spaces/LINC-BIT/EdgeTA/blame/4dff05912ff92a09351791463e0278cfb70de7a8/data/da"
                "tasets/image_classification/aid.py",
                "One folder per class; 30 classes.",
            ),
            loader(
                "https://huggingface.co/datasets/isaaccorley/aid", "Files airport_1.jpg …, named after their class."
            ),
            loader(
                "https://huggingface.co/datasets/blanchon/AID/blob/main/README.md",
                "10,000 images of 600 x 600 pixels in 30 classes.",
            ),
        ),
    ),
    ClassFolders(""),
)

PLACES = Dataset(
    DatasetCard(
        name="Places434",
        title="Places365 and its 69 further classes",
        citation="Zhou et al., Places: A 10 Million Image Database for Scene Recognition, TPAMI 40(6), 2018",
        homepage="http://places2.csail.mit.edu",
        layout="places365_train_standard.txt, places365_val.txt, categories_places365.txt, data_256_standard/ or "
        "data_256/, val_256/, extra69_train.txt, categories_extra69.txt, data_256_extra/ (file lists and small images "
        "from the page)",
        extras="of an image: split",
        notes="434 = 365 + 69, and with the 30 classes of AID the 464 of AVA-Bench's main text.",
        verified="loaders",
        evidence=(
            loader(
                github("pytorch/vision", "torchvision/datasets/places365.py", "051ba34919"),
                "The names of the lists of train-standard and val; class numbers as in categories_places365.txt; "
                "data_256_standard (the name of data_256 after unpacking) and val_256.",
            ),
            loader(
                github(
                    "tensorflow/datasets",
                    "tensorflow_datasets/image_classification/places365_small.py",
                    "0560e686de",
                ),
                "The same lists; names of train begin with /, those of val do not; the archives unpack to data_256 "
                "and val_256.",
            ),
        ),
        caveat="The 69 further classes: no public page or loader describes their lists and folders.",
    ),
    ClassLists((
        NamedList(
            "places365_train_standard.txt", ("data_256_standard", "data_256"), "train", "categories_places365.txt"
        ),
        NamedList("places365_val.txt", ("val_256",), "val", "categories_places365.txt"),
        NamedList("extra69_train.txt", ("data_256_extra",), "train", "categories_extra69.txt"),
    )),
)  # fmt: skip

RAF_DB = Dataset(
    DatasetCard(
        name="RAF-DB",
        title="RAF-DB, basic emotions",
        citation="Li and Deng, Reliable Crowdsourcing and Deep Locality-Preserving Learning for Unconstrained Facial "
        "Expression Recognition, IEEE TIP 28(1), 2019",
        homepage="http://www.whdeng.cn/RAF/model1.html",
        layout="basic/EmoLabel/list_patition_label.txt (lines NAME NUMBER), basic/Image/original/*.jpg, "
        "basic/Annotation/boundingbox/NAME_boundingbox.txt (left, top, right, bottom)",
        notes="The box is that of the one face with an emotion; the image may show others. Without the folder "
        "of boxes, faces have none. The landmarks are not read.",
        verified="loaders",
        evidence=(
            loader(
                github("HCPLab-SYSU/CD-FER-Benchmark", "DFA/Utils.py", "1059c1c54f"),
                "RAF/basic/EmoLabel/list_patition_label.txt of name and number, numbers from 1 in the order "
                "surprise, fear, disgust, happy, sad, angry, neutral; Image/original with one box per image in "
                "Annotation/boundingbox, four numbers per file; names begin with train_ and test_.",
            ),
            loader(
                github("yaoing/DAN", "rafdb.py", "10179a53f4"),
                "EmoLabel/list_patition_label.txt of name and number, one space between; 1 is surprise, then fear, "
                "disgust, happiness, sadness, anger, neutral.",
            ),
        ),
        caveat="The files of boxes are read as NAME_boundingbox.txt, as in code of unknown origin; "
        "CD-FER-Benchmark calls them NAME.txt. The number of faces in a whole image is not documented.",
    ),
    ClassLists(
        (NamedList("EmoLabel/list_patition_label.txt", ("Image/original",)),),
        labels={"1": "surprise", "2": "fear", "3": "disgust", "4": "happiness", "5": "sadness", "6": "anger",
                "7": "neutral"},
        boxes="Annotation/boundingbox",
    ),
)  # fmt: skip

EXPW = Dataset(
    DatasetCard(
        name="ExpW",
        title="Expression in-the-Wild",
        citation="Zhang et al., From Facial Expression Recognition to Interpersonal Relation Prediction, IJCV 126, "
        "2018",
        homepage="http://mmlab.ie.cuhk.edu.hk/projects/socialrelation/index.html",
        layout="data/label/label.lst (lines image, face, top, left, right, bottom, confidence, emotion), "
        "data/image/origin/*.jpg",
        notes="An image may show several faces: each is an object with a box.",
        verified="loaders",
        evidence=(
            loader(
                github("HazyResearch/meerkat", "meerkat/datasets/expw/__init__.py", "0d12ac1df2"),
                "label/label.lst of eight columns (name, face, top, left, right, bottom, confidence, emotion) and "
                "image/origin; several faces per image, repeated lines.",
            ),
            loader(
                github("HCPLab-SYSU/CD-FER-Benchmark", "DFA/Utils.py", "1059c1c54f"),
                "data/image/origin; 0 is angry, then disgust, fear, happy, sad, surprise, neutral.",
            ),
        ),
    ),
    ClassLists(
        (NamedList("label/label.lst", ("image/origin",)),),
        label=7,
        box=(3, 2, 4, 5),
        labels={"0": "angry", "1": "disgust", "2": "fear", "3": "happy", "4": "sad", "5": "surprise", "6": "neutral"},
    ),
)

CUB = Dataset(
    DatasetCard(
        name="CUB-200-2011",
        title="Caltech-UCSD Birds-200-2011",
        citation="Wah et al., The Caltech-UCSD Birds-200-2011 Dataset, CNS-TR-2011-001, 2011",
        homepage="https://www.vision.caltech.edu/datasets/cub_200_2011/",
        layout="CUB_200_2011/{images,image_class_labels,classes,bounding_boxes,train_test_split}.txt, "
        "CUB_200_2011/images/CLASS/*.jpg",
        extras="of an image: split",
        verified="loaders",
        evidence=(
            loader(
                github(
                    "tensorflow/datasets", "tensorflow_datasets/image_classification/caltech_birds.py", "022193c1f0"
                ),
                "CUB_200_2011/{images,train_test_split,bounding_boxes}.txt, each with the number of the image "
                "first; 1 is train; boxes are x, y, width, height in pixels, used unchanged; 200 classes.",
            ),
            loader(
                github("open-mmlab/mmpretrain", "mmpretrain/datasets/cub.py", "63dbff8b64"),
                "The same folder with image_class_labels.txt; images and classes are counted from 1; 5,994 "
                "training images, 5,794 test images.",
            ),
        ),
        caveat="Whether the first pixel of a box is 0 or 1 is not documented: it is read as 0.",
    ),
    Cub200(),
)

AIRCRAFT = Dataset(
    DatasetCard(
        name="FGVC-Aircraft",
        title="FGVC-Aircraft 2013b",
        citation="Maji et al., Fine-Grained Visual Classification of Aircraft, arXiv 1306.5151, 2013",
        homepage="https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/",
        layout="data/images_variant_{train,val,test}.txt, data/images_box.txt, data/images/*.jpg",
        extras="of an image: split",
        notes="For research only. The last 20 rows of an image are a banner with its author.",
        verified="loaders",
        evidence=(
            loader(
                github("pytorch/vision", "torchvision/datasets/fgvc_aircraft.py", "12b74a0e8b"),
                "fgvc-aircraft-2013b/data/images_variant_SPLIT.txt of the image's number, a space and the variant, "
                "which may contain spaces; data/images/NUMBER.jpg.",
            ),
            loader(
                github("open-mmlab/mmpretrain", "mmpretrain/datasets/fgvcaircraft.py", "1cad446b1e"),
                "The same files; 100 variants, 6,667 images for training and validation, 3,333 for testing.",
            ),
        ),
        caveat="That boxes in images_box.txt are xmin, ymin, xmax, ymax counted from 1 comes from the archive's "
        "readme, which was not available.",
    ),
    Aircraft(),
)

MOMENTS = Dataset(
    DatasetCard(
        name="Moments-in-Time",
        title="Moments in Time",
        citation="Monfort et al., Moments in Time Dataset: one million videos for event understanding, TPAMI 42(2), "
        "2020",
        homepage="http://moments.csail.mit.edu",
        layout="trainingSet.csv, validationSet.csv (lines PATH,ACTION,votes for,votes against), "
        "training/ACTION/*.mp4, validation/ACTION/*.mp4",
        extras="of an image: split",
        notes="For research only. The image is the middle frame.",
        verified="loaders",
        evidence=(
            loader(
                github("open-mmlab/mmaction2", "tools/data/mit/preprocess_data.sh", "96662d4429"),
                "Moments_in_Time_Raw.zip unpacks to training/, validation/ and lists *.csv and *.txt together.",
            ),
            loader(
                github("open-mmlab/mmaction2", "tools/data/mit/README.md", "2ceb3fa064"),
                "trainingSet.csv, validationSet.csv, moments_categories.txt; training/yawning/NAME.mp4, classes such "
                "as adult+female+singing.",
            ),
            loader(
                github("henniekim/moments-in-time-data-parsing", "data_parsing.py", "006f332bbd"),
                "The lists have no header; column 1 is the video's path in the folder of the split, column 2 its "
                "action.",
            ),
        ),
        caveat="The second loader reads the publisher's smaller edition, which has the same lists.",
    ),
    ClassLists(
        (NamedList("trainingSet.csv", ("training",), "train"), NamedList("validationSet.csv", ("validation",), "val")),
        separator=",", video=True,
    ),
)  # fmt: skip
