"""The embedded models' files: a catalogue, and how a file is downloaded and verified."""
