"""Topics, and messages on their way in and out."""
