"""What the sinks in SQL databases share: the cursor beside the rows, the table, and the one transaction of both."""
