"""Every binary layout, declared once with construct.

The declarations document the formats, serve `trimq inspect`, and tests compare the fast readers and
writers with them. They are not for the hot path, and their `.compile()` is not made for untrusted
bytes. All numbers are big-endian.
"""
