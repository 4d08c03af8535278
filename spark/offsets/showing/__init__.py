"""A report as tables, a page, files and metrics."""
