"""Labels: tables of votes as people bring them, and what they come to for every planned rank."""

from streameval.labels.sources import Votes, read_votes
from streameval.labels.tally import tally

__all__ = ["Votes", "read_votes", "tally"]
