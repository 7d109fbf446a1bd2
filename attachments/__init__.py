"""Files and pictures in messages: kept once by content, read by a child process, erased with their last use."""
