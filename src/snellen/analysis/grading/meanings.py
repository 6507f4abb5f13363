"""What grades and states mean, in words made from the constants of the rule; pages and docs print them."""

from __future__ import annotations

from collections.abc import Mapping

from snellen.analysis.grading import states
from snellen.analysis.grading.grades import BAND, FULL, HALF, LEFT_OUT, NEARLY, QUARTER, UNREAD
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD

_SHARES = {QUARTER: "a quarter", HALF: "a half", NEARLY: "nine tenths", FULL: "nine tenths"}
_PEOPLE = f"begins above {_SHARES[NEARLY]}, and the score of people is"
GRADE_MEANINGS: Mapping[str, str] = {
    "none": f"ends below {_SHARES[QUARTER]} of the way from the blind baseline",
    "some": f"begins above {_SHARES[QUARTER]} of the way from the greatest floor, and from the blind baseline",
    "most": f"begins above {_SHARES[HALF]} of these ways",
    "as people": f"{_PEOPLE} known",
    "nearly all right": f"{_PEOPLE} not known",
}
"""Where the 95 % interval of a score with each grade lies."""
_NO_BETTER = (
    f"clearly above {_SHARES[QUARTER]} of the way from the blind baseline ({QUARTER - BAND:.2f} of the way, if the "
    f"task was asked until decided), and clearly below {_SHARES[QUARTER]} of the way from"
)
_PART = f"more than {100 * LEFT_OUT:.0f} % of the items, or of the groups that are scored together, have no score:"
STATE_MEANINGS: Mapping[tuple[str, str], str] = {
    (states.OPEN, states.TOO_FEW): (
        "no grade applies. The note says whether the score is clearly above the greatest floor, or above the blind "
        "baseline"
    ),
    (states.OPEN, states.BOUNDARY): (
        f"the same, with an interval of at most {_SHARES[QUARTER]} of the way: more items decide it slowly"
    ),
    (states.OPEN, states.NO_BASELINE): "the score without the ability is not known",
    (states.OPEN, states.NO_ROOM): (
        f"a floor reaches {_SHARES[FULL]} of the way, or the blind baseline is perfect. A condition without this floor "
        "is named, if there is one"
    ),
    (states.OPEN, states.SAME_ANSWER): (
        "at least ten questions with two or more different right answers all got the same answer, by its key or by its "
        "text"
    ),
    (states.NO_BETTER, states.THUMBNAIL): f"{_NO_BETTER} what a forest makes of a thumbnail",
    (states.NO_BETTER, states.BOXES): f"{_NO_BETTER} what the coordinates of drawn boxes give",
    (states.NO_BETTER, states.COLOUR): f"{_NO_BETTER} what counting pixels of the named colour gives",
    (states.NO_BETTER, states.EQUAL_QUESTIONS): f"{_NO_BETTER} the commonest answer to equal training questions",
    (states.THRESHOLD, MEASURED): "a threshold, which has no grade",
    (states.THRESHOLD, BELOW): "it is below the smallest level",
    (states.THRESHOLD, ABOVE): "it is above the largest level",
    (states.THRESHOLD, NOT_UNDERSTOOD): "half or more of the easy questions (in studies, all of them) were wrong",
    (states.UNREADABLE, states.WORDS): (
        f"the score is low, and more than {100 * UNREAD:.0f} % of the replies have no answer that could be read"
    ),
    (states.UNREADABLE, states.UNIT): (
        "the score is low, and nine tenths of the replies are boxes within the image in another unit than was asked "
        "for, which the note names: `snellen score RUN --box-unit UNIT` reads them"
    ),
    (states.UNREADABLE, states.CUT_OFF): "the same, and at least half of these replies ended at the token limit",
    (states.DECLINED, states.IN_PART): f"{_PART} most of these were declined. The score is that of the others",
    (states.DECLINED, states.ALL): "the subject cannot be asked this",
    (states.FAILED, states.IN_PART): f"{_PART} calls failed, or no judge read the replies",
    (states.FAILED, states.ALL): "no call came through",
    (states.NOT_ASKED, states.UNJUDGED): "the replies wait for a judge",
    (states.NOT_ASKED, states.NEVER): "no item was asked",
}
"""When a state is stated in place of a grade, for each of its reasons."""
