"""What people are given to label: the planned items, and the page that hands them out one after another.

`items` fetches them; `desk` decides who gets which; `session` is one serving of a study, `page_server` answers its
pages over HTTP, `owner_page` is that of whoever asked, `links` says who may see what, and `serve` runs and evaluates.
"""
