"""What changes in effect between two states of the config: two files, two folders, two git revisions."""
