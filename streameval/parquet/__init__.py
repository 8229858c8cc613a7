"""Read wanted rows of Parquet files page by page.

- `files`: which files make up a ranking; `footers`: their ends, many read together, and what each says it holds
  (`layout`, `schema`, from bytes that `thrift` parses); `statistics`: what is stated of values, and values held to it.
- `read_items`: wanted items of some row groups, column by column, by pages or else by row groups; `forecast` and
  `account`: what that would take, and took.
- `find_pages`: which `pages` of a file hold wanted rows; `decode_pages`: decode these alone;
  `texts`, `numbers`: take values out of plain or packed pages; `codecs`: decompress one.
- `groups`, `whole_row_groups`, `plain_chunks`: row groups decoded whole, for scans and where most rows count.
- `small_files`: many files of a few rows each, read and decoded as one.
- `chunks`: ranges of a file's bytes; `checks`: pages are checked before they are decoded.
- `images`: small files in memory, which Arrow decodes.
- `own_tables`: tables of a study, read as if a stranger wrote them.
"""
