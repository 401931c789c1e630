"""Why a chain was not fused: the reason and both predicted times, as text and as data. No compiler runs."""

import tilewright as tw


def block(x, up, bias, down):  # a feed-forward network: two matrix products with a bias and a relu between
    hidden = tw.relu(x @ up + bias)
    return hidden @ down


# Any machine that is known by name can be planned for: `tilewright machine --help` lists them.
shapes = (tw.spec((256, 512)), tw.spec((512, 2048)), tw.spec((2048,)), tw.spec((2048, 512)))
lowered = tw.jit(block, target="cascadelake-6240").lower(*shapes)

# The section "not fused" of `explain` has one line for each tensor that goes through memory.
text = lowered.explain()
print("\n".join(text[text.index("  not fused") :].splitlines()))

# The same as data.
for cut in lowered.model_plan.cuts:
    times = f"fused {cut.fused_seconds * 1e3:.2f} ms, apart {cut.unfused_seconds * 1e3:.2f} ms"
    print(f"{cut.tensor}: {times}, {type(cut.reason).__name__}")

# The line gives a lower bound of the fused time. fuse=True forces fusion, so that its full plan can be compared.
forced = tw.jit(block, target="cascadelake-6240", fuse=True).lower(*shapes)
for name, plan in (("prices", lowered.model_plan), ("fused", forced.model_plan)):
    seconds = [sum(chain.price.on(cores) for chain in plan.plans) for cores in (1, 18)]
    print(f"{name}: {len(plan.plans)} chains, {seconds[0] * 1e3:.2f} ms on one core, {seconds[1] * 1e6:.0f} us on 18")
