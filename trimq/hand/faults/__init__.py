"""Faults that a test asks for: a layer before processors, one in the store's file calls, and the ways in and out."""
