# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's RotaryEmbedding (opset 23), in a graph that turns q and k again and again; memory bound beforehand."""

from __future__ import annotations

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from .case import DTYPES, HEADS, KV_HEADS, Case, Data, Prepared, Tolerance, Unsupported

NAME, PACKAGE, FORM, IN_PLACE = "ONNX Runtime", "onnxruntime", "graph", False
TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16}


def tolerance(case: Case) -> Tolerance:
    return Tolerance(steps=2 if case.dtype == "f32" else 3)


def model(case: Case, chain: int, rows: int) -> bytes:
    dtype, nodes, inputs, outputs = TYPES[case.dtype], [], [], []
    for name, heads in (("q", HEADS), ("k", KV_HEADS)):
        shape = [1, case.tokens, heads * 128]
        inputs.append(helper.make_tensor_value_info(f"{name}0", dtype, shape))
        outputs.append(helper.make_tensor_value_info(f"{name}{chain}", dtype, shape))
        for i in range(chain):
            nodes.append(
                helper.make_node(
                    "RotaryEmbedding", [f"{name}{i}", "cos", "sin", "positions"], [f"{name}{i + 1}"],
                    interleaved=int(case.pairing == "interleaved"), num_heads=heads,
                )
            )  # fmt: skip
    inputs += [helper.make_tensor_value_info(name, dtype, [rows, 64]) for name in ("cos", "sin")]
    inputs.append(helper.make_tensor_value_info("positions", TensorProto.INT64, [1, case.tokens]))
    graph = helper.make_graph(nodes, "rope", inputs, outputs)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    return made.SerializeToString()


class Bound:
    """A session with its inputs and outputs; it owns the memory that the session was told of."""

    def __init__(self, case: Case, data: Data, chain: int):
        dtype = DTYPES[case.dtype]
        flat = {"q": data.q.reshape(1, case.tokens, -1), "k": data.k.reshape(1, case.tokens, -1)}
        self.inputs = {f"{name}0": array.copy() for name, array in flat.items()}
        self.inputs |= {name: data.table((name,), dtype) for name in ("cos", "sin")}
        self.inputs["positions"] = data.positions[None]
        self.outputs = {name: np.empty_like(array) for name, array in flat.items()}
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = case.threads, 1
        graph = model(case, chain, len(self.inputs["cos"]))
        self.session = onnxruntime.InferenceSession(graph, options, ["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        for name, array in self.inputs.items():
            self.binding.bind_cpu_input(name, array)
        for name, array in self.outputs.items():
            self.binding.bind_output(f"{name}{chain}", "cpu", 0, dtype, array.shape, array.ctypes.data)

    def run(self) -> None:
        self.session.run_with_iobinding(self.binding)


def prepare(case: Case, data: Data) -> Prepared:
    if case.dtype not in TYPES:
        raise Unsupported("no kernel for bf16 on the CPU")

    def result():
        once = Bound(case, data, 1)
        once.run()
        return once.outputs["q"].reshape(data.q.shape), once.outputs["k"].reshape(data.k.shape)

    return Prepared(Bound(case, data, case.chain).run, result, case.chain)
