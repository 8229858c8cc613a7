"""Store of rows that memory does not hold while a command runs: in parts, in memory or else in a file.

`store` has the file, what is kept in it, and rows that are read again part by part; `parted_words` the words of scored
labels, parted by key and sorted; `item_files` items, a file for each interval of ranks.
"""
