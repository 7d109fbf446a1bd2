"""Texts for measuring: made of a fixed vocabulary, the same from the same seed, fast enough for a million."""

from __future__ import annotations

from copy import copy
from random import Random

_WORDS = """
    the of and to in that it is was for on with as be at by this have from or one had not but what all were when we
    there can an your which their said if do will each about how up out them then she many some so these would other
    into has more her two like him see time could no make than first been its who now people my made over did down only
    way find use may water long little very after words called just where most know get through back much before go
    good new write our used me man too any day same right look think also around another came come work three word must
    because does part even place well such here take why things help put years different away again off went old number
    great tell men say small every found still between name should home big give air line set own under read last never
    us left end along while might next sound below saw something thought both few those always looked show large often
    together asked house world going want school important until form food keep children feet land side without boy
    once animals life enough took sometimes four head above kind began almost live page got earth need far hand high
    year mother light parts country father let night following picture being study second eyes soon times story boys
    since white days ever paper hard near sentence better best across during today others however sure means knew try
    told young miles sun ways thing whole hear example heard several change answer room sea against top turned learn
    point city play toward five using himself usually money seen car morning given trees database index query window
    cache latency budget memory thread stream commit writer reader token prompt model answerer reference message hash
    friendly sidebar workspace folder browser server client request response error retry timeout schema migration
    column table row transaction lock snapshot pointer buffer socket kernel compiler parser grammar lexer function
    module package release version branch merge conflict review checklist garden recipe bread sourdough oven flour
    yeast butter pepper tomato basil olive mountain river valley harbour bridge railway station platform ticket journey
    passport luggage museum gallery painting sculpture concert violin orchestra theatre novel chapter paragraph poem
    letter envelope stamp doctor clinic vaccine muscle tendon sleep breathing marathon bicycle saddle helmet puncture
    invoice salary mortgage interest insurance pension contract lawyer witness evidence verdict election parliament
    minister treaty border island volcano earthquake glacier desert rainforest penguin elephant dolphin sparrow orchid
    telescope galaxy comet orbit satellite rocket neutron electron catalyst polymer enzyme protein genome antibody
"""
_VOCABULARY = _WORDS.split()
_SENTENCES = 6_000


class TextMaker:
    """Makes texts of an exact length; common words are common, as in real ones.

    Sentences come from a pool, since choosing single words for a million texts would take minutes.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        # The n-th word is said about 1/n as often as the first, as in languages.
        weights = [1.0 / (rank + 2) for rank in range(len(_VOCABULARY))]
        self._sentences = [
            " ".join(random.choices(_VOCABULARY, weights, k=random.randint(6, 18))).capitalize() + ". "
            for _ in range(_SENTENCES)
        ]

    def drawn_by(self, random: Random) -> TextMaker:
        """A maker of other texts out of the same sentences: making those takes a tenth of a second."""
        other = copy(self)
        other._random = random
        return other

    def text(self, length: int) -> str:
        """A text of `length` characters, 2 or more."""
        text = ""
        while len(text) < length:
            text += "".join(self._random.choices(self._sentences, k=max(1, (length - len(text)) // 40)))
        return text[: length - 1].rstrip(" ").ljust(length - 1, "x") + "."

    def title(self) -> str:
        """Three or four words."""
        rare = _VOCABULARY[len(_VOCABULARY) // 2 :]
        return " ".join(self._random.sample(rare, self._random.randint(3, 4))).capitalize()
