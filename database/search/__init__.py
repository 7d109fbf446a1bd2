"""The indexes of messages: which words each says, and which ones wait for vectors. The package `search` reads them."""
