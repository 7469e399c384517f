"""The checkpoint store of a pipeline: which one it is, how it is opened, and where a start gets its checkpoints."""
