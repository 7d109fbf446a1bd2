"""The graph of a vault: its documents, the links between them, those that lead nowhere, and documents without links."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .documents import Link, Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A document."""

    path: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Links of one document to another; how many."""

    source: str
    target: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """orphans: documents that no link joins to another one."""

    nodes: list[Node]
    edges: list[Edge]
    broken: list[Link]
    orphans: list[str]


def graph_of(vault: Vault) -> Graph:
    """The graph of all documents of a vault."""
    nodes = [Node(path=entry.path, title=entry.title) for entry in vault.all_documents()]
    links = vault.links()
    counts = Counter((link.source, link.target) for link in links if link.target not in (None, link.source))
    edges = [Edge(source=source, target=target, count=count) for (source, target), count in counts.items() if target]
    linked = {path for edge in edges for path in (edge.source, edge.target)}
    return Graph(
        nodes=nodes,
        edges=edges,
        broken=[link for link in links if link.target is None],
        orphans=[node.path for node in nodes if node.path not in linked],
    )
