"""How servers are spoken to, for every package that does: the connection, and what an answer leaves open.

A client library is an extra and is imported when it is first needed.
"""
