# SPDX-License-Identifier: Apache-2.0
"""The rotations of other packages beside ours: one file a peer, listed in contest.py."""
