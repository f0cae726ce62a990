# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# Processes that fail under srun, on two hosts: what tests/fault sees.
# needs: slurm
# timeout: 300
TMPDIR=$work run "$here/../fault/run" --launcher srun "$build"
