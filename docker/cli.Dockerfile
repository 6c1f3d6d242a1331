# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

# Image with the command line, without ROS.
#   docker build -f docker/cli.Dockerfile -t gdm_motion_seg_cli .
#   docker run --rm -v "$PWD:/data" gdm_motion_seg_cli video drive.mp4 --out drive_motions
FROM ubuntu:24.04

RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-pip \
    && rm -rf /var/lib/apt/lists/*

COPY . /src

# Ubuntu 24.04 (noble) has no python3-numba, so pip installs numba, like everything else in this image. pip needs
# --break-system-packages, because the Python of Ubuntu is externally managed; nothing else uses it in this image.
RUN pip install --no-cache-dir --break-system-packages numba \
    && pip install --no-cache-dir --break-system-packages '/src[view,batch]' \
    && rm -rf /src

# Machine code depends on the processor, so it is compiled at the first call. Mount a volume here to keep it.
ENV NUMBA_CACHE_DIR=/var/cache/gdm_motion_seg
VOLUME /var/cache/gdm_motion_seg

WORKDIR /data
ENTRYPOINT ["gdm-motion-seg"]
CMD ["--help"]
