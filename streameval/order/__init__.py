"""Rankings by score, in any storage order, without sorting: exact ranks by counting scans.

`scores` turns a score column into integers whose order is the ranking's, `ties` hashes what tells equal scores apart,
`first` and `bins` split the order into monotone bins, `groups` and `units` are the row groups that a scan reads.
`tasks` says what a scan does, `partials` what comes of it and how that merges, `sweep` runs it in threads, `shipping`
sends it to other machines, `keeping` keeps, shares and resumes it; `hoard` keeps likely candidates on the way. `locate`
finds the stored position of every wanted rank (`search`, `pick`).
"""
