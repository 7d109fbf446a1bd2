"""A model that one person's memories ask: its tokens count for the person, and are refused once those are used up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Unpack

from chat.exchange.errors import QuotaReachedError
from chat.processes.threads import in_thread
from database.accounts.quotas import Quota, count_tokens, tokens_used_up
from database.engine.database import Database
from language_models.errors import ModelUnavailableError
from language_models.ports import ChatMessage, ChatModel, ChatOptions, Delta, ForwardingModel, Usage

Counting = Callable[[ChatModel, str], ChatModel]
"""From a model and a user's e-mail address to the model that counts for them."""


def counting_in(database: Database, quota: Quota) -> Counting:
    """How a server counts. quota: of people for whom no administrator has set anything else."""

    def counted(model: ChatModel, user_email: str) -> ChatModel:
        return CountedModel(model, database=database, user_email=user_email, quota=quota)

    return counted


class CountedModel(ForwardingModel):
    """`model`, for one person. A request raises ModelUnavailableError where their tokens are used up."""

    def __init__(self, model: ChatModel, *, database: Database, user_email: str, quota: Quota) -> None:
        super().__init__(model)
        self._database = database
        self._user_email = user_email
        self._quota = quota

    async def stream(
        self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[Delta, None]:
        """See `ChatModel`."""
        await in_thread(self._admit)
        usage, said = Usage(), list[str]()
        try:
            async with aclosing(super().stream(messages, **options)) as deltas:
                async for delta in deltas:
                    usage = delta.usage or usage
                    said.append(delta.text)
                    yield delta
        finally:
            self._count(usage, "".join(said))

    def _admit(self) -> None:
        used_up = tokens_used_up(database=self._database, user_email=self._user_email, defaults=self._quota)
        if used_up is not None:
            raise ModelUnavailableError(QuotaReachedError(used_up).message, model=self.name)

    def _count(self, usage: Usage, said: str) -> None:
        told = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
        counted = partial(count_tokens, user_email=self._user_email, config={"usage": told}, text=said)
        # Nobody waits for it: a request that is cancelled counts, too.
        self._database.submit(counted)
