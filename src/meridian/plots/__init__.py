"""Pictures of what fusion knows, for reports: figures from values, and files of them.

Matplotlib (the extra `meridian`) is loaded with the module of a figure, not before.
"""
