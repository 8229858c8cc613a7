"""Labels: tables of votes as people bring them, and what they come to for every planned rank."""
