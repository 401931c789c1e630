"""Planning: `planner.plan_chain` names the stages for one chain, `whole_model.partition` cuts a graph into chains."""
