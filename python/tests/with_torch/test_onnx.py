# SPDX-License-Identifier: Apache-2.0
"""ONNX: what is exported runs in ONNX Runtime with the same numbers, and its operators turn by the library's tables as the
library does."""

from typing import Any

import numpy as np
import pytest
from heavy import need
from support import close, normal

need("torch")
onnx: Any = need("onnx")
ort: Any = need("onnxruntime")
need("onnxscript")

import torch  # noqa: E402

import rotary  # noqa: E402
import rotary.torch as rt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of the exporter, about its own packages
#: ONNX's code, tolerance. Its runtime has no bf16 rotation on the CPU.
TYPES = {np.float32: (1, 4e-7), np.float16: (10, 2e-3)}


def session(model: Any) -> Any:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def node(domain: str, dtype: Any, shapes: dict[str, Any], **attributes: Any) -> Any:
    """A model of one RotaryEmbedding; inputs by name, positions as int64."""
    code = TYPES[dtype][0]
    helper = onnx.helper
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.INT64 if name == "position_ids" else code, shape)
        for name, shape in shapes.items()
    ]
    order = ("x", "position_ids", "cos", "sin") if domain else ("x", "cos", "sin", "position_ids")
    one = helper.make_node("RotaryEmbedding", [n for n in order if n in shapes], ["y"], domain=domain, **attributes)
    graph = helper.make_graph([one], "one", inputs, [helper.make_tensor_value_info("y", code, None)])
    opsets = [helper.make_opsetid("", 23)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=11)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rotary_dim", [64, 24])
@pytest.mark.parametrize("pairing", ["half_split", "interleaved"])
@pytest.mark.parametrize("domain", ["", "com.microsoft"])
def test_report_201_their_operators_by_our_tables(domain: str, pairing: str, rotary_dim: int, dtype: Any) -> None:
    """Opset 23's and com.microsoft's, by tables that the library made: a prefix of the head, both pairings, 16 bits."""
    rope = rotary.Rope(64, rotary_dim=rotary_dim, base=500000, pairing=pairing)
    ids = np.array([[0, 1, 700, 1023], [5, 900, 901, 7]])
    x = normal(2, 3, 4, 64, dtype=dtype)
    table = rope.angles(range(1024))
    cos, sin = (t[0].astype(dtype) for t in (table.cos(), table.sin()))
    inputs = {"x": x, "cos": cos, "sin": sin, "position_ids": ids}
    attributes: dict[str, Any] = dict(interleaved=int(pairing == "interleaved"))
    if rotary_dim < 64:
        attributes |= dict(rotary_embedding_dim=rotary_dim, num_heads=3)
    model = node(domain, dtype, {name: value.shape for name, value in inputs.items()}, **attributes)
    (got,) = session(model).run(None, inputs)
    # They round the tables to the type of x, so the library turns by the rounded ones as well.
    by_table = rotary.Rope.from_table(cos.astype(np.float32), sin.astype(np.float32), head_dim=64, pairing=pairing)
    want = by_table.rotate(x, positions=ids).astype(np.float64)
    close(got, want, TYPES[dtype][1])
    assert np.array_equal(got[..., rotary_dim:], x[..., rotary_dim:])


class Attention(torch.nn.Module):
    """For each rope, scores of q and k turned by it, and both turned by the tables of a module."""

    def __init__(self, ropes: list[rotary.Rope]) -> None:
        super().__init__()
        self.ropes, self.embeddings = ropes, torch.nn.ModuleList(rt.RotaryEmbedding(rope) for rope in ropes)

    def forward(self, q: torch.Tensor, k: torch.Tensor, ids: torch.Tensor) -> Any:
        out: list[torch.Tensor] = []
        for rope, embedding in zip(self.ropes, self.embeddings, strict=True):
            positions = ids if rope.axes == 1 else torch.stack([ids, ids // 2, ids // 3])
            a, b = rt.rotate(rope, q, k, positions=positions)
            tables = embedding(q, positions)
            out += [a @ b.transpose(-1, -2), *rt.apply_rotary_pos_emb(q, k, *tables, pairing=rope.pairing)]
        return tuple(out)


ROPES = {
    "half_split": rotary.Rope(32, base=500000),
    "interleaved, part, yarn": rotary.Rope(
        32, rotary_dim=16, pairing="interleaved", scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}
    ),
    "regrouped": rotary.Rope(32, pairing="interleaved_to_half"),
    "mrope": rotary.Rope(32, axis_sections=(4, 6, 6)),
}


def test_report_198_an_exported_module_gives_the_same_numbers() -> None:
    """torch.onnx by dynamo, with a length that is free, at positions where fp32 angles would show."""
    module = Attention(list(ROPES.values())).eval()

    def inputs(tokens: int, first: int) -> tuple[torch.Tensor, ...]:
        generator = torch.Generator().manual_seed(tokens)
        q, k = (torch.randn(2, heads, tokens, 32, generator=generator) for heads in (4, 2))
        return q, k.repeat_interleave(2, dim=1), torch.arange(first, first + tokens).expand(2, -1).contiguous()

    axes = {2: torch.export.Dim("tokens", min=2, max=4096)}
    program = torch.onnx.export(
        module, inputs(5, 0), dynamo=True, verbose=False, opset_version=23, dynamic_shapes=(axes, axes, {1: axes[2]})
    )
    assert program is not None
    proto = program.model_proto
    onnx.checker.check_model(proto)
    assert all(n.domain in ("", "pkg.onnxscript.torch_lib") for n in proto.graph.node), "nothing of the library's own"
    ready = session(proto)
    for tokens, first in ((5, 0), (7, 120000)):
        given = inputs(tokens, first)
        got = ready.run(None, {i.name: x.numpy() for i, x in zip(ready.get_inputs(), given, strict=True)})
        for g, w in zip(got, module(*given), strict=True):
            close(g, w.double().numpy(), 2e-6)
