"""What the stores on SQL databases share: the schema, its migrations, and the store over a connection."""
