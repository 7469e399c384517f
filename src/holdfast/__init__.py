"""Holdfast moves events to many sinks and proves that nothing is skipped, lost or doubled."""
