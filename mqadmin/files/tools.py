"""Access keys from RocketMQ's own file for its tools, `conf/tools.yml` (MixAll.ACL_CONF_TOOLS_FILE)."""

import os
import re
from pathlib import Path

from trimq.admin.connecting.signing import AccessKeys


def keys_of_tools_file() -> AccessKeys | None:
    """`accessKey:` and `secretKey:` of the file below ROCKETMQ_HOME; None when it lacks either."""
    home = os.environ.get("ROCKETMQ_HOME")
    if not home:
        return None
    try:
        text = (Path(home) / "conf" / "tools.yml").read_text("utf-8")
    except OSError:
        return None
    entries = dict(re.findall(r"^(\w+)\s*:\s*[\"']?([^\"'#\n]*?)[\"']?\s*$", text, re.MULTILINE))
    access_key, secret_key = entries.get("accessKey"), entries.get("secretKey")
    return AccessKeys(access_key, secret_key) if access_key and secret_key else None
