"""Which of the claims and notes that a search finds have to do with the query.

Nearness counts in standard deviations above what unrelated texts have (`search.relevance`).
"""

from __future__ import annotations

from conversation_reference_utils import STOPWORDS

from .base import SearchResult
from .query_words import all_words, query_words, unspaced_pieces, without_sums

# Words that many messages hold, whatever they are about: English, German, French, Spanish.
_COMMON = """
    able actually add again ago ahead almost alone already also always another answer anyone anything around ask
    asked back bad become been begin best better big bit bring build call called came can case change check choose
    come compare complete create day days decide describe did different do does done down draft early easy else end
    enough even evening ever every everybody everyone everything example explain fact far fast feel few find fine
    first five four full gave get give given gives go goes going gone good great group had half happen hard hear
    hello help here high hold hour hours idea important inside instead keep keeps kind knew know known large last
    late later least leave left less let life like line list little live lives long longer look lot low made main
    make makes making man many matter mean means meet might minute moment month months morning most move much must
    name near need needs never new next nice night nine nothing now number offer offered often old one open order
    others own part parts people person place plan play please point possible problem put question quick quickly
    quite read real really reason right said same say second see seem seen sentence set seven several short should
    show side simple since six small some somebody someone something sometimes soon sort spend start started stay
    still stop such sure system take takes talk tell ten thank thanks thing things think third this three time times
    today together told tomorrow too took top topic toward tried true try turn two type understand unit usage use
    used uses using usual usually very want wants way ways week weeks went whole will wish without word words work
    works world would write written wrong year years yes yesterday yet young
    explain summarise summarize
    aber alle alles also alt alte am an auch auf aus bei beim bin bis bitte da damit dann das dass dein dem den der
    des dich die dies diese dieser dieses dir doch drei du ein eine einem einen einer eines er erkläre es etwas für
    ganz geben geht gerade gern gerne groß große gut gute guten guter gutes haben habe hat hatte heute hier ich ihm
    ihn ihr ihre im immer in ist ja jahr jahre jede jeden jeder jetzt kann kein keine klein kleine können lange
    machen macht man mehr mein meine meinem meinen meiner mich mir mit morgen muss müssen nach neu neue neuen nicht
    noch nun nur oder ohne schon sehr sein seine seit sich sie sind so soll sollte tag tage über um und uns unser
    unsere viel viele vom von vor wann war waren warum was weil welche welcher welches wenn wer werden wie wieder
    will wir wird wo woche würde zeit zu zum zur zwei
    ai ans as au aussi autre aux avec avoir beau bien bon bonne ce cela ces cet cette chaque chez chose comme
    comment dans de des deux dit dois donc donne du elle elles en encore est et être eu fait faire fois font grand
    grande heure il ils jamais je jour jours la le les leur leurs lui ma mais me mes mettre moi moins mois moment
    mon même ne nos notre nous nouveau nouvelle on ont ou où par pas passer petit petite peu peut peux plus pour
    pourquoi prendre près puis qu quand que quel quelle quelles quels qui quoi sa sans se sera ses si sont sous sur
    ta te temps tes toi ton tous tout toute toutes trois trop tu un une va vers veux voir vos votre vous vrai été
    ahora al algo algún alguna antes año años aquí así aunque ayer bien buen buena bueno cada casa casi como cómo
    con cosa cosas cuál cuando cuándo cuánto cuántos de del desde día días dice donde dónde dos el él ella ellos en
    entre era es esa ese eso esta está están estar este esto fue gran grande gusta gustan ha hace hacer han hasta
    hay he hora hoy ir la las le les lo los más me menos mes mi mis mismo mucha mucho muchos muy nada ni no nos
    nueva nuevo nunca otra otro para pero poco por porque puede puedo que qué quien quién quiero se sea semana ser
    si sí siempre sin sobre solo soy su sus también tan te tengo tener tiempo tiene tienen toda todas todo todos
    tres tu tus un una uno unos va vez veces ver vida vivo voy y ya yo
"""
# What says nothing as a message. Written out, as a word in a sentence may be a name: WoW, Val (from "vale"), Gracia.
_GREETINGS = """
    haha hey hi hm hmm lol nope ok okay please sorry wow yep
    bitteschön danke dankeschön genau nein weiter
    merci non oui
    claro gracias vale
"""
_ENDINGS = ("ings", "ing", "ies", "ied", "est", "ers", "er", "en", "em", "es", "ed", "e", "s", "n", "y")
_SHORTEST_STEM = 3

# In standard deviations above what unrelated texts have. Tuned with tests/data/relevance_pairs.json.
NEAR = 2.0
"""From here on a text has to do with a query, without a word in common."""
_WITH_A_WORD_IN_COMMON = 0.0
_WITH_COMMON_WORDS_ONLY = 5.5
_MOST_OF_THE_WORDS = 0.5
# Of one word a model makes little: "lol" is nearer to some memories than most questions are to what they are about.
_NEAR_TO_FEW_WORDS = 2.6
_FEW_WORDS = 2
_NEAR_TO_COMMON_WORDS = 4.0


def is_near(found: SearchResult, query: str) -> bool:
    """Whether a claim has a word of the query, or means something like it: what a list of hits may show."""
    scores = found.metadata.get("scores") or {found.source: found.score}
    near = NEAR if _says_something(without_sums(query)) else _NEAR_TO_COMMON_WORDS
    return set(scores) != {"embedding"} or found.metadata["z_score"] >= near


def is_relevant(found: SearchResult, query: str) -> bool:
    """Whether a claim has to do with `query`, so that a model should be given it unasked.

    A common word that both hold is not enough; a rarer one is, unless the texts are as far apart as unrelated ones.
    """
    distance = found.metadata.get("z_score")
    query = without_sums(query)
    shared = _shared_words(query, found)
    rare = {word for word in shared if not _is_common(word)}
    if distance is None:
        return bool(rare) or (len(shared) > 1 and found.metadata.get("coverage", 0.0) >= _MOST_OF_THE_WORDS)
    if rare:
        return bool(distance >= _WITH_A_WORD_IN_COMMON)
    return bool(distance >= (_WITH_COMMON_WORDS_ONLY if shared else _near_to(query)))


def _near_to(query: str) -> float:
    """From which nearness on a text without a word in common has to do with `query`."""
    if not _says_something(query):
        return _NEAR_TO_COMMON_WORDS
    is_short = len(query_words(query)) <= _FEW_WORDS and not unspaced_pieces(query)
    return _NEAR_TO_FEW_WORDS if is_short else NEAR


def _says_something(query: str) -> bool:
    """Whether `query` has a word that not every message may hold; what has no spaces between words counts as such."""
    words = (word for word in query_words(query) if word not in _SAYING_NOTHING)
    return bool(unspaced_pieces(query)) or not all(map(_is_common, words))


def _is_common(word: str) -> bool:
    return word in STOPWORDS or _stem(word) in _COMMON_STEMS


def _shared_words(query: str, found: SearchResult) -> set[str]:
    claim = found.claim
    parts = (claim.statement, claim.subject_text, claim.predicate, claim.object_text, claim.possible_questions)
    text = " ".join(filter(None, parts))
    stems = {_stem(word) for word in all_words(f"{text} {claim.friendly_id.replace('_', ' ')}")}
    shared = {word for word in query_words(query) if _stem(word) in stems}
    return shared | (set(unspaced_pieces(query)) & set(unspaced_pieces(text)))


def _stem(word: str) -> str:
    """`word` without the ending that inflection may have given it."""
    found = (ending for ending in _ENDINGS if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM)
    return word.removesuffix(next(found, ""))


_COMMON_STEMS = frozenset(map(_stem, _COMMON.split()))
_SAYING_NOTHING = frozenset(_GREETINGS.split())
