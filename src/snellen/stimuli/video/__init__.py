"""Videos: kept as they are, looked at frame by frame, written from frames, joined. The only place that imports PyAV.

Time is counted in seconds from a video's first frame, whatever its stream's own clock says, and a frame is on screen
from its time until the next one's; the last until the video ends. Frames are RGB, turned as the file says they are to
be shown, with the stored number of pixels (pixels that are not square stay as stored).
"""

from snellen.stimuli.video.checks import video_fault
from snellen.stimuli.video.reading import add_video, frame_at_share, frames_at, rate_times, uniform_times
from snellen.stimuli.video.writing import JoinedVideo, Pixels, join_clips, write_video

__all__ = [
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
