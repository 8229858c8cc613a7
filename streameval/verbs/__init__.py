"""The verbs: each joins sources, methods, labels and the files of a study. A file a function of the package."""
