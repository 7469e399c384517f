"""Ends a whole pipeline at chosen moments and looks from outside at what is left."""
