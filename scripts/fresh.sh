#!/usr/bin/env bash
# Runs `make demo` and `make test` where nothing is installed: a minimal Debian
# with only Go, git, make, a C compiler and certificates, made with debootstrap
# in a temporary folder. The committed tree is what runs, not the working folder.
#
#   FRESH_CACHE=1    share this machine's Go caches; default: begin with empty ones
#   FRESH_REF=REF    the commit to run; default: HEAD
#   FRESH_SUITE=NAME the Debian release; default: bookworm
#   FRESH_MIRROR=URL where packages come from; default: what apt uses here
#   FRESH_DO=COMMAND what to run instead of `make demo && make test`
#
# Needs root. All mounts live in a mount namespace and all processes in a PID
# namespace of this run, so that the kernel ends both with it, however it ends;
# then the temporary folder is removed. Nothing else on this machine is changed,
# but that debootstrap is installed when it is missing.
set -euo pipefail

say() { printf 'fresh: %s\n' "$*"; }
die() {
	printf 'fresh: %s\n' "$*" >&2
	exit 1
}

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
suite=${FRESH_SUITE:-bookworm}
mirror=${FRESH_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' "Codename: $suite" 2>/dev/null | sed -n 1p || true)}
[[ -n $mirror ]] || { printf 'fresh: apt names no Debian mirror here; set FRESH_MIRROR\n' >&2; exit 1; }

# outside makes the folder, runs this script again inside the namespaces, and
# removes the folder.
outside() {
	((EUID == 0)) || die "needs root, for chroot and mounts; run it with sudo"
	command -v go >/dev/null || die "go is not on the PATH"
	command -v unshare setpriv >/dev/null || die "unshare and setpriv are missing; install util-linux"
	git -C "$repository" rev-parse --verify -q "${FRESH_REF:-HEAD}^{commit}" >/dev/null ||
		die "${FRESH_REF:-HEAD} is no commit; commit first"
	if ! command -v debootstrap >/dev/null; then
		say "installing debootstrap"
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends debootstrap >/dev/null
	fi
	work=$(mktemp -d "${TMPDIR:-/tmp}/cadre-fresh.XXXXXX")
	trap remove EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	# In the background, so that a signal to this shell is heard at once.
	setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child \
		bash "$repository/scripts/fresh.sh" --inside "$work" &
	wait $!
}

# remove ends what still runs and deletes the folder. It refuses when something
# is mounted in it here, outside the namespace.
remove() {
	local running
	for running in $(jobs -p); do
		kill -KILL "$running" 2>/dev/null || true
		wait "$running" 2>/dev/null || true
	done
	if grep -qF " $work/" /proc/self/mountinfo; then
		say "$work still holds mounts and is left as it is" >&2
		return
	fi
	rm -rf --one-file-system "$work"
}

# inside builds the system and runs the commands in it.
inside() {
	work=$1
	system=$work/system
	install_system
	install_go
	mount_devices
	copy_tree
	local env=(HOME=/root LANG=C.UTF-8 TERM=dumb "PATH=$goroot/bin:/usr/sbin:/usr/bin:/sbin:/bin"
		GOTOOLCHAIN=local GOFLAGS= "GOPROXY=$(go env GOPROXY)" "GOSUMDB=$(go env GOSUMDB)")
	local name
	for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
		[[ -z ${!name:-} ]] || env+=("$name=${!name}")
	done
	say "running in $suite: ${FRESH_DO:=make demo && make test}"
	env -i "${env[@]}" chroot "$system" /bin/bash -euo pipefail -c "cd /src/cadre && $FRESH_DO" </dev/null
	say "all of it passed in a fresh $suite"
}

install_system() {
	say "making a minimal $suite from $mirror"
	debootstrap --variant=minbase --include=ca-certificates,git,make,gcc,libc6-dev \
		"$suite" "$system" "$mirror" >"$work/debootstrap.log" 2>&1 || {
		tail -n 20 "$work/debootstrap.log" >&2
		die "debootstrap failed"
	}
	# A proxy with a certificate of its own is known to this machine's bundle.
	if [[ -r /etc/ssl/certs/ca-certificates.crt ]]; then
		cat /etc/ssl/certs/ca-certificates.crt >"$system/etc/ssl/certs/ca-certificates.crt"
	fi
	cat /etc/resolv.conf >"$system/etc/resolv.conf"
	cat /etc/hosts >"$system/etc/hosts"
}

# install_go shows the toolchain, and with FRESH_CACHE=1 the caches, at the
# paths that they have on this machine.
install_go() {
	goroot=$(go env GOROOT)
	bind "$goroot" ro
	if [[ ${FRESH_CACHE:-} == 1 ]]; then
		bind "$(go env GOMODCACHE)" rw /root/go/pkg/mod
		bind "$(go env GOCACHE)" rw /root/.cache/go-build
	fi
}

# bind SOURCE ro|rw [TARGET] shows a folder of this machine in the system.
bind() {
	local target=$system${3:-$1}
	mkdir -p "$1" "$target"
	mount --bind "$1" "$target"
	[[ $2 != ro ]] || mount -o remount,bind,ro "$target"
}

mount_devices() {
	mount -t proc proc "$system/proc"
	mount -t tmpfs -o mode=755 tmpfs "$system/dev"
	local device
	for device in null zero full random urandom tty; do
		: >"$system/dev/$device"
		mount --bind "/dev/$device" "$system/dev/$device"
	done
	ln -s /proc/self/fd "$system/dev/fd"
	ln -s /proc/self/fd/0 "$system/dev/stdin"
	ln -s /proc/self/fd/1 "$system/dev/stdout"
	ln -s /proc/self/fd/2 "$system/dev/stderr"
	mkdir "$system/dev/shm" "$system/dev/pts"
	mount -t tmpfs tmpfs "$system/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=666 devpts "$system/dev/pts"
	ln -s pts/ptmx "$system/dev/ptmx"
}

copy_tree() {
	local commit
	commit=$(git -C "$repository" rev-parse "${FRESH_REF:-HEAD}^{commit}")
	say "copying commit ${commit:0:12}"
	git clone -q --no-local --no-checkout "$repository" "$system/src/cadre"
	git -C "$system/src/cadre" checkout -q --detach "$commit"
}

case ${1:-} in
--inside) inside "$2" ;;
'') outside ;;
*) die "unknown argument $1; the settings are environment variables, see the top of the script" ;;
esac
