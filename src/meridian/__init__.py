"""Space domain awareness for a satellite operator, built on Holdfast: sensors in, conjunction alerts out."""
