"""A message on its way in: its fields, tags and inner messages. Values only; never blocks."""
