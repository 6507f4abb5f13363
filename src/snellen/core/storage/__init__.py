"""Files: item sets, run folders, media, and what users write."""
