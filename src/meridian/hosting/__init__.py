"""Runs an operation on one machine: its edge, its fusion, and what keeps both supplied."""
