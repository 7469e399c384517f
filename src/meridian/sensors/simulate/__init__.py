"""Sensor networks that are not there: real orbits, seen by radars, telescopes and satellites, from a seed."""
