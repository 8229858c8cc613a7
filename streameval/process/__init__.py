"""The process and the system that it runs on: what systems differ in, signals that wait, threads, compilation."""
