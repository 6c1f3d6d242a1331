# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A process that requests a private DDS domain gets one that is not in use."""

from contextlib import ExitStack
import os
import subprocess
import sys

import pytest

from gdm_motion_seg.ros.process import private_domain

ASK = ('import sys\n'
       'from gdm_motion_seg.ros import process\n'
       'process.DOMAINS = range(int(sys.argv[1]), int(sys.argv[2]))\n'
       'try:\n'
       '    print(process.private_domain(), flush=True)\n'
       'except process.GdmMotionSegError:\n'
       '    print(0, flush=True)\n'
       'sys.stdin.read()')
FEW = range(60, 65)


def asking(domains, **environment):
    """Start a process that reserves one of some domains until its stdin is closed."""
    return subprocess.Popen([sys.executable, '-c', ASK, str(domains.start), str(domains.stop)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env={**os.environ, **environment})


def told(child):
    """Return the domain of a process; 0 for none."""
    return int(child.stdout.readline())


def given(domains, **environment):
    """Return the domain that a process gets, which releases it at once."""
    with asking(domains, **environment) as child:
        domain = told(child)
        child.stdin.close()
    return domain


def only(domain):
    return range(domain, domain + 1)


def test_concurrent_processes_get_different_domains_and_release_them():
    with ExitStack() as stack:
        children = [stack.enter_context(asking(FEW)) for _ in FEW]
        # No process gets a domain that is in use on this machine.
        domains = [domain for domain in map(told, children) if domain]
        assert domains and len(set(domains)) == len(domains)
        assert given(only(domains[0])) == 0
        for child in children:
            child.stdin.close()
    assert given(only(domains[0])) == domains[0]


def test_a_process_keeps_its_domain():
    assert private_domain() == private_domain()


def test_the_domains_of_the_environment_and_of_a_running_node_are_not_used():
    pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
    from gdm_motion_seg_tools.ros.session import Session
    domain = given(FEW)
    assert domain and given(only(domain), ROS_DOMAIN_ID=str(domain)) == 0
    # A process numbers its participants over all domains, so this is not the first of its domain.
    with Session(), Session(domain=domain):
        assert given(only(domain)) == 0
