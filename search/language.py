"""Words and names as people type them: which words count, in which forms a text may say them, and near spellings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest

from database.search.index import folded

_ALIKE = 0.65
_SHARED = 0.3
_COMPARED = 100
_MOST_TERMS = 24
_ENGLISH = """
    a about after again all also am an and any are as at be because been before being but by can could did do does doing
    don done down for from get give got had has have having he her here hers him his how i if in into is it its just ll
    m may me might mine more most much must my no nor not of off on once only or our ours out over own please re s same
    shall she should so some such t tell than that the their theirs them then there these they this those to too under
    up us ve very was we were what when where which who whom whose why will with would you your yours
"""
_GERMAN = """
    aber alle als also am an auch auf aus bei beim bin bis bist bitte da damals dann das dass dein dem den der des dich
    die dies diese dieser dir doch du ein eine einem einen einer eines er es etwas euch für gab gibt hab habe haben hat
    hatte hatten ich ihm ihn ihr im in ist ja kann kein keine man mein meine meinem meinen meiner mich mir mit nach
    nicht noch nun nur ob oder sag schon sein seine sich sie sind so über um und uns unser unsere unter vom von vor wann
    war waren warum was welche welchen welcher welches wem wen wenn wer wie wir wird wo wollte wurde würde zu zum zur
"""
_FRENCH = """
    ai as au aux avait avec avez avons c ce ces cet cette comment d dans de des du elle en est et était eu il ils j je l
    la le les leur lui m ma mais me mes moi mon n ne nos notre nous on ont ou où par pas pour pourquoi qu quand que quel
    quelle quelles quels qui quoi s sa sans se ses son sont sur t ta te tes toi ton tu un une vos votre vous y
"""
_SPANISH = """
    al como cómo con cual cuál cuales cuáles cuando cuándo de del donde dónde el él ella ellos en era es esa ese eso
    esta está estaba este esto fue ha había han he la las le les lo los me mi mis muy ni no nos nuestra nuestro o para
    pero por porque qué que quien quién se ser si sí sin sobre son su sus te tu tus un una uno y ya yo
"""
_STOP_WORDS = {
    "english": frozenset(_ENGLISH.split()),
    "german": frozenset(folded(_GERMAN).split()),
    "french": frozenset(folded(_FRENCH).split()),
    "spanish": frozenset(folded(_SPANISH).split()),
}
_ENDINGS = {
    "english": "e s es ed d ing ings er ers or ors y ies ied ly ion ions ation ations ment ments al able ive ness ful",
    "german": "e en em er es n s st t te ten tem ter tes ung ungen lich liche lichen heit keit",
    "french": "e s es er ez ent é ée és ées ait ant ation ations eur euse eux ement ments",
    "spanish": "o a os as e es ar er ir ado ada ados adas ando iendo ción ciones mente",
}
_DOUBLED = ("ing", "ed", "er")
_SHORTEST_DOUBLED = 3

Terms = Sequence[frozenset[str]]


def language_of(words: Sequence[str]) -> str:
    """The language whose function words `words` has most of; English where none has any."""
    return max(_STOP_WORDS, key=lambda language: sum(word in _STOP_WORDS[language] for word in words))


def is_spoken(words: Sequence[str]) -> bool:
    """Whether `words`, folded, are a question or a sentence rather than a few keywords."""
    functional = sum(word in _STOP_WORDS[language_of(words)] for word in words)
    return functional >= 1 and len(words) >= 4


def terms(words: Sequence[str]) -> Terms:
    """The forms of each word of a question that counts, in the order of the question, at most 24.

    Function words count only where there is nothing else.
    """
    language = language_of(words)
    counted = [word for word in dict.fromkeys(words) if word not in _STOP_WORDS[language]] or list(dict.fromkeys(words))
    return tuple(dict.fromkeys(_forms(word, language) for word in counted))[:_MOST_TERMS]


@lru_cache(maxsize=4096)
def _forms(word: str, language: str) -> frozenset[str]:
    """The inflections of `word` that have its stem; words of other scripts, and numbers, have one form."""
    import Stemmer

    # Never one for all threads: a stemmer keeps the word it works at.
    stemmer = Stemmer.Stemmer(language)
    stem: str = stemmer.stemWord(word)
    if not word.isalpha() or len(stem) < _SHORTEST_DOUBLED - 1:
        return frozenset({word})
    roots = {stem, stem[:-1] + "y"} if stem.endswith("i") else {stem}
    candidates = {root + ending for root in roots for ending in ("", *_ENDINGS[language].split())}
    if len(stem) >= _SHORTEST_DOUBLED:
        candidates |= {stem + stem[-1] + ending for ending in _DOUBLED}
    return frozenset({word} | {candidate for candidate in candidates if stemmer.stemWord(candidate) == stem})


def nearest_names(typed: str, names: Iterable[str], *, most: int) -> list[str]:
    """At most `most` of `names` that are spelled much like `typed`, nearest first, whatever the case."""
    sought = typed.lower()
    shares = {name: _shared(sought, name.lower()) for name in names}
    # Comparing two names character by character takes twenty times as long as counting what they have in common.
    likely = nlargest(_COMPARED, (name for name, share in shares.items() if share >= _SHARED), key=shares.__getitem__)
    scored = [(SequenceMatcher(None, sought, name.lower(), autojunk=False).ratio(), name) for name in likely]
    alike = sorted((-ratio, name) for ratio, name in scored if ratio >= _ALIKE)
    return [name for _, name in alike[:most]]


def beginnings(typed: str) -> list[str]:
    """Beginnings of words of a misspelled name by which others may be looked up: of two and of four characters."""
    words = [word for word in typed.lower().split("_") if len(word) > 1]
    return list(dict.fromkeys([*(word[:4] for word in words), *(word[:2] for word in words[:1])]))


def _shared(one: str, other: str) -> float:
    """The share of trigrams that two names have in common (Dice's coefficient)."""
    mine, theirs = _trigrams(one), _trigrams(other)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs))


def _trigrams(text: str) -> set[str]:
    padded = f"  {text} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}
