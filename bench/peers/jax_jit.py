# SPDX-License-Identifier: Apache-2.0
"""JAX on the CPU: the formula under jit, in f32, as Flax models write it; q and k are given away, so XLA may turn them
in place."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from .case import Case, Data, Prepared, Tolerance

NAME, PACKAGE, FORM, IN_PLACE = "JAX", "jax", "call", False


def tolerance(case: Case) -> Tolerance:
    return Tolerance(steps=1.5)


def half_split(x, cos, sin):
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    return jnp.concatenate((first * cos - second * sin, second * cos + first * sin), axis=-1).astype(x.dtype)


def interleaved(x, cos, sin):
    wide = x.astype(jnp.float32)
    first, second = wide[..., 0::2], wide[..., 1::2]
    return jnp.stack((first * cos - second * sin, second * cos + first * sin), axis=-1).reshape(x.shape).astype(x.dtype)


@functools.partial(jax.jit, static_argnums=4, donate_argnums=(0, 1))
def turn(q, k, cos, sin, pairing):
    one = half_split if pairing == "half_split" else interleaved
    return one(q, cos, sin), one(k, cos, sin)


def prepare(case: Case, data: Data) -> Prepared:
    cos, sin = (jnp.asarray(rows[:, None].astype(np.float32)) for rows in (data.cos, data.sin))
    state = {"qk": (jnp.array(data.q), jnp.array(data.k))}

    def run() -> None:
        state["qk"] = turn(*state["qk"], cos, sin, case.pairing)
        jax.block_until_ready(state["qk"])

    def result():
        return tuple(np.asarray(x) for x in turn(jnp.array(data.q), jnp.array(data.k), cos, sin, case.pairing))

    return Prepared(run, result)
