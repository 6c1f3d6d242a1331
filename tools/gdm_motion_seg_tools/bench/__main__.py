# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Run the command ``bench`` as ``python -m gdm_motion_seg_tools.bench NAME``."""

import argparse
import sys

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg_tools.bench.command import add_arguments, run


def main() -> int:
    """Run the command; an error prints one sentence, with exit code 2."""
    parser = argparse.ArgumentParser(prog='gdm-motion-seg bench', description=__doc__)
    add_arguments(parser)
    try:
        return run(parser.parse_args())
    except GdmMotionSegError as error:
        print(f'gdm-motion-seg bench: {error}', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == '__main__':
    sys.exit(main())
