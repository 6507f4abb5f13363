"""Datasets of plants, animals and food."""

from snellen.curated_sets.datasets.dataset import Dataset, DatasetCard
from snellen.curated_sets.datasets.evidence import github, listing, loader
from snellen.curated_sets.datasets.formats.class_folders import ClassFolders
from snellen.curated_sets.datasets.formats.image_masks import FolderPair, ImagesAndMasks

HIDDEN, OPEN = "camouflaged", "not camouflaged"
ONE_CLASS = "All images are of one class: a task needs images without camouflage from elsewhere (those of COD10K)."

RICE_LEAF_DISEASE = Dataset(
    DatasetCard(
        name="Rice-Leaf-Disease",
        title="Rice Leaf Diseases",
        citation="Prajapati, Shah and Dabhi, Detection and classification of rice plant diseases, Intelligent "
        "Decision Technologies 11(3), 2017",
        layout="rice_leaf_diseases/DISEASE/*.jpg",
        labels=("Bacterial leaf blight", "Brown spot", "Leaf smut"),
        verified="loaders",
        evidence=(
            loader(
                "https://huggingface.co/datasets/Project-AgML/uci_rice_leaf_diseases_classification",
                "Three classes, from folder names: bacterial leaf blight, brown spot, leaf smut.",
            ),
            loader(
                "https://huggingface.co/datasets/Solshine/Rice_Diagnosis_Leaf_Images_FromKaggle",
                "Classes called Bacterial leaf blight, Brown spot and Leaf smut; 120 images.",
            ),
        ),
        caveat="The name of the folder around the classes was not seen; any name is read.",
    ),
    ClassFolders("rice leaf"),
)

TOMATO_LEAF = Dataset(
    DatasetCard(
        name="TomatoLeaf",
        title="Tomato leaf disease detection",
        citation="kaustubh b, Tomato leaf disease detection, Kaggle, 2020",
        homepage="https://www.kaggle.com/datasets/kaustubhb999/tomatoleaf",
        layout="tomato/{train,val}/DISEASE/*",
        verified="loaders",
        evidence=(
            loader(
                github("Project-AgML/AgML", "docs/datasets/tomato_leaf_disease.md"),
                "Classes are folder names: 10, with 11,000 JPEG.",
            ),
            loader(
                github("pragatib00/tomato-leaf-disease-detection", "Dataset.md"),
                "Folders for training and validation, with 10 classes.",
            ),
        ),
    ),
    ClassFolders("tomato leaf"),
)

CAMO = Dataset(
    DatasetCard(
        name="CAMO",
        title="CAMO (Camouflaged Object)",
        citation="Le et al., Anabranch Network for Camouflaged Object Segmentation, CVIU 184, 2019",
        layout="CAMO-V.1.0-CVIU2019/Images/{Train,Test}/*.jpg, CAMO-V.1.0-CVIU2019/GT/*.png",
        labels=(HIDDEN,),
        notes=ONE_CLASS,
        verified="loaders",
        evidence=(
            loader(
                github("chenqiu1024/Seg-R1", "utils/prepare_cod.py", "ca1256fae4"),
                "CAMO-V.1.0-CVIU2019/Images/{Train,Test} and GT/NAME.png, for both in one folder.",
            ),
            loader(
                github("zhang-haojie/wesam", "configs/base_config.py", "4ab52837d1"),
                "CAMO-V.1.0-CVIU2019/GT, Images/Train and Images/Test.",
            ),
        ),
    ),
    ImagesAndMasks("scene", (FolderPair("Images/Train", "GT", HIDDEN), FolderPair("Images/Test", "GT", HIDDEN))),
)

COD10K = Dataset(
    DatasetCard(
        name="COD10K",
        title="COD10K",
        citation="Fan et al., Camouflaged Object Detection, CVPR 2020",
        homepage="https://github.com/DengPingFan/SINet",
        layout="COD10K-v3/{Train,Test}/Image/COD10K-{CAM,NonCAM}-*.jpg, COD10K-v3/{Train,Test}/GT_Object/*.png",
        labels=(HIDDEN, OPEN),
        verified="loaders",
        evidence=(
            loader(
                github("Sarthak6o1/Camouflaged-Object-Detection", "Readme.md"),
                "The readme of the archive: {Train,Test}/{Image,GT_Object,GT_Instance,GT_Edge}; names COD10K-CAM-… "
                "and COD10K-NonCAM-…; 6,000 training images, 4,000 test images, 5,066 of them camouflaged.",
            ),
            loader(
                github("chenqiu1024/Seg-R1", "utils/prepare_cod.py", "ca1256fae4"),
                "COD10K-v3, where NonCAM in a name marks images without camouflage.",
            ),
        ),
    ),
    ImagesAndMasks(
        "scene",
        tuple(
            FolderPair(f"{split}/Image", f"{split}/GT_Object", HIDDEN, (("COD10K-NonCAM-*", OPEN),))
            for split in ("Train", "Test")
        ),
        unmarked=(OPEN,),
    ),
)

NC4K = Dataset(
    DatasetCard(
        name="NC4K",
        title="NC4K",
        citation="Lyu et al., Simultaneously Localize, Segment and Rank the Camouflaged Objects, CVPR 2021",
        layout="NC4K/Imgs/*.jpg, NC4K/GT/*.png",
        labels=(HIDDEN,),
        notes=ONE_CLASS,
        verified="loaders",
        evidence=(
            listing(
                github("JingZhang617/COD-Rank-Localize-and-Segment", "README.md", "1dbfeeb375"),
                "The archive has images, masks and masks of instances; no folder is named.",
            ),
            loader(
                github(
                    "anonymous20240202/MMT-Bench",
                    "data_process/task_zoo/localization/camouflage_object_detection.py",
                    "095fbf07df",
                ),
                "NC4K/Imgs/NAME.jpg and NC4K/Instance/NAME.png; there is no class.",
            ),
            loader(
                "https://huggingface.co/datasets/cod-tdq/cod", "NC4K/Imgs, NC4K/GT and NC4K/Instance, 4,121 images."
            ),
        ),
        caveat="That 0 is the background and anything else the object is the convention of such masks, seen only for "
        "Instance.",
    ),
    ImagesAndMasks("scene", (FolderPair("Imgs", "GT", HIDDEN),)),
)

INDIAN_BIRD = Dataset(
    DatasetCard(
        name="25-Indian-Bird",
        title="25 Indian bird species with 22.6k images",
        citation="Basandrai, 25 Indian bird species with 22.6k images, Kaggle, 2023",
        homepage="https://www.kaggle.com/datasets/arjunbasandrai/25-indian-bird-species-with-226k-images",
        layout="training_set/training_set/SPECIES/*.jpg (any folders around the species)",
        verified="loaders",
        evidence=(
            loader(
                github("SapientSapiens/capstone1project-2025-mlz", "README.md", "0395e6808e"),
                "The archive as unpacked: training_set/training_set/SPECIES. There is no other split.",
            ),
            loader(
                github("mahavir0/Bird_Classification_AI_Project_COMP_6721", "data_preprocessing.py", "405d605149"),
                "One folder per species, split by this code; resized copies of 10 species, up to 929 images each.",
            ),
        ),
    ),
    ClassFolders("bird"),
)

EPLID = Dataset(
    DatasetCard(
        name="EPLID",
        title="EPLID (Egyptian Plant Leaf Image Dataset)",
        citation="Shaheen, Egyptian Plant Leaf Image Dataset (EPLID), Kaggle, 2019",
        homepage="https://www.kaggle.com/datasets/mahmoudshaheen1134/plant-leaf-image-dataset",
        layout="SPECIES/*.jpg (any folders around the species)",
        verified="loaders",
        evidence=(
            loader(
                "https://github.com/KaushalyaAberathna/Plant-Leaf-Classification-Using-Deep-Learning-using-the-Egypti"
                "an-Plant-Leaf-Image-Dataset-EgyPLI-",
                "One folder per class; eight species, 3,588 JPEG of 256 x 256 pixels.",
            ),
            loader(
                github("timothyafolami/Plan-Leaf-Image-Classification", "notebooks/experiment.ipynb", "cbf12d0888"),
                "Folders Apple, Berry, Fig, Guava, Orange, Palm, Persimmon and Tomato, 3,588 images.",
            ),
        ),
        caveat="The first loader found that the same leaf was often photographed several times within seconds: images "
        "may resemble each other closely.",
    ),
    ClassFolders("plant leaf"),
)

PLANT_SEEDLINGS = Dataset(
    DatasetCard(
        name="V2-Plant-Seedlings",
        title="V2 Plant Seedlings",
        citation="Giselsson et al., A Public Image Database for Benchmark of Plant Seedling Classification "
        "Algorithms, arXiv 1711.05458, 2017",
        homepage="https://arxiv.org/abs/1711.05458",
        layout="SPECIES/*.png or nonsegmentedv2/SPECIES/*.png",
        verified="loaders",
        evidence=(
            loader(
                github("Project-AgML/AgML", "docs/datasets/plant_seedlings_aarhus.md", "3c38affad0"),
                "Classes are folder names: 12 species, 5,539 PNG.",
            ),
            loader(
                "https://github.com/RuthBerenstein/V2plants_classificationCNN",
                "12 species, 5,539 PNG; its notebook unpacks nonsegmentedv2/ of the copy on Kaggle, one folder each.",
            ),
        ),
        caveat="That the copy on Kaggle repeats the species next to nonsegmentedv2/ is known from notes of "
        "unknown origin; if both exist, only nonsegmentedv2/ is read.",
    ),
    ClassFolders("plant seedling", only="nonsegmentedv2"),
)

MEAT = Dataset(
    DatasetCard(
        name="MeatDataset",
        title="Pork, meat, and horse meat",
        citation="Agistany, Pork, meat, and horse meat dataset, Kaggle, 2022",
        homepage="https://www.kaggle.com/datasets/iqbalagistany/pork-meat-and-horse-meat-dataset",
        layout="one folder per class, in folders of splits or not",
        verified="loaders",
        evidence=(
            loader(
                github("Craingit/MeatTypeClassification", "modeltrain.py", "be38761a3f"),
                "One folder per class: pork, horse and beef, with *.jpg.",
            ),
            loader(
                github(
                    "ZorAlf/LBP_Meat_Classification", "LBP_Klasifikasi Daging(Kuda, Sapi, dan Babi).ipynb", "b7f1349fc4"
                ),
                "One folder per class: horse meat, meat (beef) and pork.",
            ),
        ),
        caveat="The loaders name the three folders differently; a class is called as its folder.",
    ),
    ClassFolders("meat"),
)
