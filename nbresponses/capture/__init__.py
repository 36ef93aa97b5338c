"""The record of streams: what was sent and received, when, and what can be asked of it afterwards."""
