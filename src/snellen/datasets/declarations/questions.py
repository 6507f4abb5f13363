"""Datasets of questions, words and orientations, and of rooms with depth, for AVA-Bench."""

from snellen.datasets.declarations import UNKNOWN
from snellen.datasets.formats.asked import EgoOrient, TextVqa, VqaV2
from snellen.datasets.formats.named_files import CureOr
from snellen.datasets.formats.nyu import NyuDepth
from snellen.datasets.formats.words import CocoText, Iiit5k
from snellen.datasets.scene_reading import SceneCard, SceneSource

NYU_DEPTH = SceneSource(
    SceneCard(
        name="NYU-Depth-V2",
        title="NYU-Depth V2, labelled part",
        tasks=("spatial", "absolute-depth", "relative-depth"),
        licence=UNKNOWN,
        citation="Silberman et al., Indoor Segmentation and Support Inference from RGBD Images, ECCV 2012",
        homepage="https://cs.nyu.edu/~fergus/datasets/nyu_depth_v2.html",
        layout="nyu_depth_v2_labeled.mat (MATLAB 7.3; homepage)",
        extras="of a thing: instance, nearest_m, median_m; of a picture: scene",
        notes="Things are instances of the classes in `names`, walls and floors among them; boxes go around masks.",
    ),
    NyuDepth(),
)

VQA_V2 = SceneSource(
    SceneCard(
        name="VQAv2",
        title="VQA v2.0",
        tasks=("counting",),
        licence="CC BY 4.0",
        citation="Goyal et al., Making the V in VQA Matter, CVPR 2017",
        homepage="https://visualqa.org",
        layout="v2_OpenEnded_mscoco_{train,val}2014_questions.json, v2_mscoco_{train,val}2014_annotations.json, "
        "train2014/*.jpg, val2014/*.jpg of COCO (the page's download section)",
        extras="of a question: answer_type, question_type; of a picture: split",
        notes="The licence is that of the annotations.",
    ),
    VqaV2(),
)

COCO_TEXT = SceneSource(
    SceneCard(
        name="COCO-Text",
        title="COCO-Text v2.0",
        tasks=("ocr",),
        licence=UNKNOWN,
        citation="Veit et al., COCO-Text: Dataset and Benchmark for Text Detection and Recognition in Natural Images, "
        "arXiv 1601.07140, 2016",
        homepage="https://bgshih.github.io/cocotext/",
        layout="cocotext.v2.json, train2014/*.jpg of COCO (homepage)",
        extras="of a word: legibility, language, class; of a picture: split",
    ),
    CocoText(),
)

IIIT5K = SceneSource(
    SceneCard(
        name="IIIT5K",
        title="IIIT 5K-word",
        tasks=("ocr",),
        licence=UNKNOWN,
        citation="Mishra, Alahari and Jawahar, Scene Text Recognition using Higher Order Language Priors, BMVC 2012",
        homepage="https://cvit.iiit.ac.in/research/projects/cvit-projects/the-iiit-5k-word-dataset",
        layout="IIIT5K/traindata.mat, IIIT5K/testdata.mat, IIIT5K/{train,test}/*.png (readme of the archive)",
        extras="of a picture: split",
        notes="A picture is a cropped word, written in capitals in the lists whatever it looks like.",
    ),
    Iiit5k(),
)

TEXT_VQA = SceneSource(
    SceneCard(
        name="TextVQA",
        title="TextVQA v0.5.1",
        tasks=("ocr",),
        licence="CC BY 4.0",
        citation="Singh et al., Towards VQA Models That Can Read, CVPR 2019",
        homepage="https://textvqa.org/dataset/",
        layout="TextVQA_0.5.1_{train,val}.json, TextVQA_Rosetta_OCR_v0.2_{train,val}.json, train_images/*.jpg "
        "(homepage)",
        extras="of a word: rotation in degrees (then the box is that of the word before it is turned about its "
        "upper left corner: assumed); of a picture: split",
        notes="Words were read by a program (Rosetta), not by people. AVA-Bench does not say which boxes it used.",
    ),
    TextVqa(),
)

EGO_ORIENT = SceneSource(
    SceneCard(
        name="EgoOrientBench",
        title="EgoOrientBench",
        tasks=("orientation",),
        licence=UNKNOWN,
        citation="Jung et al., Is Right Right? Enhancing Object Orientation Understanding in Multimodal Large Language "
        "Models through Egocentric Instruction Tuning, 2024",
        homepage="https://github.com/jhCOR/EgoOrientBench",
        layout="benchmark.json or benchmark_mini.json beside imagenet_after/*.jpg (form of "
        "all_data/EgocentricDataset/testing_data/benchmark_mini.json, homepage; the name of the full file is assumed)",
        extras="of a thing: orientation; of a question: type; of a picture: domain",
        notes="Orientations are told for one thing a picture, on four or more questions.",
    ),
    EgoOrient(("benchmark.json", "testing_data/benchmark.json", "benchmark_mini.json")),
)

CURE_OR = SceneSource(
    SceneCard(
        name="CURE-OR",
        title="CURE-OR",
        tasks=("orientation",),
        licence=UNKNOWN,
        citation="Temel, Lee and AlRegib, CURE-OR: Challenging Unreal and Real Environments for Object Recognition, "
        "ICMLA 2018",
        homepage="https://github.com/olivesgatech/CURE-OR",
        layout="BACKGROUND_DEVICE_ORIENTATION_OBJECT_CHALLENGE_LEVEL.jpg, in whatever folders (github.com/olivesgatech/"
        "mini-CURE-OR, File Name Format)",
        extras="of a thing: orientation; of a picture: background, device, challenge (1: none), level",
        notes="Labels are the numbers of the objects, 001 to 100: no page has their names as text.",
    ),
    CureOr(),
)
