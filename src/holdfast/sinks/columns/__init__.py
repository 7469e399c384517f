"""Arrow columns in the words of a sink: what kind of values they hold, and those values as text and as JSON."""
