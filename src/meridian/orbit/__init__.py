"""Orbits: element sets and messages, SGP4 and frames, screening, and the probability of a collision. Pure numerics."""
