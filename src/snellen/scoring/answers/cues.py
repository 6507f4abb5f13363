"""The words and marks, mostly English, by which replies declare, conclude, compare, deny, doubt or refuse an answer.

All are in one table: a name, a colon and a regular expression, which goes on in indented lines. A name in capitals is a
part, which stands between @ in other entries. Case is ignored, and lines have beginnings and ends.
"""

from __future__ import annotations

import re

MANNERS = ("firm", "is", "soft", "next firm", "next soft")
"""Meaning of a marker. firm: it declares, and if nothing readable follows there is no answer. is: the same, unless
the text only comments on the answer. soft: if nothing readable follows it is no declaration. next: the answer must
follow at once; else like firm or soft."""
TABLE = r"""
NOUN: (?:answer|choice|option|selection|response|verdict|prediction|decision|pick|guess|judge?ment|答案|回答|选项)
NO: (?!(?:no|not|non|nicht|não|niet|nie|không|не)\b)
GAP: (?:\s(?:to|for|of|in|on|this|that|these|the|your|my|question|problem|images?|pictures?|here|given|above|most|likely
    |therefore|thus|should|would|must|will|then|now|task|letter|number|final))*
firm: \ue000
firm: (?<![a-z])@NOUN@(?:\s(?:is|letter|option))?[\"')\]]*\s?(?::|=>?|->|→)[ :]*
firm: ^[^\w\n]*(?:the )?(?:final |correct )?answer[^\w\n]*$
# A declaration in another language, up to the answer.
firm: (?:(?<!\w)(?:antwort|antwoord|réponse|respuesta|risposta|resposta|opción|opzione|opção|alternativa|ответ|odpowiedź
    |cevap|đáp án|svar|उत्तर|الإجابة|الاجابة|الجواب)(?: @NO@\w+){0,2}?(?: ?:| (?:ist|lautet|wäre|est|es|sería|è|é|is|to
    |là|är|है|هي|هو)(?!\w)| - )|\brichtig ist\b|(?:正解|正答|答え|解答)[はが:]|(?:정답|답)(?:은|:)
    |答案应?该?是)[ :]*(?:(?-i:la|a|die|de|to|den|l'option|die option|opción|opção|opzione
    |вариант) (?=[\"'(]?[A-Za-z\d]\b))?
is: (?<![a-z])@NOUN@@GAP@(?:(?:\s(?:is|be|was|remains)|'s)\b|是|为)[ :]*
soft: \bi(?:'d|'ll|(?:\s(?:would|will|must|now|therefore|thus|finally))*)\s(?:choose|pick|select|go with|vote for
    |opt for|answer|say|settle on|chose|picked|selected|conclude)\b(?:\s(?:that|with|it is|it's)\b)*[ :]*|(?:^
    |[.!?:,;] )going with\b[ :]*|(?:应该?选|我选|(?<!不)选择)择?(?![项题])[ :]*
soft: \b(?:statement|claim)(?:\s(?:above|given|in question))?\sis\b[ :]*
next firm: (?=w)(?:^|(?<=[.!?:,;)-])|(?<=[.!?:,;)-] )|(?<=\bno )|(?<=\bno, )|(?<=\bbut )|(?<=\bbut, )|(?<=\boh )
    |(?<=\boh, )|(?<=\bhmm )|(?<=\bhmm, ))wait\b[,.!: -]*|\bscratch that\b[,.!: -]*|\bcorrection\b ?[:,.-][:,. -]*
    |\bon second thoughts?\b[,.!: -]*
next soft: (?:->|→|=>)(?<=[^\n]{22}) ?(?=[^\n]{1,30}\Z)
next soft: \b(?:(?:actually|i meant?|sorry|my mistake|or rather|make that|i\.e|(?:final|edit|update|corrected|revised
    |re-?counted|re-?count)(?=\W{0,3}: ))\b|no\b(?= ?[,.!:-])(?!\W{1,3}\n)|(?:up)?on (?:closer |further
     |second )?(?:reflection|inspection|look|balance|consideration)\b)[,.!: -]+
lead: (?:(?:the )?(?:option|choice|letter)\b ?|选项 ?|(?:most likely|probably|likely|clearly|definitely|simply)\b,? ?)*
turn: (?:(?:no|wait|actually|it(?:'s| is| must be| should be)|that(?:'s| is)|make that|should be|must be
    |the (?:correct )?answer (?:is|should be)|i(?: would|'d)? (?:choose|say|pick|mean|meant)|(?:the )?(?:option|choice
    |letter|(?:image|picture|photo|tile|panel)(?= [a-z]\b))|probably|likely|most likely|definitely|clearly
    |rather)\b[,:. ]*)*
# Before a declaration: its answer is not the one that the reply gives, unless it declares no other.
set_aside: \b(?:wrong|incorrect|false|worst|bad|back-?up|fallback|alternate|alternative|runner-?up|previous|earlier
    |former|old|original|initial|(?:second|third|2nd|3rd|next)(?:[ -]best)?|(?:less|least) \w+|unlikely|reject\w+
    |exclud\w+|discard\w+|eliminat\w+|other|another|distract\w+|opposite|common|student'?s?'?) (?:@NOUN@:?\s?)?\Z
about_it: \s*(?:not|never|clear|evident|obvious|correct|wrong|incorrect|based|supported|consistent|visible|determined
    |found|given|shown|below|as follows|easy|simple|straightforward|therefore|thus|still|also|already|confirmed|one of
    |only|then|so|asked|expected|required|needed|the same)\b
hypothetical: \b(?:if|whether|unless|suppos\w+|assum\w+|could|might|may)\b[^.,:;!?\n]{0,30}$|(?:\bnot|n't) (?:say|think
    |believe|claim|agree)\b[^.,:;!?\n]{0,30}$|\b(?:otherwise|else)\b[^.:;!?\n]{0,30}$
cut: \b(?:because|since|as|for|given|while|whereas|although|though|due to|based on|if|when)\b|\b(?:denn|weil|während
    |parce|tandis|porque|perché|mentre|enquanto|omdat|потому|так как)\b|, (?:want|pois|car)\b|因为|由于|所以|لأن|[;\n]
    |[.!?](?=\s|$)|: | -[ ]
sentence_end: [\w)\]\"'][.!?]\s
# Must be followed by a sign that an answer is meant: "A is the right angle", "A is the best lit image" are not.
approved: [)\].:\"']* ?(?:one|option|choice|answer)? ?\b(?:is|must be|should be|would be) (?:clearly |definitely
     |therefore |thus )?(?:the )?(?:(?:only|most|single) )?(?:correct|right|best|final)\b(?!-)(?= ?(?:$
    |[\n.,;:!?)\]\"'])| (?:one|option|choice|answer|selection|match|fit|candidate|because|since|as|for|given|based|here
    |and|but|while|among)\b)|[)\].:\"']* (?:is|must be) (?:clearly |definitely |therefore |thus )?the odd (?:one
    |man) out\b|[)\].:\"']* ?(?:选项)?(?:是)?(?:正确|最合适|最符合|最接近)(?= ?(?:$|[\n.,;!)]))
# Words between an answer and the one that corrects it: "4, no, 5".
filling: [ .,;…-]{0,5}\b(no|wait|sorry|oops|hmm|er|um|or rather|rather|actually|i mean|make that|correction)\b
following: [ .,:;…-]{1,5}(?:it(?:'s| is) )?([\w'-]+)
joined: [)\].\"']*,? ?(?:or|and|nor|/|&|und|oder|et|ou|y|o|e|и|или|和|与|或|と|や|와|과) ?(?:option |choice |图片?
    |选项)?[(\[\"']*
therefore: \b(?:so|therefore|thus|hence)\b,?[ ]
CANNOT: (?:cannot|can not|can't|couldn't|could not|unable to|not able to|not possible to|impossible to)
TELL: (?:determined?|tell|identify|answer(?:ed)?|assist|help|provided?|judge|decide|know|count)
unsure: \b(?:@CANNOT@|cant|hard to|difficult to)\b[^.!?\n]{0,40}?\b(?:@TELL@|say|view|see|comply|process|analy[sz]e
    |be sure|be certain)\b|\b(?:not (?:sure|certain|clear)|unsure|unclear
    |don't know|do not know|as an ai|i'm sorry|i am sorry|apologi[sz]e)\b
# The end of a reply that breaks off within a sentence.
cut_off: (?-i:(?:\b(?:the|an|and|or|of|(?<!es it )(?<!o it )(?<!es they )(?<!o they )(?:is|are)|was|were|be|to|between
    |with|that|which|because|than|but|from|as|if|while|its|we|upper|lower|slightly|also|seems?|this|has|have|very|more
    |their)|[,:-]|\b[Tt]here (?:is|are) \d+|\b(?:upper|lower|top|bottom|front|back)[ -](?:l|le|lef|r|ri|rig|righ))\s?\Z)
# The end of a reply that breaks off before another answer or number: "A or", "3 +", "Option A (red): ...".
dangling: (?:\b(?:and|or|plus|minus|times|either|neither|nor)|(?<=\w )[+*/×÷=&]
    |(?<=\d)[*/×÷=]|(?<=\d )[-x]|\A[^\n]{0,50}:)[ .…]*\Z
# Beginning of an item that speaks of one option: "Option B (blue): the square".
item: [^\w\n]*(?:(?:the )?(?:option|choice|image|picture) )?[(\[]?(?:[a-z]|\d)\b[)\]]?(?:[ (][^\n:]{1,30}?
    (?::| - )|[).:\]]| - )
# After a mention it shows a question or a condition.
question: [^.!?\n]{0,60}\?| (?:only )?(?:if|provided|unless)\b(?! (?:i|you|we|one|forced|asked)\b)
FILL: (?:(?:the|a|an|be|to|it|option|choice|answer|letter|either|really|actually|just|necessarily|entirely|completely
    |quite|fully|exactly|strictly|bounding|box|point|image|picture|patch|tile|panel|figure|category|group|class|set|of
    |in) )*[\"'(\[]*$
denied_before: (?:\b(?:not|never|no longer|(?:any|every)thing but|all but|neither|nor|without|except|excluding|unlike|no
    |hardly|barely|scarcely|cannot|can't|rul\w+ out|instead of|rather than|other than|as opposed to|eliminat\w+
    |reject\w*|exclud\w+|nicht|kein\w*|pas|niet|não(?: é)?|non(?: è)?|не|nie|no es
    |không phải(?: là)?) |n't |不(?:可能)?[是选] ?|而非|排除 ?)@FILL@|(?:\bnot|n't|\bnothing|\bwrong to) (?:think
    |believe|say|claim|agree|consider|to do with|in common|put|place|call|belong|match|fit|correspond|resemble|look|go
    |be|seem|appear|a member|like|in|patch)(?: [\w\"']+){0,5} [\"'(\[]*$
IS: (?:is|are|was|does|do|did|can|could|would|should|seems?|looks?|has)
denied_after: [)\].:\"',]* ?(?:one |option |choice |answer )?(?:@IS@(?:n't| not\b| never\b)|can't\b|cannot\b|won't\b
    |(?:is|are|was|seems|looks) (?:\w+ly |also )?(?:wrong|incorrect|impossible|ruled out|excluded|eliminated|out\b))
    |[)\].\"']* ?(?:[이가은는] ?(?:정답[이은] ?)?아[니닙닌]|(?:では|じゃ|で)(?:な|ありません)|都?不[对是正符像选]|是?错
    |(?:可以|被)?排除)|[)\].\"']* (?:(?:no es|não é|non è|n'est pas|ist nicht|is niet|не)\b|(?:es|ist|est|è
    |é) (?:incorrect\w*|falsch|fau(?:x|sse)|sbagliat\w+|errad\w+)|неверн|неправильн)
ANALYSIS: (?:analys[ei]s|observations?|comparisons?|assessments?|patterns?|considerations?|findings|examination|evidence
    |elements|details|factors|facts|clues|features|reasoning|information|typical understanding)
# Beginning of a sentence that draws a conclusion.
concluding: [^\w\n]*(?:\d{1,2}[.)] ?)?(?:and |but )?(?:(?:so|therefore|thus|hence|overall|consequently|accordingly
    |ultimately|altogether|in (?:total|conclusion|summary|short|sum|all)|to (?:conclude|sum up|summari[sz]e)|conclusion
    |total|as a result|on balance|(?:this|that|which) (?:means|leaves|gives)(?: that)?|that makes(?= \d)|(?:because
    |as a result) of (?:this|that|these))\b|(?:based on|given|considering|from|after) [^.,;:!?\n]{0,60}\b@ANALYSIS@\b[^.
    ,;:!?\n]{0,40}(?:[:,\n]|$))[:,]*
concluding_within: [,;:] (?:and )?(?:so|therefore|thus|hence|leaving|which leaves|which means|in total|(?:making(?: it
    | that| a total of)?|for a total of|bringing (?:it|the (?:total|count|number)) (?:up )?to|(?:which
    |that) makes(?: it)?)(?= \d))\b,?[ ]
total: \b(?:in total|altogether|in all|au total|insgesamt|en total|in totaal|razem|(?:the|a|is|final|grand
    |overall) total|total (?:number|count|of|is|sum|amount|remaining)|(?:the|final) (?:number|count|sum|value
    |result) (?:of|is)|all together|left|remain(?:s|ing)?|overall)\b|合計|共|모두
SUMMED: (?:in all|altogether|in total|au total|insgesamt|en total|in totaal|razem|合計|共|모두)
summed: (?:\b|一|^)@SUMMED@[\s:|,]{0,4}(\d+)(?![.,]?\d)|(?<!\w )(?<![\w.,])(\d+)(?: \w{1,20}){0,2} @SUMMED@\b
result_heading: ^[^\w\n]*(?:(?:[\w'-]{1,20} ){0,3}?(?:conclu[sz]i\w+|r[ée]sult\w*|summary|verdict|decision|answer|output
    |final|(?:count|total)(?=:)|estimat(?:e|ion)|antwort|ergebnis|réponse|respuesta|结论|結論|结果
    |結果)(?: [\w'-]{1,20}){0,3}(?:[^\w\n:.]*\n| ?: )|answer to the question\. )\s*
labelled: ([^\w\n]*)((?:[^\W\d_][^\s:]{0,20} ?){1,4}) ?: ?(\S.{0,80})
not_result: \b(?:not?|second|other|excluded|rejected|ruled|incorrect|wrong|notes?|first|options?|least)\b
withdrawn: [^\w\n]*(?:(?:actually|hold on|wait|oops|hmm|scratch that)\b|.{0,60}\bchange (?:what i said|my answer)\b)
# Sign that a sentence compares the options, rather than describes one of them.
judged: \b(?:more|most|best|better|closer|closest|nearest|nearer|correct|same|similar|match(?:es|ing)?|correspond(?:s
    |ing)?|fits?|likely|identical|\w+er (?:than|to|in)|\w+est)\b
described: \b(?:shows?|showing|depicts?|features?|displays?|contains?|includes?|consists?|presents?|located
    |describe[sd]?|captures?|illustrates?|has|have|introduces?|is (?:an?|of|at|on|in|near|above|below|under)
    |appears? to (?:show|be (?:an?|in|on|at)))\b
# Words of a sentence that commits to nothing.
hedged: \b(?:might|may|could|either|any of|all of|all (?:two|three|four|five|six)|both|if|whether|unless|neither|none
    |nothing|no (?:option|choice)|cannot|can't|unable|impossible|not (?:possible|clear|sure|certain)|difficult
    |challenging|would need|eliminate\w*|rul\w+ out)\b
# A comparison in the form of a description: "contains the closer object".
judged_object: \b(?:shows?|showing|contains?|includes?|has|have|holds?|marks?|depicts?|is|are) (?:at
     |in )?the (?:\w+ly )?(?:closer|closest|nearer|nearest|correct|right|same|matching|best|odd)\b
# Text after a name that is designated as the answer.
designated: [^.!?\n]{0,40}\b(?:is|be) the\b
# Words of a sentence whose number is only a possibility.
undecided: \b(?:might|may|could|perhaps|possibly|either|whether|unless|cannot|can't|unable|impossible|not (?:possible
    |clear|sure|certain))\b
OFFERED: (?:options?|choices?|answers?|alternatives?|these|them|above|given|points?|images?|pictures?|box(?:es)?
    |candidates?|the)
# States that there is no answer, and so retracts an earlier conclusion.
refused: \b@CANNOT@\b[^.!?\n]{0,40}?\b(?:@TELL@|choose|select|be solved|calculated?)\b|\b(?:not|n't|no
    |without) (?:have |provide |contain |include |give |offer |been given |given )?(?:enough|sufficient|any|more
    |additional|further|specific) (?:\w+ ){0,2}(?:information|context|data|details?|images?|pictures?|photos?|access)\b
    |\bnone of (?:the )?(?:\w+ ){0,2}@OFFERED@\b|\bneither of\b|\bneither (?:\w+ ){0,6}nor\b|\b(?:answer|option|choice
    |value|result)s? (?:is|are|was|were) (?:not|n't) (?:provided|given|listed|offered|included|available|present|among
    |in (?:the|any)|one of)\b|\bnot (?:among|one of|in) (?:the )?(?:\w+ )?(?:options|choices|answers)\b|\b(?:no|not a
    |none) (?:correct|right|matching|suitable) (?:answer|option|choice)\b|\banswer is (?:unknown|undetermined|unclear
    |neither|none)\b|\b(?:none|no one) (?:is|are) (?:right|correct)\b|\bmistake in the (?:question|options|problem
    |choices)\b
MEDIA: (?:images?|pictures?|photos?|files?|attachments?)
# States that something needed for an answer is missing: a number or name next to it was only repeated.
missing: \b(?:please|could you|can you|kindly|(?:once|if|when|after|until) you|you (?:can|could|may|need to
    |should))(?: also| have)? (?:shared?|re-?upload|re-?attach|re-?send|provide|upload|attach|send|include|give|supply
    |clarify|describe|show)\b
    # the two images did not load
    |(?:\bnot|n't)(?: yet| been| be| properly| correctly)* (?:load|upload|attach)(?:ed)?\b|\bfail(?:s|ed)? to (?:load
    |upload|attach|open|display|appear)\b|\b(?:appears?|seems?|is|are|were|was) (?:to be )?(?:completely |all )?(?:blank
    |empty|broken|corrupted)\b
    # not enough information, no images were provided
    |\b(?:no|not|n't|never|without|missing)\b[^.!?\n]{0,60}\b(?:provided?|attached|uploaded|available|supplied|specified
    |defined|included|mentioned|given|information|context|enough|sufficient|data|access|visible)\b|\bno @MEDIA@\b
    |\b(?:insufficient|incomplete|missing)\b|\bmore (?:information|context|details)\b
    # I need to see the 5 photos
    |\b(?:need|needs|needed|requires?|required) (?:to (?:see|know|view|look|have)|more|additional|further|information
    |the @MEDIA@)\b|\b(?:would|will) need\b|\bwaiting for\b|\bif (?:they|it) (?:were|was)\b
    # I do not see any of the 4 photos
    |\b(?:don't|do not|didn't|did not|cannot|can't|could not|couldn't) (?:\w+ )?(?:see|find|receive|have|get|view|access
    |open|detect) (?:\w+ ){0,4}@MEDIA@\b|\bonly (?:see|have|received?|got) (?:\w+ )?(?:text|question)\b
    |\bunfortunately\b|^\W{0,3}sorry\b
# Beginning of a sentence that introduces an answer but is none.
boilerplate: [^\w\n]*(?:sure|okay|ok|certainly|of course|great|alright|absolutely|i understand|i see the|i can help
    |i'd be happy|let's|let us|let me|here (?:is|are)|is there anything|do you have|i hope|please let|feel free
    |to (?:find|determine|count|answer|solve|decide|figure)|looking at|comparing|thank you|thanks|hello|hi)\b
# One of several parts: its count need not be the count asked for.
THING: (?:image|picture|photo|panel|frame|view|row|column)
part: \b(?:first|second|third|fourth|fifth|sixth|last|next|other|another|each|every|left|right|top|bottom|upper|lower
    |middle|remaining) (?:@THING@|one|side|group|corner)\b|\b(?:@THING@|step|group|option|figure) ?#?\d|\b\d+(?:st|nd|rd
    |th) @THING@\b
# Beginning of a sentence that retracts the one before, or continues from it.
turned: [^\w\n]*(?:but|however|wait|actually|although|on (?:a )?(?:second|closer|further)|hold on|oops|correction|hmm
    |except|unless)\b
# After a first line with an answer it shows that the answer is checked, and may be given up.
reconsidered: \b(?:re-?(?:count|check|examin|consider|evaluat|verif)\w*|verif\w+|hmm|wait|actually|looking again
    |second (?:look|thoughts?)|closer (?:look|inspection)|comparing)\b
# After a count it changes the count: "Actually, another is hidden".
recounted: \b(?:another|more|also|too|extra|additional|missed|hidden|fewer|not|last|third|\w+th)\b|n't\b
best: \b(?:correct|right|best|closest|nearest|corresponding|matching|most (?:\w+ )?(?:likely|similar|appropriate
    |suitable|consistent|reasonable|sensible|plausible|probable|accurate|fitting|logical|alike)|better
    |my(?! (?:second|third|next|other|least|back|alternat|old|previous|initial))|odd one out
    |point that|one that|image that|box that|option that|choice that)\b(?:[^.;:!?\n]|\.(?=\d)){0,150}?\b(?:is|be
    |are)\b(?: (?:therefore|thus|likely|probably|most likely|clearly|definitely|that|to be))*[ :\n]*
# Beginning of a sentence that gives the reason for the one before.
evident: [^\w\n]*(?:this|that|it) (?:is|can be|was) (?:evident|indicated|seen|clear|because|supported|shown|due)\b
# A subordinate clause that may begin a sentence.
subordinate: \s*(?:since|given|because|as|while|if|when|although|though|based on|for|considering|in|on|looking at|to
    |among|of|out of|from|with|after|upon|by|compared (?:to|with)|relative to|unlike)\b[^,\n]{0,200}, ?
contrast: ;|: |\b(?:but|however|though|although|while|whereas)\b
clause_end: \b(?:because|since|as|while|whereas|although|though|but|due to|which|where|compared|than|rather than
    |instead of|unlike|over|despite|even if|unless|with)\b|[;\n]|[.!?](?=\s|$)
# Text before the object of a comparison.
compared: \b(?:than|compared (?:to|with)|over|unlike|versus|vs\.?|rather than|instead of) (?:(?:the|in|option|point
    |image|box|with|that|those) )*[(\[\"']*$
FAR: (?:farther|farthest|further|furthest|deeper|distant|remote|behind|rear|back(?:ground)?|beyond)
# Text before an option from which the answer is told apart.
opposed: (?:\b(?:unlike|behind|beyond|in front of|(?:different|differs?|distinct|far|away|apart) from|dissimilar (?:to
    |from)|opposite(?: (?:of|to))?|less (?:\w+ ){1,3}(?:with|to|of)|lacks? (?:(?!is |are )[\w']+ ){0,6}[\w']+
    |@FAR@(?: \w+)? (?:is|being)) (?:(?:the|in|of|with|that|those|category|group|class|set|examples?) )*)[(\[\"']*$
# Text after an option that says the opposite of nearer or alike, so that the other one may be meant.
reversed: (?:(?!\b(?:than|while|but|and|whereas|which)\b)[^.,!?;:\n]){0,60}?\b(?:is|are|was|lies?|sits?|stands?|looks?
    |seems?|appears?|being|one|object|box|thing|item|that) (?:[\w'-]+ ){0,4}?(?:@FAR@|(?:less|least) (?:close|near)
    |(?:second|third|fourth)[ -](?:\w+est|best)|(?:covered|hidden|occluded|blocked) by|unlike|dissimilar)\b
negated: \b(?:not(?! only\b)|never|unlikely|incorrect|wrong|inconsistent)\b|n't\b
sentence_start: [.!?][\"')\]]*\s+|\n
# `answer`: said of an answer, which may be the one proposed in the question or that of the reply itself.
truth: (?:\b(?:(?:statement|claim|assertion|sentence|description)(?: (?:above|given|in question|provided)
    | that(?: [^\n.!?;]{1,160}?)?)?,?|(?P<answer>(?:(?:the|this|that) (?:\w+ )?)answer)(?: (?:above|given|in question
    |provided))?,?)(?P<quote> [\"'][^\n]{1,300}?[\"'],?)?(?: (?:is|was|does)|(?:(?<=statement)|(?<=claim))(?= holds))
    |\b(?:this|that|which|it)(?: (?:is|was|does)|'s))(?: (?:therefore|thus|hence|definitely|clearly|indeed
    |simply))?(?P<denied>[ ]not|n't)? (?P<word>true|false|correct|incorrect|right|wrong|accurate|inaccurate|untrue
    |holds?(?: true)?)\b(?= ?(?:$|[\n.,;:!?)\]\"'])| (?:because|since|as|here)\b)
none_before: \b(?:none|neither|nor|no (?:option|choice|one|answer))\b[^.!?;\n]{0,70}$
# Text after a letter that names a point or an angle of a drawing.
geometry:  is (?:the|an?) (?:[\w-]+ ){0,2}(?:angle|triangle|vertex|midpoint|cent(?:er|re)|corner|side|line|radius
    |diameter)\b
# Beginning of a sentence about one case of several; "if we look closely" and the like are not.
condition: [^\w\n]*(?:\d{1,2}[.)] ?)?(?:(?:so|but|and|however|then|now|thus|therefore|hence)\b,? ?)?(?:if|unless|suppose
    |supposing|assume|assuming|in case)\b(?! (?:you|we|i|one) (?:\w+ly )?(?:look|observe|compare|consider|examine|zoom
    |count|subtract|further|add|remove|take|had|have|must|were|was|need|use|follow|analy\w+)\b)
END: (?=\n?\Z)
FILLING: (?: (?:about|approximately|around|roughly|exactly|only|just|now|still|also|thus|then|therefore|simply|indeed
    |estimated|at|a|total|of|the|in|number|all|likely|probably))*:? ?@END@
# A count in words, which may contradict one in digits, in Chinese, Japanese or Korean.
counted: [一二两兩三四五六七八九十百]{1,4} ?[个個只隻张張本匹人枚条條把辆块颗件座杯名位台つ]|(?:두|세|네|다섯|여섯|일곱
    |여덟|아홉|열) [개명마대권]
TERM: \d{1,6}(?: [^\W\d_]{2,20}){0,2}
sum: (?:\W{0,3}(?:so|thus|hence|therefore|(?:the |in )?(?:total|sum)(?: is)?|altogether|overall|adding|up|them|these|all
    |it|everything|together|gives|that|makes|is)[:, ]{1,2}){0,6}(@TERM@(?: ?[+*x×] ?@TERM@){1,30}) ?= ?(\d{1,9})
    (?: [^\W\d_]{1,20}){0,2}[.! ]*
# A sentence that only states that there are none.
nothing: (?:there (?:are|is)(?: no|n't any| not any)|(?:i(?: can)? see|the (?:image|picture|photo) (?:shows
    |has)) no) (?!(?:\w+ ){0,2}(?:images?|pictures?|photos?|files?|attachments?|way|question|doubt|answers?|options?
    |numbers?|count|other|more|further|longer|clear|need|sign|evidence|information|content|context|data|details?
    |differences?|changes?|reason|problem|issue|point|one)\b)[\w'-]+(?: (?!(?:but|except|besides|apart|only
    |if)\b)[\w'-]+){0,11}[.! ]*
# Text right before the number that a sentence states.
copula: \b(?:is|are|was|were|be|equals?|equal to|to be|becomes?|remains?|leav(?:es|ing)|left with|measures?|needs?
    |totals|total(?!:))@FILLING@
# Text that may be before it if it is the only number.
having: \b(?:has|have|see|count(?:ed)?|find)@FILLING@
# After a number it shows a term of a calculation: "3 + 2", "2 * 4 cm", "-3*pi".
term: \s?(?:%|[a-z]{1,12}(?:/[a-z]{1,4})?)?\s?(?:[-+] ?[\d(.]|[*/×÷^] ?[\w(]|x ?\d|(?:plus|minus|times|divided by) \S)
    |\s?[*^]|\s(?:squared|cubed)\b
coordinated: [^.;:(\n]{0,40}?(?:,|\b(?:and|or|to|plus)\b|-)(?: (?:only|about|another|a|the|then|maybe|perhaps|possibly
    |or))* ?@END@
bound: (?:\b(?:at least|at most|more than|less than|fewer than|greater than|over|under|above|below|up to|nearly|almost
    |minimum of|maximum of)|[<>≥≤±]|至少|至多|最多|最少|超过|不到|최소|최대|\d ?/)\s?@END@
length: (?<![\w.,-])(?:(\d{1,9}\.\d{1,9}) ?(?:m|meters?|metres?)|(\d{1,9}(?:\.\d{1,9})?) ?(cm|mm|ft|feet|foot
    |inches))(?!\w)
stance: (?:they|it|these|those|both|the (?:two )?\w+)(?: both)?(?: do| does| are| is|'re)(n't| not)?(?: touch(?:ing)?)?
# After "true" or "false" it shows that no verdict is meant: "false positives".
attribute:  (?:that|positives?|negatives?|alarms?|colou?rs?|friends?|size|shape)[ ]
# Around "true" or "false" they show that it holds in part only: "partially true", "true to some extent".
partly_before: (?:\b(?:only [^.,;:!?\n]{0,40} is|partial(?:ly)?|partly|in part|half|thirds?|quarters?|mostly|mainly
    |largely|almost|nearly|somewhat|sometimes|sort of|kind of|more(?: or less)?|less|percent|a (?:little|bit)|in a
     (?:sense|way)|0?\.\d+|the (?:rest|(?:first|second|last|other)[ ]
    (?:half|part|clause|claim))\b[^.,;:!?\n]{0,40}(?: is)?)|(?<!\b100)(?<!\b100 )%) (?:\w+ly )?@END@
# Words before yes or no at the beginning of a reply, and what must follow them there.
agreed: (?:(?:no (?:problem|doubt|worries)|sure|absolutely|definitely|certainly|clearly|i(?: would|'d)? (?:think|believe
    |say|guess)(?: so)?)\W+)?
aside_end: (?= ?[,.;:!]|   ?| (?:they|it|there) (?:do|does|is|are)(?: not|n't)?\W*\Z|\Z)
# After "true", "false", "yes" and "no", too: "Yes, in part".
partly_after: (?:\W{1,3}(?:but )?(?:only )?(?:in (?:part|some|places|one|certain|a (?:way|sense))|part(?:ial)?ly|at most
    |only (?:of|for|in|if|when)|to (?:some|an?|a certain) (?:extent|degree)|for (?:the most part|(?:image|one|two|three
    |most|some|the (?:first|second|left|right))\b)|with (?:reservations|(?:an?|one|some|few) (?:exception|caveat
    |reservation)|(?:a )?(?:\S{1,9} )?(?:probability|chance|likelihood))|except|apart from|sort of|kind of|more or less
    |half of (?:them|it)|(?:almost|nearly|mostly|mainly|largely|somewhat)(?=\W*\Z)|(?:yes|no)(?=\W*\Z)
    |(?:p ?= ?)?(?:(?<!\d)[0-6]?\d ?%|0?\.[0-6])|ish|teilweise|en partie|en parte|in parte)|,? but only)(?!\w)
part_before: \b(?:(?:half|quarter|third|part|piece|slice|section|frustum)(?: of)?(?: an?)?|truncated|incomplete|pseudo
    |flat topped|blunt(?:ed)?) @END@
# Around an option they show that another thing is meant: "half a sphere", "a cone with its tip cut off".
part_after:  (?:(?:has been|is|was) )?truncated\b| frustum\b| like\b| cut in half|(?: with| whose) (?:its |the
     |a )?(?:tip|top|apex|point|end|corner)s? (?:\w+ ){0,2}?(?:cut|sliced|chopped|removed|missing|truncated)\b
# After images listed by number: they are told apart, not grouped.
told_apart: (?: images?| pictures?| photos?)?,?(?: both)? (?:differ|(?:are|show|look|depict|contain|have
    |feature) (?:\w+ly )?(?:an? |the |two )?(?:not|different\b(?! \w+ of the same)|distinct|unrelated))
none_alike: no (?:images|pictures|photos) (?:match|are (?:the same|alike))\.?|none of (?:the |these )?(?:\w+ )?(?:images
    |pictures|photos) (?:\w+ ){0,5}(?:same|match|alike)\b[^.,:;\n]{0,40}\.?
several_declared: (?:\ue000|\b(?:answers?|choices|options|selections?)\b[^\w\n:]{0,4}(?:\s?:|\s(?:is|are)\b)
    |\b(?:options?|choices|figures?|images?)\s(?:that|which)\b[^.\n:]{1,120}\b(?:is|are)\b|(?:答案|选项)[是为有:]+
    |选择)(?:\s?(?:as follows|therefore|thus|both)\b)?[\s:*]{0,4}
several_end: \s(?:(?:are|is)(?: all| both)?(?: the)? (?:correct|right|true)(?: (?:answers?|options?|choices?|ones?))?
    |(?:all )?apply|satisf(?:y|ies) (?:all )?(?:the|this|these) (?:given )?conditions?)[.!]?@END@
unreadable: (?:(?:unfortunately|sorry|i(?:['’]m| am) sorry|i apologi[sz]e)[,.]? (?:but )?)?(?:i(?:['’]m| am) (?:not
     |un)able to\b|i (?:can ?not|can['’]t|could(?: not|n['’]t)|do(?: not|n['’]t)) (?:read|see|make out|determine
    |identify|tell|assist|transcribe)(?: (?:it|the|any|what|which|with|text)\b|[.!]?@END@)|(?:there(?: is|['’]s
    | are) )?no (?:\w+ )?(?:text|writing|words?)(?: (?:is )?(?:visible|in)\b.{0,99})?[.!]?@END@|(?:the|this|it
    |text)\b[^.\n]{0,90}(?: does(?: not|n['’]t) (?:contain|have|show) any|(?: is|['’]s| are| appears?
    | seems?)(?: to be)? (?:\w+ )?(?:un(?:clear|readable)|illegible|blurr\w+|too (?:blurr|small|dark|faint)\w*
    |not (?:\w+ )?(?:leg|read|vis)[ia]ble))\b|[\[(<*]*(?:un(?:clear|readable)|illegible)[\])>*]*[.!]?@END@)
yet: \b(?:but|however|though|although|guess|appears?|seems?|looks? like|may|might)\b
THOUGHT: (?:think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad)
thought_start: [<◁]\|?(?:\w{1,9}:|begin_of_|start_)?@THOUGHT@\|?[>▷]|(?-i:\[THINK\])|<unused94>
    |(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)|(?-i:\Aanalysis(?=[A-Z]))
thought_end: [<◁]\|?(?:/(?:\w{1,9}:)?|end_of_|end_)@THOUGHT@\|?[>▷]|(?-i:\[/THINK\])|<unused95>
    |<\|channel\|>final(?:<\|message\|>)?|(?-i:assistantfinal)
# The end of a reply: a token of its end, or the opening of a next turn.
next_turn: <(?:/s|eos|end_of_turn|\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return|user|im_start)\|)>
    |\[/?INST\]|[\n.!?>][#*\s]{0,9}(?:human|user|question|q|问题|用户)(?: \d{1,3})?\*{0,2} ?[:：]
opened: \A\s*(?:<\|(?:im_start|start_header_id|start)\|>\s*assistant\s*(?:<\|end_header_id\|>)?\s*)?
# Calls of tools and code, closed or not: neither is an answer.
call: (?s:<\|?(tool_calls?|tool_response|tool_code|function_calls?|function|code|observation)\b[^<>]{0,99}>.*?
    (?:</\1\|?>|\Z)|(?:\[TOOL_CALLS\]|<\|python_tag\|>).*)
code_block: (?s:```(?:python|py|tool_\w+|javascript|js|bash|sh)\b.*?(?:```|\Z))
code_line: (?-i:^[ \t]*(?:import \w.*|from [\w.]+ import.*|(?:\w{1,40} = (?!rgb|hsl)[\w.]{1,60}|print
    |\w{1,40}[._]\w[\w.]{0,60})\(.*\)|\w{1,40} = \w{1,40}\[.*|def .*:|Action(?: Input)?:.*)[ ;]*(?:#.*)?$)
# The name of a function in a call that gives the answer.
submits: (?<![^\W\d_])(?:submit|final|finish|answer)\w{0,20}(?:\(|[\"'],)
# A remark on how sure the reply is: "(confidence: high)", "(90% sure)". Its number is no answer.
confidence: [(\[]?\b(?:confidence|certainty)(?: level| score)?\s?(?:[:=]|is|of)?\s?(?:\d[\d.]{0,9}\s?%?
    |(?:very )?(?:high|low)|medium|moderate)(?!\w)[)\]]?|[(\[](?:about )?\d[\d.]{0,9}\s?% (?:confiden(?:t|ce)|sure
    |certain(?:ty)?)[)\]]
"""


def read_table(text: str) -> list[tuple[str, re.Pattern[str]]]:
    """The entries of the table in order, without its comments and parts."""
    parts, entries = dict[str, str](), list[tuple[str, re.Pattern[str]]]()
    for line in re.sub(r"\n    (?:# .*)?", "", text).strip().split("\n"):
        name, _, pattern = line.partition(": ")
        pattern = re.sub(r"@(\w+)@", lambda part: parts[part[1]], pattern)
        if name.isupper():
            parts[name] = pattern
        elif not name.startswith("#"):
            entries.append((name, re.compile(pattern, re.IGNORECASE | re.MULTILINE)))
    return entries


ENTRIES = read_table(TABLE)
MARKERS = [(name, pattern) for name, pattern in ENTRIES if name in MANNERS]
CUES = {name: pattern for name, pattern in ENTRIES if name not in MANNERS}
