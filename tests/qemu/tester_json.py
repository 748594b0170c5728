# SPDX-License-Identifier: MIT
"""tester_json.py FILE EXPRESSION...: checks expressions over a JSON report of xio-tester, which they see as `j`."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    j = json.load(file)
phases = {phase["operation"]: phase for phase in j.get("phases", [])}
wrong = [expression for expression in sys.argv[2:] if not eval(expression)]  # the expressions are the test's own
for expression in wrong:
    print(f"does not hold: {expression}")
sys.exit(1 if wrong else 0)
