"""Videos: stored unchanged, read frame by frame, written from frames, joined. The only package that imports PyAV.

Time is in seconds from a video's first frame, whatever its stream's own clock says. A frame is on screen from its time
until the next one's; the last until the video ends. Frames are RGB, rotated as the file specifies, with the stored
number of pixels (non-square pixels are not corrected).
"""

from snellen.stimuli.video.reading import (
    VIDEO_ENDINGS,
    add_video,
    frame_at_share,
    frames_at,
    rate_times,
    uniform_times,
    video_fault,
)
from snellen.stimuli.video.writing import JoinedVideo, Pixels, join_clips, write_video

__all__ = [
    "VIDEO_ENDINGS",
    "JoinedVideo",
    "Pixels",
    "add_video",
    "frame_at_share",
    "frames_at",
    "join_clips",
    "rate_times",
    "uniform_times",
    "video_fault",
    "write_video",
]
