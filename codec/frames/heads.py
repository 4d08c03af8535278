"""The ordinary JSON header of a frame, in C if that was built, otherwise by msgspec.

None from either: it is not ordinary, and for others to read or write, or to say what is wrong with it.
"""

try:
    from trimq.codec.frames._heads import plain_head
    from trimq.codec.frames._replies import plain_reply

    IN_C = True
except ImportError:
    from trimq.codec.frames.json_head import plain_head, plain_reply

    IN_C = False

__all__ = ["IN_C", "plain_head", "plain_reply"]
