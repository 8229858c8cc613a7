"""Read wanted rows of Parquet files page by page.

::

    slabs    wanted items of a run of row groups          items    one column of them, by pages or else by row groups
    locate   which pages hold wanted rows                 pages    decode single pages
    chunks   the file, its column chunks and pages        whole    decode a row group, batch by batch
    nested   join the leaves of a nested column           texts    take single texts out of plain pages
    codecs   decompress a page                            schema, thrift   what a footer of our own is made of
    own_tables   tables of a study, read as if a stranger wrote them
"""
