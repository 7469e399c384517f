"""Going back: a sink to an earlier batch, or the whole pipeline with Spark's state, recorded and previewed."""
