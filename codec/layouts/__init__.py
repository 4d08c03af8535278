"""Every binary layout, declared once with construct.

The declarations document the formats, serve `trimq inspect` and are what tests hold the fast
readers and writers against. They are not for the hot path, and their `.compile()` is not made
for bytes that a stranger sent. All numbers are big-endian.
"""
