"""Words (mostly English) and format marks by which replies declare, retract, approve or refuse an answer."""

from __future__ import annotations

import re
from typing import Literal

from snellen.scoring.answers.plain import OPEN

Manner = Literal["firm", "is", "soft", "next firm", "next soft"]
"""Meaning of a marker. firm: it declares, and if nothing readable follows there is no answer. is: the same, unless
the text only comments on the answer. soft: if nothing readable follows it is no declaration. next: the answer must
follow at once; else like firm or soft."""


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


NOUN = r"(?:answer|choice|option|selection|response|verdict|prediction|decision|pick|guess|judge?ment|答案|回答|选项)"
_NO = r"(?!(?:no|not|non|nicht|não|niet|nie|không|не)\b)"
FOREIGN = (
    r"(?:(?<!\w)(?:antwort|antwoord|réponse|respuesta|risposta|resposta|opción|opzione|opção|alternativa|ответ|odpowiedź"
    rf"|cevap|đáp án|svar|उत्तर|الإجابة|الاجابة|الجواب)(?: {_NO}\w+){{0,2}}?"
    r"(?: ?:| (?:ist|lautet|wäre|est|es|sería|è|é|is|to|là|är|है|هي|هو)(?!\w)| - )"
    r"|\brichtig ist\b|(?:正解|正答|答え|解答)[はが:]|(?:정답|답)(?:은|:)|答案应?该?是)"
    r"[ :]*(?:(?-i:la|a|die|de|to|den|l'option|die option|opción|opção|opzione|вариант) (?=[\"'(]?[A-Za-z\d]\b))?"
)
"""A declaration in another language, up to the answer."""
GAP = (
    r"(?:\s(?:to|for|of|in|on|this|that|these|the|your|my|question|problem|images?|pictures?|here|given|above|most"
    r"|likely|therefore|thus|should|would|must|will|then|now|task|letter|number|final))*"
)
MARKERS: tuple[tuple[Manner, re.Pattern[str]], ...] = (
    ("firm", re.compile(OPEN)),
    ("firm", _words(rf"(?<![a-z]){NOUN}(?:\s(?:is|letter|option))?[\"')\]]*\s?(?::|=>?|->|→)[ :]*")),
    ("firm", _words(r"^[^\w\n]*(?:the )?(?:final |correct )?answer[^\w\n]*$")),
    ("firm", _words(FOREIGN)),
    ("is", _words(rf"(?<![a-z]){NOUN}{GAP}(?:(?:\s(?:is|be|was|remains)|'s)\b|是|为)[ :]*")),
    (
        "soft",
        _words(
            r"\bi(?:'d|'ll|(?:\s(?:would|will|must|now|therefore|thus|finally))*)\s(?:choose|pick|select|go with"
            r"|vote for|opt for|answer|say|settle on|chose|picked|selected|conclude)\b(?:\s(?:that|with|it is"
            r"|it's)\b)*[ :]*|(?:^|[.!?:,;] )going with\b[ :]*|(?:应该?选|我选|(?<!不)选择)择?(?![项题])[ :]*"
        ),
    ),
    ("soft", _words(r"\b(?:statement|claim)(?:\s(?:above|given|in question))?\sis\b[ :]*")),
    (
        "next firm",
        _words(
            r"(?:^|[.!?:,;)-] ?|\b(?:no|but|oh|hmm),? )wait\b[,.!: -]*|\bscratch that\b[,.!: -]*"
            r"|\bcorrection\b ?[:,.-][:,. -]*|\bon second thoughts?\b[,.!: -]*"
        ),
    ),
    (
        "next soft",
        _words(
            r"(?:->|→|=>)(?<=[^\n]{22}) ?(?=[^\n]{1,30}\Z)"
            r"|\b(?:(?:actually|i meant?|sorry|my mistake|or rather|make that|i\.e|(?:final|edit|update|corrected|revised"
            r"|re-?counted|re-?count)(?=\W{0,3}: ))\b|no\b(?= ?[,.!:-])(?!\W{1,3}\n)"
            r"|(?:up)?on (?:closer |further |second )?(?:reflection|inspection|look|balance|consideration)\b)[,.!: -]+"
        ),
    ),
)
LEAD = _words(
    r"(?:(?:the )?(?:option|choice|letter)\b ?|选项 ?|(?:most likely|probably|likely|clearly|definitely|simply)\b,? ?)*"
)
TURN = _words(
    r"(?:(?:no|wait|actually|it(?:'s| is| must be| should be)|that(?:'s| is)|make that|should be|must be"
    r"|the (?:correct )?answer (?:is|should be)|i(?: would|'d)? (?:choose|say|pick|mean|meant)"
    r"|(?:the )?(?:option|choice|letter|(?:image|picture|photo|tile|panel)(?= [a-z]\b))|probably"
    r"|likely|most likely|definitely|clearly|rather)\b[,:. ]*)*"
)
ABOUT_IT = _words(
    r"\s*(?:not|never|clear|evident|obvious|correct|wrong|incorrect|based|supported|consistent|visible|determined|found"
    r"|given|shown|below|as follows|easy|simple|straightforward|therefore|thus|still|also|already|confirmed|one of|only"
    r"|then|so|asked|expected|required|needed|the same)\b"
)
HYPOTHETICAL = _words(
    r"\b(?:if|whether|unless|suppos\w+|assum\w+|could|might|may)\b[^.,:;!?\n]{0,30}$|(?:\bnot|n't) (?:say|think|believe"
    r"|claim|agree)\b[^.,:;!?\n]{0,30}$|\b(?:otherwise|else)\b[^.:;!?\n]{0,30}$"
)
CUT = _words(
    r"\b(?:because|since|as|for|given|while|whereas|although|though|due to|based on|if|when)\b|\b(?:denn|weil|während"
    r"|parce|tandis|porque|perché|mentre|enquanto|omdat|потому|так как)\b|, (?:want|pois|car)\b|因为|由于|所以|لأن|[;\n]"
    r"|[.!?](?=\s|$)|: | - "
)
SENTENCE_END = re.compile(r"[\w)\]\"'][.!?]\s")
APPROVED = _words(
    r"[)\].:\"']* ?(?:one|option|choice|answer)? ?\b(?:is|must be|should be|would be) (?:clearly |definitely "
    r"|therefore |thus )?(?:the )?(?:(?:only|most|single) )?(?:correct|right|best|final)\b(?!-)(?= ?(?:$"
    r"|[\n.,;:!?)\]\"'])| (?:one|option|choice|answer|selection|match|fit|candidate|because|since|as|for|given|based"
    r"|here|and|but|while|among)\b)|[)\].:\"']* (?:is|must be) (?:clearly |definitely |therefore |thus )?the odd (?:one"
    r"|man) out\b|[)\].:\"']* ?(?:选项)?(?:是)?(?:正确|最合适|最符合|最接近)(?= ?(?:$|[\n.,;!)]))"
)
"""Must be followed by a sign that an answer is meant: "A is the right angle", "A is the best lit image" are not."""
FILLING = _words(
    r"[ .,;…-]{0,5}\b(no|wait|sorry|oops|hmm|er|um|or rather|rather|actually|i mean|make that|correction)\b"
)
"""Words between an answer and the one that corrects it: "4, no, 5"."""
FOLLOWING = _words(r"[ .,:;…-]{1,5}(?:it(?:'s| is) )?([\w'-]+)")
JOINED = _words(
    r"[)\].\"']*,? ?(?:or|and|nor|/|&|und|oder|et|ou|y|o|e|и|или|和|与|或|と|や|와|과) ?(?:option |choice |图片?|选项)?[(\[\"']*"
)
THEREFORE = _words(r"\b(?:so|therefore|thus|hence)\b,? ")
UNSURE = _words(
    r"\b(?:cannot|can not|can't|cant|couldn't|could not|unable to|not able to|not possible to|impossible to|hard to"
    r"|difficult to)\b[^.!?\n]{0,40}?\b(?:determined?|tell|identify|answer(?:ed)?|assist|help|provide|say|judge|decide"
    r"|view|see|know|comply|count|process|analy[sz]e|be sure|be certain)\b|\b(?:not (?:sure|certain|clear)|unsure"
    r"|unclear|don't know|do not know|as an ai|i'm sorry|i am sorry|apologi[sz]e)\b"
)
CUT_OFF = re.compile(
    r"(?:\b(?:the|an|and|or|of|is|are|was|were|be|to|between|with|that|which|because|than|but|from|as|if|while|its|we)"
    r"|[,:-])\s?$"
)
"""The end of a reply that breaks off within a sentence."""
QUESTION = re.compile(r"(?i)[^.!?\n]{0,60}\?| (?:only )?(?:if|provided|unless)\b(?! (?:i|you|we|one|forced|asked)\b)")
"""After a mention it shows a question or a condition."""

_FILL = (
    r"(?:(?:the|a|an|be|to|it|option|choice|answer|letter|either|really|actually|just|necessarily|entirely|completely"
    r"|quite|fully|exactly|strictly|bounding|box|point|image|picture|patch|tile|category|group|class|set|of|in) )*[\"'(\[]*$"
)
DENIED_BEFORE = _words(
    r"(?:\b(?:not|never|no longer|anything but|neither|nor|without|except|excluding|unlike|no|cannot|can't|rul\w+ out"
    r"|instead of|rather than|other than|as opposed to|eliminat\w+|reject\w*|exclud\w+|nicht|kein\w*|pas|niet|não"
    rf"(?: é)?|non(?: è)?|не|nie|no es|không phải(?: là)?) |n't |不(?:可能)?[是选] ?|而非|排除 ?){_FILL}"
    r"|(?:\bnot|n't|\bnothing|\bwrong to) (?:think|believe|say|claim|agree|consider|to do with|in common|put|place|call"
    r"|belong|match|fit|correspond|resemble|look|go|be|seem|appear|a member|like|in|patch)(?: [\w\"']+){0,5} [\"'(\[]*$"
)
_IS = r"(?:is|are|was|does|do|did|can|could|would|should|seems?|looks?|has)"
DENIED_AFTER = _words(
    rf"[)\].:\"',]* ?(?:one |option |choice |answer )?(?:{_IS}(?:n't| not\b| never\b)|can't\b|cannot\b|won't\b"
    r"|(?:is|are|was|seems|looks) (?:\w+ly |also )?(?:wrong|incorrect|impossible|ruled out|excluded|eliminated|out\b))"
    r"|[)\].\"']* ?(?:[이가은는] ?(?:정답[이은] ?)?아[니닙닌]|(?:では|じゃ|で)(?:な|ありません)|都?不[对是正符像选]|是?错|(?:可以|被)?排除)"
    r"|[)\].\"']* (?:(?:no es|não é|non è|n'est pas|ist nicht|is niet|не)\b|(?:es|ist|est|è|é) (?:incorrect\w*|falsch"
    r"|fau(?:x|sse)|sbagliat\w+|errad\w+)|неверн|неправильн)"
)
