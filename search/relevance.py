"""How near texts are to each other that have nothing to do with each other, by embedding model.

A search by meaning always finds the nearest texts, however far away they are, and models differ in how near unrelated
texts are: a cosine of 0.2 is much for all-MiniLM-L6-v2 and impossible for text-embedding-ada-002. A model is therefore
measured once, with unrelated sentences. Models also place texts of a language that they know little of close together,
so the sentences of each language count by themselves.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from language_models.ports import EmbeddingModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The same eight sentences in each language, from fields that are far apart.
_UNRELATED = (
    (
        "The ferry to the island leaves twice a day in winter.",
        "How is cheese made from milk?",
        "My neighbour repairs old clocks in his basement.",
        "The court postponed the hearing until spring.",
        "Which metal melts at the lowest temperature?",
        "I painted the fence green.",
        "The orchestra played without a conductor.",
        "Please sort these files by their size.",
    ),
    (
        "Im Winter fährt die Fähre zweimal am Tag zur Insel.",
        "Wie wird aus Milch Käse gemacht?",
        "Mein Nachbar repariert im Keller alte Uhren.",
        "Das Gericht hat die Verhandlung auf den Frühling verschoben.",
        "Welches Metall schmilzt bei der niedrigsten Temperatur?",
        "Ich habe den Zaun grün gestrichen.",
        "Das Orchester spielte ohne Dirigenten.",
        "Bitte sortiere diese Dateien nach ihrer Größe.",
    ),
    (
        "En hiver, le bac pour l'île part deux fois par jour.",
        "Comment fabrique-t-on le fromage avec du lait ?",
        "Mon voisin répare de vieilles horloges dans sa cave.",
        "Le tribunal a reporté l'audience au printemps.",
        "Quel métal fond à la température la plus basse ?",
        "J'ai peint la clôture en vert.",
        "L'orchestre a joué sans chef.",
        "Trie ces fichiers selon leur taille.",
    ),
    (
        "En invierno el barco a la isla sale dos veces al día.",
        "¿Cómo se hace el queso con leche?",
        "Mi vecino repara relojes antiguos en el sótano.",
        "El tribunal aplazó la audiencia hasta la primavera.",
        "¿Qué metal se funde a la temperatura más baja?",
        "Pinté la valla de verde.",
        "La orquesta tocó sin director.",
        "Ordena estos archivos por tamaño.",
    ),
    (
        "Зимой паром на остров ходит дважды в день.",
        "Как из молока делают сыр?",
        "Мой сосед чинит старые часы в подвале.",
        "Суд перенёс заседание на весну.",
        "Какой металл плавится при самой низкой температуре?",
        "Я покрасил забор в зелёный цвет.",
        "Оркестр играл без дирижёра.",
        "Отсортируй эти файлы по размеру.",
    ),
    (
        "冬天去岛上的渡轮每天两班。",
        "奶酪是怎么用牛奶做的?",
        "我的邻居在地下室修旧钟。",
        "法院把开庭推迟到春天。",
        "哪种金属的熔点最低?",
        "我把栅栏漆成了绿色。",
        "乐团在没有指挥的情况下演奏。",
        "请按大小排列这些文件。",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrelated:
    """How near unrelated texts are to each other for one model.

    centres: the mean vector of the unrelated sentences of each language, shape (languages, dimensions). spread: the
    standard deviation of the similarities between sentences of one language.
    """

    centres: NDArray[np.float32]
    spread: float

    def expected(self, query: NDArray[np.float32]) -> float:
        """The similarity of `query`, a vector, to an unrelated text in its language."""
        return float((self.centres @ query).max())


_measured: WeakKeyDictionary[EmbeddingModel, Unrelated] = WeakKeyDictionary()
_lock = threading.Lock()
_LEAST_SPREAD = 1e-3
NEAR = 2.0
"""In standard deviations: from here on a text has to do with a query, without a word in common."""


def unrelated_for(model: EmbeddingModel) -> Unrelated:
    """How near unrelated texts are for `model`: embeds 48 sentences the first time, and remembers the outcome.

    Raises the errors of `language_models.errors`.
    """
    found = _measured.get(model)
    if found is None:
        found = _measure(model)
        with _lock:
            _measured[model] = found
    return found


def _measure(model: EmbeddingModel) -> Unrelated:
    import numpy as np

    vectors = model.embed([sentence for language in _UNRELATED for sentence in language])
    by_language = vectors.reshape(len(_UNRELATED), len(_UNRELATED[0]), -1)
    pairs = np.triu_indices(len(_UNRELATED[0]), k=1)
    spreads = [float((sentences @ sentences.T)[pairs].std()) for sentences in by_language]
    return Unrelated(centres=by_language.mean(axis=1), spread=max(_LEAST_SPREAD, float(np.median(spreads))))
