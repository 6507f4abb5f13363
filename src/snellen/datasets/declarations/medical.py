"""Medical datasets."""

from snellen.datasets.dataset import Dataset, DatasetCard
from snellen.datasets.formats.nifti import LabelledVolumes
from snellen.datasets.formats.tables import OptionTable

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
        notes="Objects are modality and clinical task. Pictures come from 284 datasets with licences of their own.",
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
        layout="Task01_BrainTumour/{imagesTr,labelsTr}/BRATS_NNN.nii.gz (dataset.json of the archive)",
        labels=("edema", "non-enhancing tumor", "enhancing tumour"),
        notes="Shown is the channel FLAIR, from the 0.5th to the 99.5th percentile of the volume's non-zero voxels.",
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
        layout="Task09_Spleen/{imagesTr,labelsTr}/spleen_N.nii.gz (dataset.json of the archive)",
        labels=("spleen", "no spleen"),
        notes="Shown is the abdominal window from -160 to 240 HU. Classes are slices with and without spleen.",
    ),
    LabelledVolumes("abdomen", ("spleen",), window=(-160.0, 240.0), absent="no spleen"),
)
