"""The sources, one module for each kind of network."""
