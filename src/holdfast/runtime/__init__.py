"""A pipeline at work: Spark, the threads around it, its life, and the Python face.

Empty on purpose: Spark's Python workers import one module of it, and wait for whatever comes with it.
"""
