from snellen.core.grouping import lists_by_key


def test_values_are_listed_by_key_in_their_order() -> None:
    lists = lists_by_key((number % 3, number) for number in (5, 1, 2, 4, 5))
    assert list(lists.items()) == [(2, [5, 2, 5]), (1, [1, 4])]
    assert lists_by_key(()) == {}
