"""Reports: plans, schedules and profiles as text."""
