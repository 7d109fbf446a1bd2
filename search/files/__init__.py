"""Finding files of messages: `vectors` says what their passages mean, `finding` finds these by words and meaning."""
