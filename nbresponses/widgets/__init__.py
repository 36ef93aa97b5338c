"""Widgets for what runs side by side and what is over: the lane board and the event inspector. Need a front end."""
