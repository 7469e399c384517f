"""Values that everything else speaks in: positions, identity and errors. Imports nothing of ours."""
