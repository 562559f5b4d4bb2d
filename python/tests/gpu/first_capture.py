"""Capture reductions in a process that has made none, and replay them."""

import torch
import warpfold as wf

# So many results need more memory than a stream has at first.
x = torch.zeros(70_000, 20, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    results = wf.sum(x, axis=0), wf.var(x), wf.argmax(x, axis=1)
for seed in range(3):
    x.copy_(torch.randn(x.shape, generator=torch.Generator().manual_seed(seed)))
    graph.replay()
    torch.testing.assert_close(results[0], x.double().sum(0).float(), rtol=1e-4, atol=2e-3)
    torch.testing.assert_close(results[1], x.double().var(correction=0).float())
    assert results[2].equal(x.argmax(1)), seed
# A call outside of the graph finds what the capture has made.
torch.testing.assert_close(wf.var(x), x.double().var(correction=0).float())
