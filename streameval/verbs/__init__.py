"""The verbs: each joins sources, methods, labels and the files of a study. One file for each function that users call."""
