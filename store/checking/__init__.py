"""Verifying a whole store directory, for `trimq check`. Opens files for reading only."""
