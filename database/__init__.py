"""The store of accounts, conversations, messages, activities and workspaces: the one address of their SQL."""
