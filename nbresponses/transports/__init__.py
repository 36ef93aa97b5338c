"""The wire: how bytes reach the server and come back, and foreign exceptions as ours. Knows no event."""
