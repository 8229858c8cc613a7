"""Who is closed where too many are connected."""

from streameval.serving.connections import Connections


class Connection:
    """One that notes that it was closed."""

    def __init__(self):
        self.transport, self.closed = self, False

    def abort(self):
        self.closed = True


def test_the_oldest_that_has_shown_no_link_makes_room():
    connections = Connections(3, 3)
    ann, *strangers = some = [Connection() for _ in range(6)]
    for number, one in enumerate(some):
        connections.came(one)
        if one is ann:
            connections.let_in(ann)
        assert len(connections) == min(number + 1, 3)
    assert [one.closed for one in strangers] == [True, True, True, False, False]
    assert not ann.closed


def test_where_all_have_a_link_the_oldest_makes_room():
    connections = Connections(2, 2)
    some = [Connection() for _ in range(3)]
    for one in some:
        connections.came(one)
        connections.let_in(one)
    assert [one.closed for one in some] == [True, False, False]


def test_one_that_went_is_counted_no_more():
    connections = Connections(1, 1)
    gone, new = Connection(), Connection()
    connections.came(gone)
    connections.went(gone)
    connections.went(gone)
    connections.let_in(gone)
    connections.came(new)
    assert len(connections) == 1
    assert not gone.closed
    assert not new.closed


def test_of_strangers_there_are_fewer_at_a_time():
    connections = Connections(5, 2)
    known, strangers = [Connection() for _ in range(2)], [Connection() for _ in range(4)]
    for one in known:
        connections.came(one)
        connections.let_in(one)
    for one in strangers:
        connections.came(one)
    assert len(connections) == 4
    assert [one.closed for one in known + strangers] == [False, False, True, True, False, False]
