"""Item sets, runs and reports behind a URL: local copies in the home folder, whose changes are uploaded.

The rest of the package knows only folders. Reasons and guarantees: design/core.md and docs/remote.md.
"""

from snellen.remote.addresses import address_of, is_url, name_of, with_urls
from snellen.remote.folders import (
    ITEMSET,
    RUN,
    RecordFolder,
    fetched,
    joined,
    lies_there,
    published,
    record_folder,
)

__all__ = [
    "ITEMSET",
    "RUN",
    "RecordFolder",
    "address_of",
    "fetched",
    "is_url",
    "joined",
    "lies_there",
    "name_of",
    "published",
    "record_folder",
    "with_urls",
]
