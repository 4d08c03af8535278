"""Timer messages: which messages wait, on the store's wheel, and how they are delivered. Runs on the loop."""
