"""What sinks of files share: the bytes of a format, and a folder in which a name is given once."""
