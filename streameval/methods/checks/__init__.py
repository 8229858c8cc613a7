"""Do labels contradict what a method assumes of the list, and by more than label noise?"""
