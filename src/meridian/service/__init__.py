"""What fusion has found and how it is doing, for whoever looks: the command line, the screen, the metrics."""
