"""Features that a broker can be without; each is one file here and a line in the list of parts."""
