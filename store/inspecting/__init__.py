"""Printing store files from their declared layouts, for `trimq inspect`. Opens files for reading only."""
