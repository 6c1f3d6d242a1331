# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

# Image with the node, for a robot.
#   docker build -f docker/robot.Dockerfile -t gdm_motion_seg .
#   docker run --rm --net=host --ipc=host gdm_motion_seg image:=/camera/image_raw
# Jazzy is on Ubuntu 24.04; --build-arg ROS_DISTRO=lyrical is on Ubuntu 26.04. Humble is not supported: its numpy and scipy
# are older than this package needs.
ARG ROS_DISTRO=jazzy
FROM ros:${ROS_DISTRO}-ros-base

SHELL ["/bin/bash", "-c"]
WORKDIR /ws
COPY . src/gdm_motion_seg

# Ubuntu 24.04 (noble) has no python3-numba, so pip installs numba. It does not change the numpy of Ubuntu.
# From Lyrical on, package.xml requires python3-numba and rosdep installs it.
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-pip \
    && rosdep update --rosdistro "$ROS_DISTRO" \
    && rosdep install --from-paths src --ignore-src -y --dependency-types exec \
    && { python3 -c 'import numba' || pip install --no-cache-dir --break-system-packages 'numba>=0.58'; } \
    && rm -rf /var/lib/apt/lists/*

RUN source "/opt/ros/$ROS_DISTRO/setup.bash" \
    && colcon build --packages-select gdm_motion_seg

# Large images need more shared memory than the default of Fast DDS.
ENV FASTDDS_DEFAULT_PROFILES_FILE=/ws/install/gdm_motion_seg/share/gdm_motion_seg/config/fastdds.xml \
    FASTRTPS_DEFAULT_PROFILES_FILE=/ws/install/gdm_motion_seg/share/gdm_motion_seg/config/fastdds.xml \
    RMW_FASTRTPS_USE_QOS_FROM_XML=1

# Machine code depends on the processor, so it is compiled at the first start. Mount a volume here to keep it.
ENV NUMBA_CACHE_DIR=/var/cache/gdm_motion_seg
VOLUME /var/cache/gdm_motion_seg

# The arguments of "docker run" are arguments of the launch file.
ENTRYPOINT ["/bin/bash", "-c", "source /ws/install/setup.bash && exec ros2 launch gdm_motion_seg motion_seg.launch.py \"$@\"", "motion_seg"]
