"""What all routes share: the server, guards, validation, errors, responses."""
