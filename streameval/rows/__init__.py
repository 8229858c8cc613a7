"""Where items are stored: one file a kind of storage. None knows what a rank is worth, a label or a method."""
