"""Work in the background: writing behind, checkpoints, deleting. Plans on the loop, blocks in workers."""
