"""What a store that another broker wrote still has to do, and TriMQ cannot do yet.

One file per kind. Who makes TriMQ do one of them takes its file and its line in `kinds.py` away.
"""
