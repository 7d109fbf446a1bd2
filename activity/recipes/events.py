"""System monitoring: what systems report, and which data changed."""

from __future__ import annotations

from .recipe import ActivityType, Recipe
from .schemas import CHANGE, TEXT, payload


class SystemMonitoring(Recipe):
    """Events of systems and changes of data; each belongs to the thread of what caused it."""

    domain = "system-monitoring"
    title = "System Monitoring"
    activity_types = {
        "system_event": ActivityType(icon="🔔", section="System Events", schema=payload(description=TEXT)),
        "data_change": ActivityType(icon="📊", section="State Changes", schema=CHANGE),
    }
    threading_rules = {"system_event": "reply_to", "data_change": "reply_to"}
