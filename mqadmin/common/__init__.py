"""What several commands have in common, a file for each subject."""
