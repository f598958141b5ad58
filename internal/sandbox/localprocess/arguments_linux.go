package localprocess

import (
	"os"
	"strconv"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// The places inside.
const (
	lineInside  = "/run/cadre"
	handsInside = "/run/cadre-hands"
	rootInside  = "/workspace"
	tokenInside = "/run/cadre-token" //nolint:gosec // a file's name
)

// The variables inside.
const (
	varSocket = "CADRE_HANDS_SOCKET"
	varRoot   = "CADRE_HANDS_ROOT"
	varUser   = "CADRE_HANDS_USER" // whom a program that was started as root becomes
	varQueue  = "CADRE_TASK_QUEUE"
	varToken  = "CADRE_TOKEN_FILE" //nolint:gosec // names a file
)

// The descriptors that bubblewrap is given.
const (
	filterFD = 3 + iota // the system calls that are refused
	infoFD              // it writes which process is the first inside
	blockFD             // it waits for a word before it runs the program
	aliveFD             // what runs inside holds it: its end is the end of all
	tokenFD             // where there is one
)

// system is what sandboxes see of this machine, where it is there.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt",
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/ssl/certs", "/etc/ca-certificates",
	"/etc/mime.types", "/etc/nsswitch.conf", "/etc/gitconfig",
}

// isolation is what every sandbox is kept by: namespaces of its own, no capability, and the
// system read-only.
func (d *Driver) isolation() []string {
	args := []string{
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup-try",
		"--die-with-parent", "--new-session", "--perms", "0755", "--dir", "/run", "--perms", "0755", "--dir", "/etc",
		"--cap-drop", "ALL",
	}
	if d.root { // the program inside becomes the user inside at once, and needs leave for that
		args = append(args, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP")
	} else {
		args = append(args, "--unshare-user", "--uid", strconv.Itoa(insideUser), "--gid", strconv.Itoa(insideGroup))
	}
	for _, path := range system {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if info.Mode()&os.ModeSymlink != 0 {
			if to, err := os.Readlink(path); err == nil && path != "/etc/localtime" {
				args = append(args, "--symlink", to, path)
				continue
			}
		}
		args = append(args, "--ro-bind", path, path)
	}
	return args
}

// arguments are bubblewrap's. No secret is among them: everybody on this machine sees them.
func (d *Driver) arguments(f folder, line string, token bool) []string {
	args := append(d.isolation(), "--hostname", f.name)
	for _, name := range []string{"passwd", "group", "hosts"} {
		args = append(args, "--ro-bind", f.etc()+"/"+name, "/etc/"+name)
	}
	if token {
		args = append(args, "--perms", "0444", "--ro-bind-data", strconv.Itoa(tokenFD), tokenInside)
	}
	return append(args,
		"--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", strconv.FormatInt(d.limits.Memory/2, 10), "--tmpfs", "/tmp",
		"--ro-bind", line, lineInside, "--ro-bind", d.hands, handsInside,
		"--bind", f.workspace(), rootInside, "--chdir", "/",
		"--seccomp", strconv.Itoa(filterFD), "--info-fd", strconv.Itoa(infoFD), "--block-fd", strconv.Itoa(blockFD), "--sync-fd", strconv.Itoa(aliveFD),
		"--", handsInside,
	)
}

// environment is all that the program inside gets.
func (d *Driver) environment(env sandbox.Env) []string {
	all := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "HOME=" + rootInside, "LANG=C.UTF-8", "TMPDIR=/tmp", "USER=agent",
		varSocket + "=" + lineInside + "/" + sandbox.SocketName, varRoot + "=" + rootInside, varQueue + "=" + env.Queue(),
	}
	if d.root {
		all = append(all, varUser+"="+strconv.Itoa(insideUser)+":"+strconv.Itoa(insideGroup))
	}
	if env.Token() != "" {
		all = append(all, varToken+"="+tokenInside)
	}
	return all
}
