"""English words by which a sentence concludes, compares, hedges, refuses or only introduces an answer."""

from __future__ import annotations

import re


def _one_of(words: str) -> str:
    """A group of alternatives, given as a list: separated by " | " or the end of a line."""
    return f"(?:{'|'.join(part for line in words.splitlines() if line.strip() for part in line.strip().split(' | '))})"


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


_ANALYSIS = (
    r"(?:analys[ei]s|observations?|comparisons?|assessments?|patterns?|considerations?|findings|examination|evidence"
    r"|elements|details|factors|facts|clues|features|reasoning|information|typical understanding)"
)
CONCLUDING = _words(
    r"[^\w\n]*(?:\d{1,2}[.)] ?)?(?:and |but )?(?:(?:so|therefore|thus|hence|overall|consequently|accordingly|ultimately"
    r"|altogether|in (?:total|conclusion|summary|short|sum|all)|to (?:conclude|sum up|summari[sz]e)|conclusion|total"
    r"|as a result|on balance|(?:this|that|which) (?:means|leaves|gives)(?: that)?|that makes(?= \d)|(?:because"
    r"|as a result) of (?:this|that|these))\b"
    rf"|(?:based on|given|considering|from|after) [^.,;:!?\n]{{0,60}}\b{_ANALYSIS}\b[^.,;:!?\n]{{0,40}}(?:[:,\n]"
    rf"|$))[:,]*"
)
"""Beginning of a sentence that draws a conclusion."""
CONCLUDING_WITHIN = _words(
    r"[,;:] (?:and )?(?:so|therefore|thus|hence|leaving|which leaves|which means|in total"
    r"|(?:making(?: it| that| a total of)?|for a total of|bringing (?:it|the (?:total|count|number)) (?:up )?to"
    r"|(?:which|that) makes(?: it)?)(?= \d))\b,? "
)
TOTAL = _words(
    r"\b"
    + _one_of(r"""
    in total | altogether | in all | au total | insgesamt | en total | in totaal | razem
    (?:the|a|is|final|grand|overall) total | total (?:number|count|of|is|sum|amount|remaining)
    (?:the|final) (?:number|count|sum|value|result) (?:of|is) | all together | left | remain(?:s|ing)? | overall
""")
    + r"\b|合計|共|모두"
)
_SUMMED = r"(?:in all|altogether|in total|au total|insgesamt|en total|in totaal|razem|合計|共|모두)"
SUMMED = _words(
    rf"(?:\b|一|^){_SUMMED}[\s:|,]{{0,4}}(\d+)(?![.,]?\d)|(?<!\w )(?<![\w.,])(\d+)(?: \w{{1,20}}){{0,2}} {_SUMMED}\b"
)
RESULT_HEADING = _words(
    r"^[^\w\n]*(?:(?:[\w'-]{1,20} ){0,3}?(?:conclu[sz]i\w+|r[ée]sult\w*|summary|verdict|decision|answer|output|final"
    r"|(?:count|total)(?=:)|estimat(?:e|ion)|antwort|ergebnis|réponse|respuesta|结论|結論|结果|結果)"
    r"(?: [\w'-]{1,20}){0,3}(?:[^\w\n:.]*\n| ?: )|answer to the question\. )\s*"
)
LABELLED = re.compile(r"([^\w\n]*)((?:[^\W\d_][^\s:]{0,20} ?){1,4}) ?: ?(\S.{0,80})")
NOT_RESULT = _words(r"\b(?:not?|second|other|excluded|rejected|ruled|incorrect|wrong|notes?|first|options?|least)\b")
WITHDRAWN = _words(
    r"[^\w\n]*(?:(?:actually|hold on|wait|oops|hmm|scratch that)\b|.{0,60}\bchange (?:what i said|my answer)\b)"
)
JUDGED = _words(
    r"\b"
    + _one_of(r"""
    more | most | best | better | closer | closest | nearest | nearer | correct | same | similar
    match(?:es|ing)? | correspond(?:s|ing)? | fits? | likely | identical | \w+er (?:than|to|in) | \w+est
""")
    + r"\b"
)
"""Sign that a sentence compares the options, rather than describes one of them."""
DESCRIBED = _words(
    r"\b"
    + _one_of(r"""
    shows? | showing | depicts? | features? | displays? | contains? | includes? | consists? | presents?
    located | describe[sd]? | captures? | illustrates? | has | have | introduces?
    is (?:an?|of|at|on|in|near|above|below|under) | appears? to (?:show|be (?:an?|in|on|at))
""")
    + r"\b"
)
HEDGED = _words(
    r"\b"
    + _one_of(r"""
    might | may | could | either | any of | all of | all (?:two|three|four|five|six) | both | if | whether
    unless | neither | none | nothing | no (?:option|choice) | cannot | can't | unable | impossible
    not (?:possible|clear|sure|certain) | difficult | challenging | would need | eliminate\w* | rul\w+ out
""")
    + r"\b"
)
"""Words of a sentence that commits to nothing."""
JUDGED_OBJECT = _words(
    r"\b(?:shows?|showing|contains?|includes?|has|have|holds?|marks?|depicts?|is|are) (?:at |in )?the (?:\w+ly )?"
    r"(?:closer|closest|nearer|nearest|correct|right|same|matching|best|odd)\b"
)
"""A comparison in the form of a description: "contains the closer object"."""
DESIGNATED = _words(r"[^.!?\n]{0,40}\b(?:is|be) the\b")
"""Text after a name that is designated as the answer."""
UNDECIDED = _words(
    r"\b"
    + _one_of(r"""
    might | may | could | perhaps | possibly | either | whether | unless | cannot | can't | unable | impossible
    not (?:possible|clear|sure|certain)
""")
    + r"\b"
)
"""Words of a sentence whose number is only a possibility."""
_OFFERED = (
    r"(?:options?|choices?|answers?|alternatives?|these|them|above|given|points?|images?|pictures?|box(?:es)?"
    r"|candidates?|the)"
)
REFUSED = _words(
    r"\b(?:cannot|can not|can't|couldn't|could not|unable to|not able to|(?:not|n't) possible to"
    r"|impossible to)\b[^.!?\n]{0,40}?\b(?:determined?|tell|identify|answer(?:ed)?|assist|help|provided?|decide|judge"
    r"|choose|select|be solved|calculated?|know|count)\b|\b(?:not|n't|no|without) (?:have |provide |contain |include "
    r"|give |offer |been given |given )?(?:enough|sufficient|any|more|additional|further"
    r"|specific) (?:\w+ ){0,2}(?:information|context|data|details?|images?|pictures?|photos?|access)\b"
    rf"|\bnone of (?:the )?(?:\w+ ){{0,2}}{_OFFERED}\b|\bneither of\b|\bneither (?:\w+ ){{0,6}}nor\b"
    r"|\b(?:answer|option|choice|value|result)s? (?:is|are|was|were) (?:not|n't) (?:provided|given|listed|offered"
    r"|included|available|present|among|in (?:the|any)|one of)\b|\bnot (?:among|one of|in) (?:the )?(?:\w+ )?(?:options"
    r"|choices|answers)\b|\b(?:no|not a|none) (?:correct|right|matching|suitable) (?:answer|option|choice)\b"
    r"|\banswer is (?:unknown|undetermined|unclear|neither|none)\b|\b(?:none|no one) (?:is|are) (?:right|correct)\b"
    r"|\bmistake in the (?:question|options|problem|choices)\b"
)
"""States that there is no answer, and so retracts an earlier conclusion."""
_MEDIA = r"(?:images?|pictures?|photos?|files?|attachments?)"
MISSING = _words(
    # Please share the four images
    r"\b(?:please|could you|can you|kindly|(?:once|if|when|after|until) you|you (?:can|could|may|need to|should))"
    r"(?: also| have)? (?:shared?|re-?upload|re-?attach|re-?send|provide|upload|attach|send|include|give|supply|clarify"
    r"|describe|show)\b"
    # the two images did not load
    r"|(?:\bnot|n't)(?: yet| been| be| properly| correctly)* (?:load|upload|attach)(?:ed)?\b"
    r"|\bfail(?:s|ed)? to (?:load|upload|attach|open|display|appear)\b"
    r"|\b(?:appears?|seems?|is|are|were|was) (?:to be )?(?:completely |all )?(?:blank|empty|broken|corrupted)\b"
    # not enough information, no images were provided
    r"|\b(?:no|not|n't|never|without|missing)\b[^.!?\n]{0,60}\b(?:provided?|attached|uploaded|available|supplied"
    r"|specified|defined|included|mentioned|given|information|context|enough|sufficient|data|access|visible)\b"
    rf"|\bno {_MEDIA}\b|\b(?:insufficient|incomplete|missing)\b|\bmore (?:information|context|details)\b"
    # I need to see the 5 photos
    r"|\b(?:need|needs|needed|requires?|required) (?:to (?:see|know|view|look|have)|more|additional|further|information"
    rf"|the {_MEDIA})\b|\b(?:would|will) need\b|\bwaiting for\b|\bif (?:they|it) (?:were|was)\b"
    # I do not see any of the 4 photos
    r"|\b(?:don't|do not|didn't|did not|cannot|can't|could not|couldn't) (?:\w+ )?(?:see|find|receive|have|get|view"
    rf"|access|open|detect) (?:\w+ ){{0,4}}{_MEDIA}\b|\bonly (?:see|have|received?|got) (?:\w+ )?(?:text|question)\b"
    r"|\bunfortunately\b|^\W{0,3}sorry\b"
)
"""States that something needed for an answer is missing: a number or name next to it was only repeated."""
BOILERPLATE = _words(
    r"[^\w\n]*(?:sure|okay|ok|certainly|of course|great|alright|absolutely|i understand|i see the|i can help"
    r"|i'd be happy|let's|let us|let me|here (?:is|are)|is there anything|do you have|i hope|please let|feel free"
    r"|to (?:find|determine|count|answer|solve|decide|figure)|looking at|comparing|thank you|thanks|hello|hi)\b"
)
"""Beginning of a sentence that introduces an answer but is none."""
PART = _words(
    r"\b(?:first|second|third|fourth|fifth|sixth|last|next|other|another|each|every|left|right|top|bottom|upper|lower"
    r"|middle|remaining) (?:image|picture|photo|panel|frame|view|row|column|one|side|group|corner)\b|\b(?:image|picture"
    r"|photo|panel|frame|view|row|column|step|group|option|figure) ?#?\d|\b\d+(?:st|nd|rd|th) (?:image|picture|photo"
    r"|panel|frame|view|row|column)\b"
)
"""One of several parts: its count need not be the count asked for."""
TURNED = _words(
    r"[^\w\n]*(?:but|however|wait|actually|although|on (?:a )?(?:second|closer|further)|hold on|oops|correction|hmm"
    r"|except|unless)\b"
)
"""Beginning of a sentence that retracts the one before, or continues from it."""
RECONSIDERED = _words(
    r"\b(?:re-?(?:count|check|examin|consider|evaluat|verif)\w*|verif\w+|hmm|wait|actually|looking again|second (?:look|thoughts?)"
    r"|closer (?:look|inspection)|comparing)\b"
)
"""After a first line with an answer it shows that the answer is checked, and may be given up."""
RECOUNTED = _words(r"\b(?:another|more|also|too|extra|additional|missed|hidden|fewer|not|last|third|\w+th)\b|n't\b")
"""After a count it changes the count: "Actually, another is hidden"."""
BEST = _words(
    r"\b(?:correct|right|best|closest|nearest|corresponding|matching|most (?:\w+ )?(?:likely|similar|appropriate"
    r"|suitable|consistent|reasonable|sensible|plausible|probable|accurate|fitting|logical|alike)|better|my|odd one out"
    r"|point that|one that|image that|box that|option that|choice that)\b(?:[^.;:!?\n]|\.(?=\d)){0,150}?\b(?:is|be"
    r"|are)\b(?: (?:therefore|thus|likely|probably|most likely|clearly|definitely|that|to be))*[ :\n]*"
)
EVIDENT = _words(
    r"[^\w\n]*(?:this|that|it) (?:is|can be|was) (?:evident|indicated|seen|clear|because|supported|shown|due)\b"
)
"""Beginning of a sentence that gives the reason for the one before."""
SUBORDINATE = _words(
    r"\s*(?:since|given|because|as|while|if|when|although|though|based on|for|considering|in|on|looking at|to|among|of"
    r"|out of|from|with|after|upon|by|compared (?:to|with)|relative to|unlike)\b[^,\n]{0,200}, ?"
)
"""A subordinate clause that may begin a sentence."""
CONTRAST = _words(r";|: |\b(?:but|however|though|although|while|whereas)\b")
CLAUSE_END = _words(
    r"\b(?:because|since|as|while|whereas|although|though|but|due to|which|where|compared|than|rather than|instead of"
    r"|unlike|over|despite|even if|unless|with)\b|[;\n]|[.!?](?=\s|$)"
)
COMPARED = _words(
    r"\b(?:than|compared (?:to|with)|over|unlike|versus|vs\.?|rather than|instead of)"
    r" (?:(?:the|in|option|point|image|box|with|that|those) )*[(\[\"']*$"
)
"""Text before the object of a comparison."""
_FAR = r"(?:farther|farthest|further|furthest|deeper|distant|remote|behind|rear|back(?:ground)?|beyond)"
OPPOSED = _words(
    r"(?:\b(?:unlike|behind|beyond|in front of|(?:different|differs?|distinct|far|away|apart) from|dissimilar (?:to|from)"
    r"|opposite(?: (?:of|to))?|less (?:\w+ ){1,3}(?:with|to|of)|lacks? (?:(?!is |are )[\w']+ ){0,6}[\w']+"
    rf"|{_FAR}(?: \w+)? (?:is|being)) (?:(?:the|in|of|with|that|those|category|group|class|set|examples?) )*)[(\[\"']*$"
)
"""Text before an option from which the answer is told apart."""
REVERSED = _words(
    r"(?:(?!\b(?:than|while|but|and|whereas|which)\b)[^.,!?;:\n]){0,60}?\b(?:is|are|was|lies?|sits?|stands?|looks?|seems?"
    rf"|appears?|being|one|object|box|thing|item|that) (?:[\w'-]+ ){{0,4}}?(?:{_FAR}|(?:less|least) (?:close|near)"
    r"|(?:second|third|fourth)[ -](?:\w+est|best)|(?:covered|hidden|occluded|blocked) by|unlike|dissimilar)\b"
)
"""Text after an option that says the opposite of nearer or alike, so that the other one may be meant."""
NEGATED = _words(r"\b(?:not(?! only\b)|never|unlikely|incorrect|wrong|inconsistent)\b|n't\b")
SENTENCE_START = re.compile(r"[.!?][\"')\]]*\s+|\n")
RIGHT_WORDS = frozenset(("true", "correct", "right", "accurate"))
TRUTH = _words(
    r"(?:\b(?:(?:statement|claim|assertion|sentence|description)(?: (?:above|given|in question|provided)"
    r"| that(?: [^\n.!?;]{1,160}?)?)?,?|(?P<answer>(?:(?:the|this|that) (?:\w+ )?)answer)(?: (?:above|given|in question"
    r"|provided))?,?)(?P<quote> [\"'][^\n]{1,300}?[\"'],?)? (?:is|was)|\b(?:this|that|which|it)(?: (?:is|was)"
    r"|'s))(?: (?:therefore|thus|hence|definitely|clearly|indeed|simply))?(?P<denied> not|n't)? (?P<word>true|false"
    r"|correct|incorrect|right|wrong|accurate|inaccurate|untrue)\b(?= ?(?:$|[\n.,;:!?)\]\"'])| (?:because|since|as"
    r"|here)\b)"
)
"""`answer`: said of an answer, which may be the one proposed in the question or that of the reply itself."""
NONE_BEFORE = _words(r"\b(?:none|neither|nor|no (?:option|choice|one|answer))\b[^.!?;\n]{0,70}$")
GEOMETRY = _words(
    r" is (?:the|an?) (?:[\w-]+ ){0,2}(?:angle|triangle|vertex|midpoint|cent(?:er|re)|corner|side|line|radius"
    r"|diameter)\b"
)
"""Text after a letter that names a point or an angle of a drawing."""
CONDITION = _words(
    r"[^\w\n]*(?:\d{1,2}[.)] ?)?(?:(?:so|but|and|however|then|now|thus|therefore|hence)\b,? ?)?(?:if|unless|suppose"
    r"|supposing|assume|assuming|in case)\b(?! (?:you|we|i|one) (?:\w+ly )?(?:look|observe|compare|consider|examine"
    r"|zoom|count|subtract|further|add|remove|take|had|have|must|were|was|need|use|follow|analy\w+)\b)"
)
"""Beginning of a sentence about one case of several; "if we look closely" and the like are not."""
