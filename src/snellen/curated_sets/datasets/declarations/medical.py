"""Medical datasets."""

from snellen.curated_sets.datasets.dataset import Dataset, DatasetCard
from snellen.curated_sets.datasets.evidence import github, listing, loader
from snellen.curated_sets.datasets.formats.nifti import LabelledVolumes
from snellen.curated_sets.datasets.formats.tables import OptionTable

MSD_CITATION = (
    "Antonelli et al., The Medical Segmentation Decathlon, Nature Communications, 2022; Simpson et al., A large "
    "annotated medical image dataset for the development and evaluation of segmentation algorithms, 2019"
)
MSD_HOMEPAGE = "http://medicaldecathlon.com"
MSD_LICENCE = "CC BY-SA 4.0"

GMAI_MMBENCH = Dataset(
    DatasetCard(
        name="GMAI-MMBench",
        title="GMAI-MMBench",
        licence="Apache-2.0",
        citation="Chen et al., GMAI-MMBench: A Comprehensive Multimodal Evaluation Benchmark Towards General Medical "
        "AI, NeurIPS 2024",
        homepage="https://huggingface.co/datasets/OpenGVLab/GMAI-MMBench",
        layout="GMAI-MMBench_VAL.tsv (columns index, image as base64, question, A … E, answer, modality, clinical "
        "VQA task …; the test tables have no answers), or Parquet of the same columns",
        notes="Objects are modality and clinical task. Images come from 284 datasets with their own licences.",
        verified="listing",
        evidence=(
            listing(
                "https://huggingface.co/datasets/OpenGVLab/GMAI-MMBench/discussions/1",
                "The publisher's own upload of GMAI_mm_bench_VAL.tsv; the page recommends VLMEvalKit (data "
                "GMAI-MMBench_VAL).",
            ),
            loader(
                "https://huggingface.co/datasets/VLMEval/GMAI-MMBench/tree/main",
                "GMAI-MMBench_VAL.tsv of 9.34 GB: a multiple-choice table for VLMEvalKit, with images in base64.",
            ),
        ),
        caveat="The columns modality and clinical VQA task were seen in a copy that names no origin. Neither release "
        "states which of its classes are on which level of Table 7.",
    ),
    OptionTable(objects=("modality", "clinical vqa task")),
)

MSD_BRAIN = Dataset(
    DatasetCard(
        name="MSD-Brain",
        title="MSD Brain (Medical Segmentation Decathlon, task 1)",
        licence=MSD_LICENCE,
        citation=MSD_CITATION,
        homepage=MSD_HOMEPAGE,
        layout="Task01_BrainTumour/{imagesTr,labelsTr}/BRATS_NNN.nii.gz",
        labels=("edema", "non-enhancing tumor", "enhancing tumour"),
        notes="Shows the channel FLAIR, from the 0.5th to the 99.5th percentile of the volume's non-zero voxels.",
        verified="loaders",
        evidence=(
            loader(
                "https://github.com/Project-MONAI/tutorials/issues/1355",
                "dataset.json of Task01_BrainTumour as downloaded: 2 is the non-enhancing tumor, 3 the enhancing one.",
            ),
            loader(
                github("MIC-DKFZ/nnUNet", "nnunetv2/dataset_conversion/convert_MSD_dataset.py", "017de4adbc"),
                "A task's folder contains imagesTr (four channels in one volume), labelsTr (the same file names) and "
                "dataset.json.",
            ),
        ),
        caveat="MONAI's tutorial takes 2 for the enhancing tumor and 3 for the other; here dataset.json is followed. "
        "The order of the channels (FLAIR first) is that of dataset.json and was not seen.",
    ),
    LabelledVolumes("brain tumour", ("edema", "non-enhancing tumor", "enhancing tumour"), channel=0),
)

MSD_SPLEEN = Dataset(
    DatasetCard(
        name="MSD-Spleen",
        title="MSD Spleen (Medical Segmentation Decathlon, task 9)",
        licence=MSD_LICENCE,
        citation=MSD_CITATION,
        homepage=MSD_HOMEPAGE,
        layout="Task09_Spleen/{imagesTr,labelsTr}/spleen_N.nii.gz",
        labels=("spleen", "no spleen"),
        notes="Shows the abdominal window from -160 to 240 HU. Classes are slices with and without spleen.",
        verified="loaders",
        evidence=(
            loader(
                github("Project-MONAI/model-zoo", "models/spleen_ct_segmentation/docs/README.md", "0494b28379"),
                "Task09_Spleen.tar, CT; label 1 is spleen, 0 everything else.",
            ),
            loader(
                github("MIC-DKFZ/nnUNet", "nnunetv2/dataset_conversion/convert_MSD_dataset.py", "017de4adbc"),
                "A task's folder contains imagesTr, labelsTr (the same file names), imagesTs and dataset.json; names "
                "that begin with a dot are not volumes.",
            ),
        ),
        caveat="The dataset has one label, so slices give two classes. Table 7 of VFM Bench counts three; no page and "
        "no file of the release names the third.",
    ),
    LabelledVolumes("abdomen", ("spleen",), window=(-160.0, 240.0), absent="no spleen"),
)
