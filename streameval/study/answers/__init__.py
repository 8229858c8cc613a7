"""What results answer when they are asked a question: a curve, or means over many rankings."""
