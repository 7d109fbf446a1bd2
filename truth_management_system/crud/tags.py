"""Tags: a tree of labels."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from sqlalchemy import bindparam, except_, func, literal_column, select

from sentences import say

from ..database import Prepared
from ..database.audit_log import ChangeSet
from ..errors import CycleError, DuplicateNameError, InvalidKnowledgeError, TagNotFoundError
from ..models import TAG_COLUMNS, Tag
from ..schema.tables import claim_tags, tags
from ..utils import name_key
from .base import owned
from .friendly_ids import hand_over_aliases
from .groups import Trees, further_data, one_line, parent_id

_TAGGED = (
    select(claim_tags.c.claim_id)
    .join(tags, tags.c.tag_id == claim_tags.c.tag_id)
    .where(tags.c.user_email == bindparam("user"))
)
_TO_TAKE = Prepared(
    select(
        except_(
            _TAGGED.where(claim_tags.c.tag_id == bindparam("source")),
            _TAGGED.where(claim_tags.c.tag_id == bindparam("target")),
        ).subquery()
    )
)
_NAMESAKE = Prepared(
    owned(tags, TAG_COLUMNS).where(
        tags.c.name_key == bindparam("name"),
        func.coalesce(tags.c.parent_tag_id, literal_column("''")) == bindparam("parent"),
    )
)


class TagCRUD(Trees[Tag]):
    """The tags of one user. Two right below the same tag never have the same name."""

    table, key, columns, model = tags, "tag_id", TAG_COLUMNS, Tag
    noun, links, parent = "tag", claim_tags, "parent_tag_id"
    not_found = TagNotFoundError
    checks = {  # noqa: RUF012
        "name": one_line,
        "parent_tag_id": parent_id,
        "meta_json": further_data,
    }

    def list(self, limit: int = 100, offset: int = 0, query: str = "") -> builtins.list[Tag]:
        """Tags by name, wherever they are in the tree; with `query` in the name, where that is given."""
        return self._page(limit=limit, offset=offset, **_given(query))

    def count(self, query: str = "") -> int:
        """How many `list` would give."""
        return self._count(**_given(query))

    def get_children(self, parent_tag_id: str | None = None) -> builtins.list[Tag]:
        """The tags right below one, or the roots, by name."""
        return self._children(parent_tag_id)

    def get_or_create(self, name: str, parent: str | None = None) -> tuple[Tag, bool]:
        """The tag of this name, and whether it was made just now.

        parent: the id of the tag right below which it is; without one, a root of this name is taken before the oldest
        such tag from elsewhere, and a new tag is a root. Raises InvalidKnowledgeError, TagNotFoundError.
        """
        with self.db.transaction():
            found = self.find_by_name(one_line(name))
            here = [tag for tag in found if tag.parent_tag_id == parent] or ([] if parent else found)
            return (here[0], False) if here else (self.add(Tag.create(name=name, parent_tag_id=parent)), True)

    def get_full_path(self, tag_id: str) -> str:
        """The names from the root down to a tag, such as "health/fitness"; "" where there is no such tag."""
        return "/".join(tag.name for tag in self.get_hierarchy(tag_id))

    def merge(self, source_id: str, target_id: str) -> Tag:
        """Let one tag, with its claims and all below it, become part of another; returns the latter.

        Its id and its names lead to the latter. Raises TagNotFoundError, InvalidKnowledgeError for a tag and itself,
        CycleError for one above the other.
        """
        if source_id == target_id:
            raise InvalidKnowledgeError(say("tag_merged_with_itself"))
        with self.db.transaction():
            source, target = self.existing(source_id), self.existing(target_id)
            if source in self.get_hierarchy(target_id):
                raise CycleError(self.noun)
            with self._recording("merge", target_id, target.name, merged=source.name, merged_id=source_id) as changes:
                self._take_over(changes, source, target)
            return self.existing(target_id)

    def _check_place(self, row: Mapping[str, Any]) -> None:
        super()._check_place(row)
        namesake = self._namesake(row["name"], row["parent_tag_id"])
        if namesake is not None and namesake.tag_id != row["tag_id"]:
            raise DuplicateNameError(say("tag_exists", name=row["name"]))

    def _delete(self, changes: ChangeSet, group: Tag) -> None:
        _give_up_name(changes, group)
        super()._delete(changes, group)

    def _adopt(self, changes: ChangeSet, child: Tag, parent: str | None) -> None:
        namesake = self._namesake(child.name, parent)
        if namesake is None:
            super()._adopt(changes, child, parent)
        else:
            self._take_over(changes, child, namesake)

    def _take_over(self, changes: ChangeSet, source: Tag, target: Tag) -> None:
        rows = self.db.rows(_TO_TAKE, user=self.user_email, source=source.tag_id, target=target.tag_id)
        changes.insert_many("claim_tags", [{"claim_id": claim_id, "tag_id": target.tag_id} for (claim_id,) in rows])
        names = [source.friendly_id, *([source.name] if name_key(source.name) != name_key(target.name) else [])]
        hand_over_aliases(changes, self._thing(source), self._thing(target), names)
        _give_up_name(changes, source)
        for child in self._children(source.tag_id):
            self._adopt(changes, child, target.tag_id)
        super()._delete(changes, source)

    def _namesake(self, name: str, parent: str | None) -> Tag | None:
        return self._first(_NAMESAKE, name=name_key(name), parent=parent or "")


def _given(query: str) -> dict[str, str]:
    """What a list is restricted to; an empty query restricts nothing."""
    words = name_key(query)
    return {"words": words} if words else {}


def _give_up_name(changes: ChangeSet, tag: Tag) -> None:
    """Let a child of the same name take the place of a tag that is about to go."""
    changes.update("tags", {"tag_id": tag.tag_id}, {"name_key": f"{name_key(tag.name)} {tag.tag_id}"})
