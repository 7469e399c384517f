"""A local store with a remote tier behind it, and the recovery that chooses between the two."""
