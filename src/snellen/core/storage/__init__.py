"""Files: item sets, run folders, media, and users' files."""
