"""Which model answers, condenses and embeds: `model_roles` makes them as settings name them, `menu` offers others."""

from .model_roles import EmbeddingRole, ModelRoles

__all__ = ["EmbeddingRole", "ModelRoles"]
