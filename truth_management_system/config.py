"""How one knowledge base works: where it lies, which searches it offers, and its thresholds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

MEMORY = ":memory:"


@dataclass(frozen=True, slots=True)
class PKBConfig:
    """Settings of a knowledge base.

    Attributes:
        db_path: The SQLite file, or ":memory:".
        database_url: A PostgreSQL database, `postgresql+psycopg://…`, that holds the memories instead of the file;
            beside `db_path` lies then only what can be made anew.
        fts_enabled: Whether full-text search takes part.
        embedding_enabled: Whether embedding search takes part, where there is a model for it.
        embedding_timeout: Seconds that a search or a comparison waits for it; then words alone have to do.
        default_k: How many results a search gives.
        include_contested_by_default: Whether contested claims are among them.
        llm_model: Model for programs that bring their own key; a server hands its models in.
        llm_temperature: Of that model.
        llm_timeout: Seconds one question to a model may take.
        log_llm_calls: Whether each question to a model and its answer is logged, with what people wrote in them.
        recency_weight: Share of a result's score that its age decides, 0 to 1.
        recency_half_life_days: Age at which half of that share is lost.
        confidence_weight: Share of a result's score that its confidence decides, 0 to 1.
        duplicate_similarity: Cosine similarity from which on two statements count as the same.
        related_similarity: Cosine similarity from which on two statements are compared with each other.
        entity_dedup_threshold: Similarity of two entities' names from which on they may be one, 0 to 1.
        plan_ttl_hours: How long a proposed plan can be executed.
        write_timeout: Seconds that a change waits for another one of the same process to end.
        synchronous: "normal" survives a killed process, "full" also a power failure.
    """

    db_path: str | Path = "~/.pkb/kb.sqlite"
    fts_enabled: bool = True
    embedding_enabled: bool = True
    embedding_timeout: float = 2.0
    default_k: int = 20
    include_contested_by_default: bool = True
    llm_model: str = "openai/gpt-4o-mini"
    llm_temperature: float = 0.0
    llm_timeout: float = 60.0
    log_llm_calls: bool = False
    recency_weight: float = 0.02
    recency_half_life_days: float = 180.0
    confidence_weight: float = 0.01
    duplicate_similarity: float = 0.92
    related_similarity: float = 0.6
    entity_dedup_threshold: float = 0.85
    plan_ttl_hours: float = 72.0
    write_timeout: float = 5.0
    synchronous: str = "normal"
    database_url: str | None = field(default=None, repr=False)

    @property
    def in_memory(self) -> bool:
        """Whether the knowledge base ends with the process."""
        return self.database_url is None and str(self.db_path) == MEMORY

    @property
    def path(self) -> Path:
        """The file, with "~" resolved."""
        return Path(self.db_path).expanduser()
