"""What a broker counts, and what it says about itself."""
