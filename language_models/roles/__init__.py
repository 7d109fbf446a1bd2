"""Which model answers, condenses and embeds: `model_roles` makes them as settings name them, `menu` offers others."""

from .model_roles import EmbeddingRole, ModelRoles
from .names import RoleSettingError

__all__ = ["EmbeddingRole", "ModelRoles", "RoleSettingError"]
