"""Reads protobuf messages without their schema (protobuf.dev, "Encoding")."""
import collections


def varint(data, at):
    """The number at a place, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def pairs(data):
    """Yields (number, value) of each field: an int, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = (8, at) if tag & 7 == 1 else varint(data, at)
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def fields(data):
    """The values of each field, by its number."""
    found = collections.defaultdict(list)
    for number, value in pairs(data):
        found[number].append(value)
    return found


def packed(data):
    """The numbers of a packed field."""
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values
