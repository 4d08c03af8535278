"""Figures as tables, and the pages that keep them."""
