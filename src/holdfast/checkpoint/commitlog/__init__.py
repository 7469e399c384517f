"""What the stores of files and objects share: a log of immutable commit documents, each published once."""
