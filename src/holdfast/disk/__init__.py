"""What every package asks of a local disk: that files and names last, what an error means, and a SQLite file.

Nothing here knows a log, a store or a sink. Each of them says in its own errors what a trouble means for it.
"""
