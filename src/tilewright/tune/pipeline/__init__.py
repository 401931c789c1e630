"""`tilewright tune`: schedules around the planner's choice are ranked, measured, and kept where they win."""
