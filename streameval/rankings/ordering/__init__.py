"""Rankings by score, in any storage order, without sorting: exact ranks by counting scans.

`scores` turns a score column into integers whose order is the ranking's, `ties` hashes what tells equal scores apart,
`bins` splits the order into monotone bins, `units` are the row groups that a scan reads, `locate` finds the stored
position of every wanted rank.
"""
