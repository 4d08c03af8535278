"""How far groups have got, and how far they are behind."""
