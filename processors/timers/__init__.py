"""Timer messages: what their wheel says about itself."""
