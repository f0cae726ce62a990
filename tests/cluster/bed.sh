# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# bed.sh - several hosts and a real Slurm on one machine, for tests.
#
# Each host is a set of network, UTS, mount and IPC namespaces: a name, an
# address, a /dev/shm and a temporary directory of its own, joined to the
# others by a bridge that this shell, "head", is on too. All of it lives
# inside one outer set of namespaces that bed_enter makes: nothing of the
# machine changes, and when its first process ends, however it ends, the
# kernel takes every process, mount, link and file of the bed away.
#
#     bed_enter "$0" "$@"       # once; runs the script again inside
#     bed_start h0 h1 h2        # hosts
#     bed_start_slurm h0 h1 h2  # jobs go to h0 and h1, to all with -p all
#     bed_on h0 hostname        # a command on a host
#     bed_mpirun -n 4 --host h0:2,h1:2 program
#     srun --mpi=pmix -N2 -n4 program

BED_NET=10.78.0
export BED_DIR=/run/jd-bed

# The outer namespaces. The first process in them is this one's child, and is
# killed with it.
BED_UNSHARE=(unshare --mount --net --pid --uts --ipc --fork --kill-child
    --mount-proc)

# Prints why this machine cannot have a bed; nothing where it can.
bed_missing() {
    local tool
    for tool in unshare nsenter ip mount mpirun; do
        command -v "$tool" >/dev/null || { echo "no $tool here"; return; }
    done
    if ((EUID != 0)); then
        echo "network namespaces need root"
    elif ! "${BED_UNSHARE[@]}" true 2>/dev/null; then
        echo "this machine does not allow new namespaces"
    elif ! "${BED_UNSHARE[@]}" ip link add bed0 type bridge 2>/dev/null; then
        echo "this machine does not allow a network bridge"
    fi
}

# Prints why this machine cannot have a Slurm; nothing where it can.
bed_missing_slurm() {
    local tool
    for tool in munged slurmctld slurmd srun; do
        command -v "$tool" >/dev/null || { echo "no $tool here"; return; }
    done
}

# bed_enter SCRIPT ARGS...: runs the script again inside the outer namespaces,
# in this process's place. There it returns at once, after setting up head.
bed_enter() {
    if [[ -z ${BED_INSIDE:-} ]]; then
        export BED_INSIDE=1
        exec "${BED_UNSHARE[@]}" "$@"
    fi
    hostname head
    mount -t tmpfs tmpfs /run
    mount -t tmpfs tmpfs /dev/shm
    mkdir -p "$BED_DIR/tmp"
    ip link set lo up
    cp /etc/hosts "$BED_DIR/hosts"
    mount --bind "$BED_DIR/hosts" /etc/hosts
    export TMPDIR=$BED_DIR/tmp
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# bed_start HOST...: the network and its hosts.
bed_start() {
    local host number=1
    ip link add bed0 type bridge
    ip addr add "$BED_NET.254/24" dev bed0
    ip link set bed0 up
    echo "$BED_NET.254 head" >>/etc/hosts
    for host in "$@"; do
        echo "$BED_NET.$number $host" >>/etc/hosts
        bed_add_host "$host" "$BED_NET.$number"
        number=$((number + 1))
    done
    bed_write_agent
}

# bed_add_host HOST ADDRESS [SECONDS]: namespaces held open by a sleeping process.
# With SECONDS it is a machine of its own, as far as a program sees: it has been
# booted that much before this one, with a boot id of its own.
bed_add_host() {
    local host=$1 address=$2 seconds=${3:-} ready=$BED_DIR/$1.ready clocks=()
    mkfifo "$ready"
    [[ -z $seconds ]] ||
        clocks=(--time --monotonic "$seconds" --boottime "$seconds" --fork)
    # shellcheck disable=SC2016 # the inner shell expands them
    unshare --net --uts --mount --ipc "${clocks[@]}" bash -c '
        set -e
        echo $$ >"$BED_DIR/$1.pid"
        hostname "$1"
        mount -t tmpfs tmpfs /dev/shm
        mount -t tmpfs tmpfs "$2"
        ip link set lo up
        if [[ -n $4 ]]; then
            cat /proc/sys/kernel/random/uuid >"$BED_DIR/$1.boot"
            mount --bind "$BED_DIR/$1.boot" /proc/sys/kernel/random/boot_id
        fi
        echo up >"$3"
        exec sleep infinity' - "$host" "$TMPDIR" "$ready" "$seconds" \
        </dev/null &
    disown
    read -r -t 30 <>"$ready" || { echo "host $host did not start"; return 1; }
    ip link add "veth-$host" type veth peer name eth0 \
        netns "$(<"$BED_DIR/$host.pid")"
    ip link set "veth-$host" master bed0 up
    bed_on "$host" ip addr add "$address/24" dev eth0
    bed_on "$host" ip link set eth0 up
}

# bed_on HOST COMMAND...: the command in the host, in the same directory.
bed_on() {
    local host=$1
    shift
    nsenter -t "$(<"$BED_DIR/$host.pid")" -n -u -m -i -T -r --wdns="$PWD" -- "$@"
}

# bed_exec HOST COMMAND...: the same in this shell's place, so that $! of one in
# the background is the command's own.
bed_exec() {
    local host=$1
    shift
    exec nsenter -t "$(<"$BED_DIR/$host.pid")" -n -u -m -i -T -r --wdns="$PWD" \
        -- "$@"
}

# What mpirun calls in place of ssh: the host, then the parts of a command
# line for a shell.
bed_write_agent() {
    cat >"$BED_DIR/agent" <<AGENT
#!/bin/bash
host=\$1
shift
exec nsenter -t "\$(<$BED_DIR/\$host.pid)" -n -u -m -i -T -r -- bash -c "\$*"
AGENT
    chmod +x "$BED_DIR/agent"
}

# bed_mpirun ARGS...: mpirun on head, with the agent in place of ssh.
bed_mpirun() {
    mpirun --mca plm_rsh_agent "$BED_DIR/agent" --mca plm rsh "$@"
}

# bed_wait SECONDS WHAT COMMAND...: asks until the command succeeds, at most
# so long.
bed_wait() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        if ((SECONDS >= deadline)); then
            echo "$what did not come up" >&2
            return 1
        fi
        sleep 0.05
    done
}

# bed_start_slurm HOST...: munged and slurmctld on head, a slurmd per host.
bed_start_slurm() {
    local host
    bed_start_munge
    bed_write_slurm_conf "$@"
    export SLURM_CONF=$BED_DIR/slurm.conf
    bed_daemon slurmctld slurmctld -D
    for host in "$@"; do
        bed_on "$host" mkdir -p "$TMPDIR/spool"
        bed_daemon "slurmd-$host" bed_on "$host" slurmd -D
    done
    bed_wait 60 "Slurm" bed_slurm_is_idle "$#" || {
        tail -n 20 "$BED_DIR"/slurm*.log >&2
        return 1
    }
}

bed_slurm_is_idle() {
    [[ $(sinfo --noheader --partition=all --states=idle --format=%D) == "$1" ]]
}

# bed_daemon NAME COMMAND...: in the background, its output in NAME.log.
bed_daemon() {
    local name=$1
    shift
    "$@" >"$BED_DIR/$name.log" 2>&1 </dev/null &
    disown
}

# munged's files are all the bed's own; the socket is where clients look.
bed_start_munge() {
    local dir=$BED_DIR/munge
    mkdir -p "$dir" /run/munge
    head -c 128 /dev/urandom >"$dir/key"
    chmod 600 "$dir/key"
    chown -R munge: "$dir" /run/munge
    chmod 755 /run/munge
    bed_daemon munged runuser -u munge -- munged --foreground \
        --key-file="$dir/key" --log-file="$dir/log" --pid-file="$dir/pid" \
        --seed-file="$dir/seed"
    bed_wait 30 "munged" munge -n
}

# SlurmdSpoolDir and TmpFS are in the host's own tmpfs, so that the PMIx
# plug-ins of two hosts do not collide.
bed_write_slurm_conf() {
    local host hosts
    hosts=$(IFS=,; echo "$*")
    mkdir -p "$BED_DIR/state"
    cat >"$BED_DIR/slurm.conf" <<CONF
ClusterName=bed
SlurmctldHost=head($BED_NET.254)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
StateSaveLocation=$BED_DIR/state
SlurmctldPidFile=$BED_DIR/slurmctld.pid
SlurmdPidFile=$TMPDIR/slurmd.pid
SlurmdSpoolDir=$TMPDIR/spool
TmpFS=$TMPDIR
CONF
    for host in "$@"; do
        echo "NodeName=$host CPUs=4 State=UNKNOWN"
    done >>"$BED_DIR/slurm.conf"
    bed_write_partition two "$(IFS=,; echo "${*:1:2}")" Default=YES
    bed_write_partition all "$hosts" Default=NO
}

bed_write_partition() {
    echo "PartitionName=$1 Nodes=$2 $3 MaxTime=INFINITE" \
        "OverSubscribe=FORCE:8 State=UP" >>"$BED_DIR/slurm.conf"
}
