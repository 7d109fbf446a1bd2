"""Texts become proposals: read part by part by a model, or cut into sentences where none answers."""

from __future__ import annotations

from collections.abc import Callable

from sentences import because, say

from ..analysis.asking import Patience, UnansweredError
from ..analysis.statements import checked_text, chunks, parse_statements
from ..crud.claim_fields import category_name
from .distiller import DEFAULT_DOMAIN, DEFAULT_TYPE, Distiller
from .plans import IngestCandidate, TextIngestionPlan
from .reading import FactReader, Share

Progress = Callable[[int, int], None]
"""Called with how many parts are read, and of how many."""


class TextIngestionDistiller(Distiller):
    """Proposes claims out of a text of up to 50 KB; nothing is stored as a claim until the plan is carried out."""

    kind = "text"

    def ingest_and_propose(
        self,
        text: str,
        default_claim_type: str = DEFAULT_TYPE,
        default_domain: str = DEFAULT_DOMAIN,
        use_llm_parsing: bool = True,
        *,
        progress: Progress | None = None,
        patience: float | None = None,
    ) -> TextIngestionPlan:
        """A plan: each statement of the text, and whether it would be added, update, contradict or repeat a claim.

        The defaults are for statements whose words say nothing of their type and domain. patience: seconds after which
        no model is asked any more; three times `config.llm_timeout` unless given. Parts that no model read are cut into
        bullets and sentences, and `warnings` say so. Raises InvalidKnowledgeError for an empty text, one beyond 50 KB,
        and a malformed type or domain.
        """
        told = checked_text(text)
        reader = self._reader(category_name(default_claim_type, "type"), category_name(default_domain, "domain"))
        waiting = Patience(patience) if patience is not None else Patience.of(self.config.llm_timeout)
        reading = _Reading(reader, waiting, progress or (lambda _done, _total: None))
        candidates = reading.by_model(told) if use_llm_parsing else reading.by_rules(told)
        return self._planned(
            candidates, raw_text=told, patience=waiting, warnings=reading.warnings(), use_llm=use_llm_parsing
        )


class _Reading:
    """One text, read once."""

    def __init__(self, reader: FactReader, patience: Patience, progress: Progress) -> None:
        self._reader = reader
        self._patience = patience
        self._progress = progress
        self._unread = 0
        self._parts = 0
        self._reasons: dict[str, None] = {}

    def by_rules(self, text: str) -> list[IngestCandidate]:
        found = self._by_rules(text)
        self._progress(1, 1)
        return found

    def by_model(self, text: str) -> list[IngestCandidate]:
        model = self._reader.llm.models.chat
        if model is None:
            self._reasons[say("no_language_model")] = None
            self._unread = self._parts = 1
            return self.by_rules(text)
        share = Share.of(model)
        parts = chunks(text, longest=share.longest)
        self._parts = len(parts)
        found: list[IngestCandidate] = []
        for number, part in enumerate(parts):
            self._progress(number, len(parts))
            found += self._part(part, share)
        self._progress(len(parts), len(parts))
        return found

    def warnings(self) -> list[str]:
        if not self._unread:
            return []
        if self._unread == self._parts:
            return [because("text_cut", *self._reasons)]
        return [because("parts_cut", *self._reasons, count=self._unread, of=self._parts)]

    def _part(self, part: str, share: Share) -> list[IngestCandidate]:
        if self._patience.is_over():
            self._reasons.setdefault(say("would_take_longer", seconds=round(self._patience.seconds)))
            return self._cut(part)
        try:
            found = self._reader.read("facts", f"Text:\n{part.strip()}", share=share, source=part)
        except UnansweredError as error:
            self._reasons.setdefault(error.reason)
            if error.is_silent:
                self._patience.lose()
            return self._cut(part)
        if not found and (sentences := self._by_rules(part)):
            self._unread += 1
            self._reasons.setdefault(say("found_nothing"))
            return sentences
        return found

    def _cut(self, part: str) -> list[IngestCandidate]:
        self._unread += 1
        return self._by_rules(part)

    def _by_rules(self, text: str) -> list[IngestCandidate]:
        return [self._reader.by_rules(statement) for statement in parse_statements(text)]
