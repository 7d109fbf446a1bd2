"""Is an answer right? Decided by regular expressions alone, so that the same answers always give the same table.

Limits: a right answer in other words than the key's ("half past nine", "forty-six") counts as wrong; a right value in
a wrong sentence counts as right; an answer that names the old value of a changed fact beside the new one is right only
where it says that something changed. Refusals are recognised in English.
"""

from __future__ import annotations

import re
from typing import Literal

from .generator import AskedQuestion

Verdict = Literal["right", "wrong", "unknown"]

_APOSTROPHES = str.maketrans({"’": "'", "`": "'", "*": None, "_": None})
_REFUSAL = re.compile(
    r"""
    \b(do|does|did|could|can)(n't|\ not)\ (actually\ |currently\ |directly\ |really\ )?
        (know|have|find|see|tell|say|determine|provide|recall|remember|access|answer|contain|mention|specify|include)
    | \bcannot\ (find|see|tell|say|determine|provide|recall|remember|access|answer)
    | \bcan't\ (find|see|tell|say|determine|provide|recall|remember|access|answer)
    | (\b(not|never)|n't)\ (been\ )?
        (sure|certain|aware|mentioned|specified|provided|stated|given|available|able\ to|found|known|clear|explicitly)
    | \bunable\ to\b
    | \bno\ (information|mention|record|details?|data|specific|relevant|answer|such|indication|context)\b
    | \b(unknown|unclear|unspecified|insufficient)\b
    | \b(please|could\ you|can\ you)\ (provide|share|specify|tell|give|clarify)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CHANGE = re.compile(
    r"\b(now|instead|no longer|not|previously|formerly|before|used to|was|were|had|moved|changed|replaced|switched|"
    r"from|until|originally|rather than|since)\b",
    re.IGNORECASE,
)


def grade(answer: str, question: AskedQuestion) -> Verdict:
    """What became of the question: "unknown" is an answer that admits not to know.

    Of a question whose answer is not there, that is the right one. An empty answer is wrong.
    """
    said = answer.translate(_APOSTROPHES)
    names_wrong = _matches(question.rejected, said)
    admits = _REFUSAL.search(said) is not None
    if not question.accepted:
        return "right" if admits and not names_wrong else "wrong"
    if _matches(question.accepted, said):
        is_told_apart = question.stratum == "changed" and _CHANGE.search(said) is not None
        return "right" if is_told_apart or not names_wrong else "wrong"
    return "unknown" if admits and not names_wrong else "wrong"


def _matches(patterns: tuple[str, ...], text: str) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
