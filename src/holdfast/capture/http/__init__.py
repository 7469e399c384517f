"""The source that is pushed to over HTTP."""
