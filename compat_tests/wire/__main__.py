"""Play the wire cases against a running server and write what they saw.

python -m compat_tests.wire --namesrv HOST:PORT --broker HOST:PORT --run ID --out FILE [--only TEXT]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from compat_tests.wire.cases.catalogue import all_cases
from compat_tests.wire.runner import play_all
from compat_tests.wire.stage import Place


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--namesrv", required=True)
    parser.add_argument("--broker", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    chosen = [case for case in all_cases() if options.only in case.name]
    began = time.monotonic()
    outcomes = play_all(chosen, Place(options.namesrv, options.broker, options.run))
    options.out.write_text(json.dumps(outcomes, indent=1, ensure_ascii=False))
    failed = [name for name, outcome in outcomes.items() if outcome["error"]]
    print(f"{len(outcomes)} cases in {time.monotonic() - began:.1f} s, {len(failed)} with an error")
    for name in failed:
        print(f"  {name}: {outcomes[name]['error']}")


if __name__ == "__main__":
    main()
