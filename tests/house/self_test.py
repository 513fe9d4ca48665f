#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants a fault for each rule of the house checks, and sees the check find it."""
import tempfile
import unittest
from pathlib import Path

import check_files
import check_includes
import check_links
import check_pages
import check_reports

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


def planted(check, files):
    """The complaints of `check` about a tree that holds these files."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = Path(root) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return list(check.problems(root))


class Includes(unittest.TestCase):
    def refuses(self, path, include, reason):
        found = planted(check_includes, {path: f"{LICENCE}#include {include}\n"})
        self.assertEqual(len(found), 1, found)
        self.assertIn(path, found[0])
        self.assertIn(reason, found[0])

    def accepts(self, path, include, beside=()):
        self.assertEqual(planted(check_includes, {path: f"{LICENCE}#  include {include}\n", **dict(beside)}), [])

    def test_edges_of_the_plan(self):
        self.accepts("src/rotate/plan.cc", '"kernels/rotate_args.hpp"')
        self.accepts("src/rotate/plan.cc", '"angles/angle_source.hpp"')
        self.accepts("src/model/config.cc", "<rotary/formats/gguf.hpp>")
        self.accepts("src/attention/attend.cc", "<rotary/rope.hpp>")
        self.accepts("include/rotary/rotary.hpp", "<rotary/model.hpp>")

    def test_edges_against_the_stream(self):
        self.refuses("src/spectrum/yarn.cc", '"rotate/plan.hpp"', "room spectrum may not see room rotate")
        self.refuses("src/spectrum/yarn.cc", "<rotary/model.hpp>", "room spectrum may not see room model")
        self.refuses("src/formats/gguf.cc", "<rotary/rope.hpp>", "room formats may not see room rope")
        self.refuses("src/kernels/cpu/rotate.cc", '"angles/angle_source.hpp"', "may not see room angles")
        self.refuses("src/base/status.cc", "<rotary/spectrum.hpp>", "room base may not see room spectrum")
        self.refuses("include/rotary/spectrum.hpp", "<rotary/angles.hpp>", "may not see room angles")

    def test_outside_sees_public_headers(self):
        self.accepts("tools/rotary/main.cc", "<rotary/model.hpp>")
        self.accepts("tools/rotary/main.cc", '"render.hpp"', {"tools/rotary/render.hpp": LICENCE})
        self.accepts("tests/property/laws_test.cc", '"support/random.hpp"', {"tests/support/random.hpp": LICENCE})
        self.refuses("tools/rotary/main.cc", '"base/message.hpp"', "public headers")
        self.refuses("tests/conformance/llama_test.cc", '"rotate/rope_state.hpp"', "public headers")
        self.accepts("python/src/model.cc", '"render.hpp"')
        self.refuses("python/src/rope.cc", '"base/message.hpp"', "public headers")
        self.refuses("examples/a.cc", '"kernels/kernel_list.hpp"', "public headers")

    def test_headers_of_others(self):
        self.accepts("src/model/config.cc", "<nlohmann/json.hpp>")
        self.accepts("src/kernels/cpu/rotate.cc", "<hwy/highway.h>")
        self.accepts("src/kernels/cpu/rotate.cc", "HWY_TARGET_INCLUDE")
        self.accepts("src/base/posix_files.cc", "<sys/mman.h>")
        self.refuses("src/base/status.cc", "<sys/mman.h>", "belongs to src/base/posix_files.cc")
        self.refuses("include/rotary/model.hpp", "<nlohmann/json.hpp>", "the standard library alone")
        self.refuses("include/rotary/rotate.hpp", "<immintrin.h>", "the standard library alone")
        self.refuses("src/spectrum/yarn.cc", "<nlohmann/json.hpp>", "belongs to")
        self.refuses("src/rotate/plan.cc", "<hwy/highway.h>", "belongs to")
        self.refuses("src/rotate/plan.cc", "<immintrin.h>", "known dependency")

    def test_new_rooms_are_named(self):
        self.refuses("src/attic/x.cc", "<vector>", "not in the plan")
        self.refuses("include/rotary/attic.hpp", "<vector>", "in no room")
        self.refuses("src/rotate/plan.cc", "<rotary/attic.hpp>", "in no room")


class Files(unittest.TestCase):
    def refuses(self, path, text, reason):
        found = planted(check_files, {path: text})
        self.assertEqual(len(found), 1, found)
        self.assertIn(reason, found[0])

    def accepts(self, path, text):
        self.assertEqual(planted(check_files, {path: text}), [])

    def test_licence(self):
        self.accepts("src/base/a.cc", LICENCE)
        self.accepts("scripts/a.sh", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")
        self.refuses("src/base/a.cc", "int a;\n" + LICENCE, "first line")
        self.refuses("src/base/a.cc", "", "first line")

    def test_size(self):
        self.accepts("src/base/a.cc", LICENCE + "\n" * 399)
        self.accepts("src/model/presets.cc", LICENCE + "\n" * 4000)
        self.refuses("src/base/a.cc", LICENCE + "\n" * 400, "401 lines, at most 400")

    def test_ascii(self):
        self.refuses("tests/unit/base/a.cc", LICENCE + "\n// \u03b8\n", "line 3: not ASCII")

    def test_self_comparison(self):
        self.accepts("src/kernels/a.cc", LICENCE + "if (x != x0 || a.x != b.x || n == n_max) {}\n")
        self.accepts("src/rotate/a.cc", LICENCE + "bool same = x == x;\n")
        for fault in ("x != x", "lane[i] == lane[i]", "hn::Ne(v, v)", "args.x != args.x"):
            self.refuses("src/kernels/cpu/a.cc", f"{LICENCE}if ({fault}) {{}}\n", "line 2: compared with itself")


class Reports(unittest.TestCase):
    FILE = "tests/conformance/a_test.cc"
    HEAD = "| report | fault | answer |\n| --- | --- | --- |\n"

    def found(self, rows, source="TEST(Report5, Holds) {}\n"):
        return planted(check_reports, {"tests/reports.md": self.HEAD + rows, self.FILE: source})

    def refuses(self, rows, reason, source="TEST(Report5, Holds) {}\n"):
        found = self.found(rows, source)
        self.assertEqual(len(found), 1, found)
        self.assertIn(reason, found[0])

    def test_named_tests_exist(self):
        good = "| 5 | a fault | `conformance/a_test.cc` `Report5.Holds` |\n"
        self.assertEqual(self.found(good), [])
        self.assertEqual(self.found("| 5, 6 | a fault | see 5: `conformance/a_test.cc` `Report5.Holds` |\n"), [])
        self.refuses(good.replace("Holds", "Held") + "| 6 | see `Report5.Holds` of 5 |\n",
                     "has no Report5.Held")
        self.refuses(good + "| 6 | a fault | `conformance/b_test.cc` `Report6.Holds` |\n", "there is no tests/")
        self.refuses(good + "| 6 | a fault | `Report6.Holds` |\n", "stands behind no file")

    def test_tests_in_python(self):
        source = {"python/tests/test_a.py": "def test_report_5_holds() -> None:\n    pass\n"}
        row = "| 5 | a fault | `python/tests/test_a.py` `test_report_5_holds` |\n"
        for text, reason in ((row, None), (row.replace("5_holds", "5_held"), "has no test_report_5_held"),
                             (row.replace("test_a", "test_b"), "there is no python/tests/test_b.py"),
                             ("| 5 | a fault | Cannot happen. |\n", "test_report_5_holds is not in tests/reports.md")):
            found = planted(check_reports, {"tests/reports.md": self.HEAD + text, **source})
            self.assertEqual([], found) if reason is None else self.assertIn(reason, "".join(found))

    def test_every_report_has_one_answer(self):
        good = "| 5 | a fault | `conformance/a_test.cc` `Report5.Holds` |\n"
        self.refuses(good + "| 6 | a fault | |\n", "neither a test nor a reason")
        self.refuses(good + "| 5 | a fault | Cannot happen. |\n", "has two rows")

    def test_every_suite_of_a_report_is_listed(self):
        self.refuses("| 5 | a fault | Cannot happen. |\n", "Report5.Holds is not in tests/reports.md")


class Pages(unittest.TestCase):
    tree = {"README.md": "", "examples/readme.cc": "int main() {\n  int a;\n  int b;\n}\n",
            "examples/page.cc": "int c;\n", "examples/page.expected.txt": "one\ntwo\n"}

    def found(self, page, text):
        return planted(check_pages, self.tree | {page: text})

    def test_code_and_output(self):
        self.assertEqual(self.found("README.md", "```cpp\nint a;\nint b;\n```\n"), [])
        self.assertEqual(self.found("docs/a.md", "```cpp\nint c;\n```\n```output\ntwo\n```\n"), [])

    def test_faults(self):
        for page, text, reason in (("README.md", "```cpp\nint a;\nint c;\n```\n", "no program has this block"),
                                   ("README.md", "```cpp\nint c;\n```\n", "README.md: no program"),
                                   ("docs/README.md", "```cpp\nint d;\n```\n", "docs/README.md: no program"),
                                   ("docs/a.md", "```output\nthree\n```\n", "no program writes this")):
            found = self.found(page, text)
            self.assertEqual(len(found), 1, found)
            self.assertIn(reason, found[0])


class Links(unittest.TestCase):
    def found(self, text):
        return planted(check_links, {"docs/a.md": text, "b.md": "# A heading, here\n", "build/c.md": "[x](nowhere)\n"})

    def test_good(self):
        self.assertEqual(self.found("[x](../b.md) [y](../b.md#a-heading-here) [z](https://example.org/no) [w](#v)\n"
                                    "## V\n`[i](j)`\n```\n[&](int)\n```\n"), [])

    def test_faults(self):
        for link, reason in (("b.md", "docs/a.md: b.md: no such file"), ("../b.md#here", "no such heading"),
                             ("#here", "no such heading")):
            found = self.found(f"[x]({link})\n")
            self.assertEqual(len(found), 1, found)
            self.assertIn(reason, found[0])


if __name__ == "__main__":
    unittest.main()
