"""Draw the items on which two rankings differ: by scans, whatever the lists hold, and nothing is sorted or loaded.

An item *gains* at a cutoff where only the second ranking B has it in its top, and *loses* where only A has: all others
need no label. The scans count both exactly, and draw items by a hash of their keys, so that the draw is the same for
every order of the rows, number of threads, and machine.

- `pair`: two rankings with the key of their items, what is to be drawn of them and at which rates, and what
  was, by cutoff.
- `tops`: the first items of a ranking down to each cutoff, whose ends the scans of `order/` find; their rows, with
  hashes, and what a scan keeps of them.
- `one_table`: one set of rows in two orders. `two_tables`: two tables whose items have the same keys, joined by hashes
  on disk, part by part.
"""
