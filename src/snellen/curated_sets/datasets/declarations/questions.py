"""Datasets of questions, words and orientations, and of rooms with depth."""

from snellen.curated_sets.datasets.dataset import Dataset, DatasetCard
from snellen.curated_sets.datasets.evidence import github, listing, loader
from snellen.curated_sets.datasets.formats.named_files import CureOr
from snellen.curated_sets.datasets.formats.nyu import NyuDepth
from snellen.curated_sets.datasets.formats.question_lists import EgoOrient, TextVqa, VqaV2
from snellen.curated_sets.datasets.formats.scene_text import CocoText, Iiit5k

NYU_DEPTH = Dataset(
    DatasetCard(
        name="NYU-Depth-V2",
        title="NYU-Depth V2, labelled part",
        citation="Silberman et al., Indoor Segmentation and Support Inference from RGBD Images, ECCV 2012",
        homepage="https://cs.nyu.edu/~fergus/datasets/nyu_depth_v2.html",
        layout="nyu_depth_v2_labeled.mat (MATLAB 7.3)",
        extras="of an object: instance, nearest_m, median_m; of an image: scene",
        notes="Objects are instances of the classes in `names`, including walls and floors; boxes enclose the masks.",
        verified="loaders",
        evidence=(
            loader(
                github(
                    "TUI-NICR/nicr-scene-analysis-datasets",
                    "src/nicr_scene_analysis_datasets/datasets/nyuv2/prepare_dataset.py",
                    "0786b85898",
                ),
                "images, labels, instances and depths of the HDF5 file, images first and the other axes in reverse; "
                "labels 1 to 894, 0 none; instances are counted from 1 within a class; depths in metres; "
                "texts as numbers at references.",
            ),
            loader(
                github("GabrielMajeri/nyuv2-python-toolbox", "nyuv2/labeled.py", "647ec0d44a"),
                "images and depths of the HDF5 file, images first.",
            ),
        ),
        caveat="The second loader rotates the axes by 90 degrees where the first swaps them, which mirrors an image: "
        "they are swapped here. Scene names are read from scenes; the first loader reads sceneTypes.",
    ),
    NyuDepth(),
)

VQA_V2 = Dataset(
    DatasetCard(
        name="VQAv2",
        title="VQA v2.0",
        licence="CC BY 4.0",
        citation="Goyal et al., Making the V in VQA Matter, CVPR 2017",
        homepage="https://visualqa.org",
        layout="v2_OpenEnded_mscoco_{train,val}2014_questions.json, v2_mscoco_{train,val}2014_annotations.json, "
        "train2014/*.jpg, val2014/*.jpg of COCO",
        extras="of a question: answer_type, question_type; of an image: split",
        notes="The licence is that of the annotations.",
        verified="loaders",
        evidence=(
            loader(
                github("dandelin/ViLT", "DATA.md", "3db8b50354"),
                "The names of the four JSON files and of the folders, images COCO_train2014_000000000009.jpg.",
            ),
            loader(
                github("hengyuan-hu/bottom-up-attention-vqa", "tools/download.sh", "f51446b47c"),
                "The publisher's archives: v2_Questions_Train_mscoco.zip, v2_Annotations_Train_mscoco.zip, and those "
                "of Val.",
            ),
        ),
        caveat="The keys inside (multiple_choice_answer, answers, question_type, answer_type) are those of the "
        "download page, which was not available.",
    ),
    VqaV2(),
)

COCO_TEXT = Dataset(
    DatasetCard(
        name="COCO-Text",
        title="COCO-Text v2.0",
        citation="Veit et al., COCO-Text: Dataset and Benchmark for Text Detection and Recognition in Natural Images, "
        "arXiv 1601.07140, 2016",
        homepage="https://bgshih.github.io/cocotext/",
        layout="cocotext.v2.json, train2014/*.jpg of COCO",
        extras="of a word: legibility, language, class; of an image: split",
        verified="loaders",
        evidence=(
            loader(
                github("mindee/doctr", "doctr/datasets/coco_text.py", "1f1da14354"),
                "Objects imgs and anns by id; file_name and set of an image; image_id, legibility, utf8_string and "
                "bbox [x, y, width, height] of a word.",
            ),
            loader(
                github("open-mmlab/mmocr", "dataset_zoo/cocotextv2/textdet.py", "4ae693f692"),
                "cocotext.v2.json of the publisher's release, train and val in one file; all images in train2014 of "
                "COCO.",
            ),
        ),
    ),
    CocoText(),
)

IIIT5K = Dataset(
    DatasetCard(
        name="IIIT5K",
        title="IIIT 5K-word",
        citation="Mishra, Alahari and Jawahar, Scene Text Recognition using Higher Order Language Priors, BMVC 2012",
        homepage="https://cvit.iiit.ac.in/research/projects/cvit-projects/the-iiit-5k-word-dataset",
        layout="IIIT5K/traindata.mat, IIIT5K/testdata.mat, IIIT5K/{train,test}/*.png",
        extras="of an image: split",
        notes="An image is a cropped word, written in capitals in the lists regardless of its appearance.",
        verified="loaders",
        evidence=(
            loader(
                github("mindee/doctr", "doctr/datasets/iiit5k.py", "0079209521"),
                "A MATLAB struct array whose rows begin with the image's path in the folder; image and text of each "
                "word.",
            ),
            loader(
                github("open-mmlab/mmocr", "dataset_zoo/iiit5k/textrecog.py", "1d5f43e79f"),
                "IIIT5K-Word_V3.0.tar.gz unpacks to IIIT5K/train and IIIT5K/test.",
            ),
        ),
        caveat="doctr reads the struct of letters in addition to traindata.mat and testdata.mat; the fields ImgName "
        "and GroundTruth are those of the archive's readme, which was not available.",
    ),
    Iiit5k(),
)

TEXT_VQA = Dataset(
    DatasetCard(
        name="TextVQA",
        title="TextVQA v0.5.1",
        licence="CC BY 4.0",
        citation="Singh et al., Towards VQA Models That Can Read, CVPR 2019",
        homepage="https://textvqa.org/dataset/",
        layout="TextVQA_0.5.1_{train,val}.json, TextVQA_Rosetta_OCR_v0.2_{train,val}.json, train_images/*.jpg",
        extras="of a word: rotation in degrees (then the box is that of the word before it is rotated about its "
        "upper left corner: assumed); of an image: split",
        notes="Words were read by a program (Rosetta), not by people. AVA-Bench does not say which boxes it used.",
        verified="loaders",
        evidence=(
            loader(
                github("haotian-liu/LLaVA", "docs/Evaluation.md", "05f156c4ff"),
                "TextVQA_0.5.1_val.json and train_val_images.zip of the publisher.",
            ),
            loader(
                github("OpenGVLab/InternVL", "internvl_chat/eval/vqa/README.md", "284e715222"),
                "TextVQA_Rosetta_OCR_v0.2_train.json and _val.json next to the questions.",
            ),
        ),
        caveat="That boxes are shares of the image (top_left_x, top_left_y, width, height) and that words may be "
        "rotated is known from code of unknown origin; the centre of rotation is assumed.",
    ),
    TextVqa(),
)

EGO_ORIENT = Dataset(
    DatasetCard(
        name="EgoOrientBench",
        title="EgoOrientBench",
        citation="Jung et al., Is Right Right? Enhancing Object Orientation Understanding in Multimodal Large Language "
        "Models through Egocentric Instruction Tuning, 2024",
        homepage="https://github.com/jhCOR/EgoOrientBench",
        layout="all_data/EgocentricDataset of the homepage: train_benchmark/benchmark.json, or additional_data/"
        "benchmark_imagenet.json, or testing_data/benchmark_mini.json, with the images imagenet_after/*",
        extras="of an object: orientation; of a question: type; of an image: domain",
        notes="Each image has the orientation of one object, and four or more questions about it.",
        verified="listing",
        evidence=(
            listing(
                github(
                    "jhCOR/EgoOrientBench", "all_data/EgocentricDataset/testing_data/benchmark_mini.json", "3c8afe3198"
                ),
                "The form of a question: type, domain, base_dataset, image, original_label, question, label, "
                "category_name.",
            ),
            listing(
                github(
                    "jhCOR/EgoOrientBench",
                    "all_data/EgocentricDataset/additional_data/benchmark_imagenet.json",
                    "bbfe8c5245",
                ),
                "The same form without domain and base_dataset; category_name has all names of ImageNet in some "
                "questions about an image and the first of them in others; images .JPEG.",
            ),
            listing(
                github("jhCOR/EgoOrientBench", "Benchmark_Evaluation/evaluate.py", "19e191aefe"),
                "The whole benchmark is train_benchmark/benchmark.json, its images imagenet_after/NAME, whatever "
                "folder image names.",
            ),
        ),
        caveat="The file of the whole benchmark is in no stored copy of the repository; its name is the default of the "
        "evaluation code.",
    ),
    EgoOrient(
        (
            "benchmark.json",
            "train_benchmark/benchmark.json",
            "additional_data/benchmark_imagenet.json",
            "benchmark_mini.json",
            "testing_data/benchmark_mini.json",
        )
    ),
)

CURE_OR = Dataset(
    DatasetCard(
        name="CURE-OR",
        title="CURE-OR",
        citation="Temel, Lee and AlRegib, CURE-OR: Challenging Unreal and Real Environments for Object Recognition, "
        "ICMLA 2018",
        homepage="https://github.com/olivesgatech/CURE-OR",
        layout="BACKGROUND_DEVICE_ORIENTATION_OBJECT_CHALLENGE_LEVEL.jpg, in any folders",
        extras="of an object: orientation; of an image: background, device, challenge (1: none), level",
        notes="Labels are the numbers of the objects, 001 to 100: no page has their names as text.",
        verified="listing",
        evidence=(
            listing(
                github("olivesgatech/mini-CURE-OR", "README.md", "553068b44c"),
                "backgroundID_deviceID_objectOrientationID_objectID_challengeType_challengeLevel.jpg, all counted "
                "from 1, levels from 0; orientations front (0 degrees), left side (90), back (180), right side "
                "(270), top.",
            ),
        ),
        caveat="The page is that of the small version. It does not say whether left side means the object's own left "
        "side facing the camera or the side that the object faces, and the images were not available.",
    ),
    CureOr(),
)
