"""What is left to do in a store that another broker wrote, and TriMQ cannot do yet.

One file per kind. When TriMQ learns to do one of them, remove its file and its line in `pending_messages.py`.
"""
