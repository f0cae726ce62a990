# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# Which addresses the coordination service has on two hosts, and who reaches
# them.
hello=$build/mpi_examples/01_hello/hello
two_hosts=(bed_mpirun -n 4 --host "h0:2,h1:2")

# Nothing said: those of all interfaces, so the one that both hosts share.
run "${two_hosts[@]}" -x JD_LOG=info "$hello"
expect_count 1 '^4 devices in 4 processes: 10$'
expect 'jd 0/4 h0:[0-9]+ info the coordination service listens at 10\.78\.0\.[0-9]+:[0-9]+ '

# By interface, by network, and all but one.
run "${two_hosts[@]}" -x JD_INTERFACE=eth0 "$hello"
expect_count 1 '^4 devices in 4 processes: 10$'
run "${two_hosts[@]}" -x JD_INTERFACE=10.78.0.0/16 "$hello"
expect_count 1 '^4 devices in 4 processes: 10$'
run "${two_hosts[@]}" -x JD_INTERFACE=^docker0,10.1.0.0/16 "$hello"
expect_count 1 '^4 devices in 4 processes: 10$'
refused "${two_hosts[@]}" -x JD_INTERFACE=^eth0 "$hello"
expect 'jd_initialize: JD_INTERFACE="\^eth0" leaves no address of this host'
refused "${two_hosts[@]}" -x JD_INTERFACE=10.78.0.0/99 "$hello"
expect 'JD_INTERFACE'

# An explicit address is used as it is, by number and by name.
run "${two_hosts[@]}" -x JD_COORDINATOR_ADDRESS=10.78.0.1:5678 "$hello"
expect_count 1 '^4 devices in 4 processes: 10$'
run "${two_hosts[@]}" -x JD_COORDINATOR_ADDRESS=h0:5678 -x JD_LOG=info "$hello"
expect_count 1 '^4 devices in 4 processes: 10$'
expect 'info the coordination service listens at 10\.78\.0\.1:5678 '
run "${two_hosts[@]}" -x JD_COORDINATOR_ADDRESS=h0:5678 \
    -x JD_COORDINATOR_BIND_ADDRESS=0.0.0.0:5678 "$hello"
expect_count 1 '^4 devices in 4 processes: 10$'

# Loopback cannot be reached from the other host.
refused "${two_hosts[@]}" -x JD_COORDINATOR_ADDRESS=127.0.0.1:5678 "$hello"
expect 'JD_COORDINATOR_ADDRESS is 127\.0\.0\.1:5678, which only processes of process 0.s own host can reach, but the job is on 2 hosts'

# A port in use has an owner.
bed_exec h0 python3 -c '
import socket, time
s = socket.socket()
s.bind(("0.0.0.0", 5678))
s.listen()
print("ready", flush=True)
time.sleep(60)' >"$work/owner" &
owner=$!
bed_wait 10 "the owner of the port" grep -q ready "$work/owner"
refused "${two_hosts[@]}" -x JD_COORDINATOR_ADDRESS=h0:5678 "$hello"
expect 'the coordination service cannot start: .*port 5678 is in use by python3 \(pid [0-9]+'
kill "$owner"
