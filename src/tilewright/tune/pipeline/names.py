"""Names by which users choose who orders plans, how they are searched, and who unrolls them."""

PRICE, RANDOM = "price", "random"
LEARNING = ("network", "boosting")
"""Rankers that learn from measurements."""
RANKERS = (PRICE, RANDOM, *LEARNING)
RANKED = "ranked"
SEARCHES = (RANKED, "evolution", "boosting")
"""The first order of a ranker; by steps from the fastest so far; draws that a model ranks after every batch."""
NO_AGENT = "none"
AGENTS = (NO_AGENT, "random", "hill", "agent")
"""Who chooses unroll factors: nobody, chance, hill climbing, a deep Q-network."""
DEFAULT_AGENT = "hill"
"""From the kernel that the plan has, hill climbing found most on average (docs/decisions/tuning.md)."""
