"""Labels: tables of votes as people bring them, and the label of every planned rank that follows."""

from streameval.labelling.columns import LabelColumns
from streameval.labelling.match_items import Items
from streameval.labelling.reading import read_votes
from streameval.labelling.rules import VoteRule, vote_rule
from streameval.labelling.tally import Tallied, tally
from streameval.labelling.votes import Votes

__all__ = ["Items", "LabelColumns", "Tallied", "VoteRule", "Votes", "read_votes", "tally", "vote_rule"]
