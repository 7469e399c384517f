"""What one operation is: its home, its catalog, the parts of its fusion, and its dead letters."""
