"""What costs most per message of an index, a pull or a reply, in C if that was built, otherwise in
Python.

The names are the same either way: callers need not know which it is.
"""

try:
    from trimq.store.native._extents import Limits, take_entries
    from trimq.store.native._pages import append_views, guard, join
    from trimq.store.native._picks import Verdicts, pick_entries
    from trimq.store.native._slots import copy_slots, enter_keys, slots_outside
    from trimq.store.native._writes import remove_folders, write_pieces

    IN_C = True
except ImportError:
    from trimq.store.native.extents import Limits, take_entries
    from trimq.store.native.pages import append_views, guard, join
    from trimq.store.native.picks import Verdicts, pick_entries
    from trimq.store.native.slots import copy_slots, enter_keys, slots_outside
    from trimq.store.native.writes import remove_folders, write_pieces

    IN_C = False

__all__ = [
    "IN_C",
    "Limits",
    "Verdicts",
    "append_views",
    "copy_slots",
    "enter_keys",
    "guard",
    "join",
    "pick_entries",
    "remove_folders",
    "slots_outside",
    "take_entries",
    "write_pieces",
]
