"""Finding parts of documents: `chunks` cuts, `vectors` says what the parts mean, `excerpts` finds them."""
