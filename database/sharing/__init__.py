"""Links by which anyone may read a conversation as it was when its owner shared it."""
