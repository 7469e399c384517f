"""Remembers what the ledger decided: versioned, fenced, checksummed stores and the operators' snapshots."""
