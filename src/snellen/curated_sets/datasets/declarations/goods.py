"""Datasets of goods and of photographic exposure."""

from snellen.curated_sets.datasets.dataset import Dataset, DatasetCard
from snellen.curated_sets.datasets.evidence import github, listing, loader
from snellen.curated_sets.datasets.formats.attributes_mat import Attribute, AttributesMat
from snellen.curated_sets.datasets.formats.class_folders import ClassFolders, ClassShards
from snellen.curated_sets.datasets.formats.exposures import Exposures
from snellen.curated_sets.datasets.formats.image_masks import FolderPair, ImagesAndMasks
from snellen.curated_sets.datasets.formats.mvtec import MvtecLayout
from snellen.curated_sets.datasets.formats.product_lists import ProductList

COLOURS = ("black", "blue", "brown", "cyan", "gray", "green", "many_colors", "purple", "red", "white", "yellow")
PATTERNS = ("floral", "graphics", "plaid", "solid", "spot", "stripe")

WFDD = Dataset(
    DatasetCard(
        name="WFDD",
        title="WFDD (Woven Fabric Defect Detection)",
        citation="Chen et al., A Unified Anomaly Synthesis Strategy with Gradient Ascent for Industrial Anomaly "
        "Detection and Localization, arXiv 2407.09359, 2024",
        homepage="https://arxiv.org/abs/2407.09359",
        layout="CLOTH/train/good, CLOTH/test/DEFECT, CLOTH/ground_truth/DEFECT (as MVTec AD)",
        objects=("grey_cloth", "grid_cloth", "pink_flower", "yellow_cloth"),
        verified="listing",
        evidence=(
            listing(
                github("cqylunlun/GLASS", "shell/run-wfdd.sh", "3c1777adb0"),
                "The 4 objects by the names of their folders, read by the code for MVTec AD.",
            ),
            listing(
                github("cqylunlun/GLASS", "README.md", "007f783e73"),
                "4,101 images of 4 cloths; three kinds of defects, with pixel masks.",
            ),
        ),
        caveat="Table 5 of VFM Bench counts 444 images, the authors 4,101.",
    ),
    MvtecLayout(),
)

AITEX = Dataset(
    DatasetCard(
        name="AITEX",
        title="AITEX Fabric Image Database",
        citation="Silvestre-Blanes et al., A Public Fabric Database for Defect Detection Methods and Results, Autex "
        "Research Journal 19(4), 2019",
        homepage="https://www.aitex.es/afid/",
        layout="Defect_images/NNNN_DDD_FF.png, Mask_images/NNNN_DDD_FF_mask.png, NODefect_images/FABRIC/*.png",
        labels=("defect", "no defect"),
        notes="Two classes; the defect code (DDD) is not read.",
        verified="loaders",
        evidence=(
            loader(
                github("dataset-ninja/afid", "src/convert.py", "aeebaa0e8a"),
                "Defect_images, Mask_images with NAME_mask.png (non-zero is marked), NODefect_images with one folder "
                "per fabric; the second part of a name is the defect code, the third the fabric code.",
            ),
            loader(
                github("chaeyeon2367/dl-python-ImageDetection", "README.md"),
                "245 images, 140 without a defect; nnnn_ddd_ff.png and nnnn_ddd_ff_mask.png, as on the dataset's page.",
            ),
        ),
        caveat="Masks in two files (NAME_mask1.png, NAME_mask2.png) are also read; no page mentions them.",
    ),
    ImagesAndMasks(
        "fabric", (FolderPair("Defect_images", "Mask_images", "defect"), FolderPair("NODefect_images", "", "no defect"))
    ),
)

PRODUCT1M = Dataset(
    DatasetCard(
        name="Product1M",
        title="Product1M",
        citation="Zhan et al., Product1M: Towards Weakly Supervised Instance-Level Product Retrieval via Cross-Modal "
        "Pretraining, ICCV 2021",
        homepage="https://github.com/zhanxlin/Product1M",
        layout="product1m_dev_ossurl_v2.txt, product1m_test_ossurl_v2.txt (lines "
        "id#####title#####url#####url#####product#;#product) and images/ID.jpg: the images that the lists link to",
        notes="Images of several products have no single class and are left out. The training list has no classes.",
        verified="listing",
        evidence=(
            listing(
                github("zhanxlin/Product1M", "product1m_dev_ossurl_v2.txt", "db3ac79595"),
                "The list itself: number, title, two addresses of the image, the second ending with NUMBER.jpg, "
                "and products separated by #;#; several of one product are repeated.",
            ),
            listing(
                github("zhanxlin/Product1M", "README.md", "035267011d"),
                "The two addresses of a line lead to the same image; the lists of train and gallery are separate "
                "downloads.",
            ),
        ),
        caveat="The folder images/ next to the lists is our choice: the release has only addresses.",
    ),
    ProductList(
        "cosmetics",
        (("product1m_dev_ossurl_v2.txt", "images"), ("product1m_test_ossurl_v2.txt", "images")),
        name="0",
        label="4",
        separator="#####",
        header=False,
        suffix=".jpg",
        several="#;#",
    ),
)

PRODUCTS_10K = Dataset(
    DatasetCard(
        name="Products-10K",
        title="Products-10K",
        citation="Bai et al., Products-10K: A Large-scale Product Recognition Dataset, arXiv 2008.10545, 2020",
        homepage="https://arxiv.org/abs/2008.10545",
        layout="train.csv (name,class,group) with train/, test_kaggletest.csv (the same columns) with test/",
        notes="Classes are product numbers and compete within their group; their names are not released.",
        verified="loaders",
        evidence=(
            loader(
                github("melgor/Visual-Product-Recognition-2023", "HOW_TO_TRAIN_MODELS.md", "2e31c32cc9"),
                "train.csv next to train/, test_kaggletest.csv next to test/.",
            ),
            loader(
                github("melgor/Visual-Product-Recognition-2023", "visual_search/dataset/dataset.py", "2e31c32cc9"),
                "Columns name (of the image in the folder) and class.",
            ),
            loader(
                github(
                    "Strekalov/1st-place-solution-visual-product-recognition-challenge-2023",
                    "MCS2023_baseline/data_utils/dataset.py",
                    "a9bb2188a8",
                ),
                "Three columns: image, class and group.",
            ),
            loader(
                github(
                    "Strekalov/1st-place-solution-visual-product-recognition-challenge-2023",
                    "MCS2023_baseline/config/pre_product10k.yml",
                    "a9bb2188a8",
                ),
                "train.csv next to train/.",
            ),
        ),
        caveat="The second loader merges two groups, 359 and 360, without giving a reason.",
    ),
    ProductList(
        "product group",
        (("train.csv", "train"), ("test_kaggletest.csv", "test")),
        name="name",
        label="class",
        group="group",
    ),
)

SCENERY_WATERMARK = Dataset(
    DatasetCard(
        name="SceneryWatermark",
        title="Scenery Watermark Detection",
        citation="Vesnin, Scenery Watermark Detection, Kaggle, 2023",
        homepage="https://www.kaggle.com/dsv/4926870",
        layout="data/train-0000N-of-00003-*.parquet of the copy on Hugging Face (columns image, label), or one folder "
        "per class",
        verified="listing",
        evidence=(
            listing(
                "https://huggingface.co/datasets/qwertyforce/scenery_watermarks/blob/main/README.md?code=true",
                "22,762 images of 512 x 512 pixels; columns image and label, a ClassLabel of no_watermark and "
                "watermark.",
            ),
            listing(
                "https://huggingface.co/datasets/qwertyforce/scenery_watermarks/tree/main/data",
                "Three files: train-00000-of-00003-ab1be11dcc36e61f.parquet and so on.",
            ),
        ),
        caveat="The copy on Kaggle is read as one folder per class: no page names its folders.",
    ),
    ClassShards("scenery"),
)

RICE_IMAGE = Dataset(
    DatasetCard(
        name="RiceImage",
        title="Rice Image Dataset",
        citation="Cinar and Koklu, Identification of Rice Varieties Using Machine Learning Algorithms, Journal of "
        "Agricultural Sciences, 2022",
        layout="Rice_Image_Dataset/VARIETY/*.jpg",
        labels=("Arborio", "Basmati", "Ipsala", "Jasmine", "Karacadag"),
        verified="loaders",
        evidence=(
            loader(
                github(
                    "StevanusO/Image-Classification-Dicoding-Proyek-3", "Proyek3/riceclassification.py", "4005f87aa9"
                ),
                "The archive unpacks to Rice_Image_Dataset/ with one folder per class: Arborio, Basmati, Ipsala, "
                "Jasmine, Karacadag.",
            ),
            loader(
                github(
                    "AliKHaliliT/75000-Rice-Image-Dataset-for-Object-Detection-and-Object-Segmentation", "README.md"
                ),
                "Five kinds of rice with 15,000 images each.",
            ),
            loader(
                "https://huggingface.co/datasets/nateraw/rice-image-dataset",
                "The same five classes, from folder names.",
            ),
        ),
    ),
    ClassFolders("rice"),
)

FABRICS = Dataset(
    DatasetCard(
        name="Fabrics",
        title="The Fabrics Dataset",
        citation="Kampouris et al., Fine-grained Material Classification Using Micro-geometry and Reflectance, "
        "ECCV 2016",
        layout="Fabrics/MATERIAL/SAMPLE/im_{1,2,3,4}.png",
        notes="The 26 classes of Table 5 of VFM Bench include the folder Unclassified (492 images), which names no "
        "material and is left out.",
        verified="loaders",
        evidence=(
            loader(
                github("naod488/Fabric_Classification", "Dataset_Analysis('fabrics').ipynb", "f6ef0c118a"),
                "26 folders with 7,881 PNG files: Cotton 2,352, Blended 1,645, Unclassified 492 and so on; Fur 0.",
            ),
            loader(
                github("elliswmartin/fabric", "0_preprocess.ipynb", "6fd23066cf"),
                "MATERIAL/NUMBER/im_1.png, im_2.png …: Blended/6, Wool/22.",
            ),
        ),
    ),
    ClassFolders("fabric", between=1, not_classes=("Unclassified",)),
)

IMAGE_EXPOSURES = Dataset(
    DatasetCard(
        name="ImageExposures",
        title="SICE (multi-exposure sequences), and over-exposed RAW images",
        citation="Cai et al., Learning a Deep Single Image Contrast Enhancer from Multi-Exposure Images, IEEE TIP "
        "27(4), 2018; Fu et al., Raw Image Based Over-Exposure Correction Using Channel-Guidance Strategy, IEEE TCSVT "
        "34(4), 2024",
        homepage="https://doi.org/10.1109/TIP.2018.2794218",
        layout="{Dataset_Part1,Dataset_Part2}/SCENE/1.JPG … from dark to bright, PART/Label/SCENE.JPG",
        labels=("under-exposed", "well exposed", "over-exposed"),
        notes="Three classes. The RAW images of Fu et al. are not read: no page that we know describes their layout, "
        "and subjects take no RAW.",
        verified="loaders",
        evidence=(
            listing(
                github("csjcai/SICE", "README.md", "0704e0a977"),
                "Part 1 of 360 sequences and part 2 of 229, whose references are a separate archive: 4,413 "
                "images; no folder is named.",
            ),
            loader(
                github("ZhaoChuyang/DeepLLE", "deeplle/data/datasets/sice.py", "6c31126d9d"),
                "Dataset_Part1 and Dataset_Part2, one folder per sequence, and Label with the reference under the "
                "sequence's name. Dark images are found by their brightness, not by their numbers.",
            ),
            loader(
                github("bznick98/bilateral-image-enhance", "datasets/SICE.py", "46bbeeb51b"),
                "The same folders. In the order of their numbers, the first half of a sequence is under-exposed (3 "
                "of 7 images, 4 of 9).",
            ),
        ),
    ),
    Exposures("scene"),
)

CLOTHING_ATTRIBUTES = Dataset(
    DatasetCard(
        name="ClothingAttributesDataset",
        title="Clothing Attributes Dataset",
        citation="Chen, Gallagher and Girod, Describing Clothing by Semantic Attributes, ECCV 2012",
        homepage="https://doi.org/10.1007/978-3-642-33712-3_44",
        layout="images/000001.jpg …, labels/ATTRIBUTE_GT.mat with a column GT",
        objects=(
            "color", "pattern", "category", "neckline", "sleevelength", "gender", "collar", "necktie", "placket",
            "scarf", "skin_exposure",
        ),
        notes="Eleven objects of 42 classes: 11 colours, 6 patterns, 7 + 3 + 3, and six of two. "
        "Values count from 1, in the order of the publisher's README.",
        verified="listing",
        evidence=(
            listing(
                github("suki2691/ClothingClassifier", "ClothingAttributeDataset/README", "e20a181fd9"),
                "The publisher's README in a copy of the files: 1,856 images, 26 attributes, the names of the "
                "values 1, 2, 3 … of each in order, NaN if the annotators did not agree.",
            ),
            listing(
                github(
                    "suki2691/ClothingClassifier",
                    "ClothingAttributeDataset/labels/skin_exposure_GT.mat",
                    "e20a181fd9",
                ),
                "The copy's files: images/000001.jpg … and labels/ATTRIBUTE_GT.mat of the 26 attributes under these "
                "names.",
            ),
            loader(
                github("nmeripo/Identifying-Clothing-Attributes", "preprocess.py", "6a1eb30f64"),
                "The table of a file is called GT, and its row N is image N+1.",
            ),
            loader(
                github(
                    "prompath/kaggle-clothing-attributes",
                    "src/kaggle_clothing_attributes/consts.py",
                    "2405b97ee0",
                ),
                "The same values in the same order.",
            ),
        ),
    ),
    AttributesMat(
        (
            Attribute("color", COLOURS, COLOURS),
            Attribute("pattern", tuple(f"pattern_{name}" for name in PATTERNS), PATTERNS),
            Attribute(
                "category",
                ("category",),
                ("shirt", "sweater", "t-shirt", "outerwear", "suit", "tank top", "dress"),
            ),
            Attribute("neckline", ("neckline",), ("v-shape", "round", "others")),
            Attribute("sleevelength", ("sleevelength",), ("no sleeves", "short sleeves", "long sleeves")),
            Attribute("gender", ("gender",), ("male", "female")),
            Attribute("collar", ("collar",), ("no collar", "has collar")),
            Attribute("necktie", ("necktie",), ("no necktie", "has necktie")),
            Attribute("placket", ("placket",), ("no placket", "has placket")),
            Attribute("scarf", ("scarf",), ("no scarf", "wears scarf")),
            Attribute("skin_exposure", ("skin_exposure",), ("low exposure", "high exposure")),
        )
    ),
)  # fmt: skip
