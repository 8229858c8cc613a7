"""What people are given to label: the planned items, and the page that hands them out one after another.

`items` fetches them; `desk` decides who gets which; `session` is one serving of a study, and `messages` reads what its
pages send; `page_server` answers them over HTTP, `owner_page` is that of whoever asked, `links` says who may see what,
and `serve` runs and evaluates.
"""
