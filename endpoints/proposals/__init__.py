"""What models and programs propose, over HTTP."""
