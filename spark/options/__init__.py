"""Options as users write them, turned into typed values."""
