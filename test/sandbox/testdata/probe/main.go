// Command probe asks the kernel for one thing that a sandbox must not be given: its first
// argument names it. It prints GIVEN, or the refusal.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// asks are the system calls.
var asks = map[string]func(args []string) error{
	"chroot":     func([]string) error { return syscall.Chroot("/tmp") },
	"mount":      func([]string) error { return syscall.Mount("tmpfs", "/tmp", "tmpfs", 0, "") },
	"bind":       func([]string) error { return syscall.Mount("/proc", "/tmp", "", syscall.MS_BIND, "") },
	"remount":    func([]string) error { return syscall.Mount("", "/", "", syscall.MS_REMOUNT, "") },
	"unmount":    func([]string) error { return syscall.Unmount("/proc", syscall.MNT_DETACH) },
	"pivot_root": func([]string) error { return syscall.PivotRoot("/tmp", "/tmp") },
	"userns":     func([]string) error { return syscall.Unshare(syscall.CLONE_NEWUSER) },
	"mountns":    func([]string) error { return syscall.Unshare(syscall.CLONE_NEWNS) },
	"pidns":      func([]string) error { return syscall.Unshare(syscall.CLONE_NEWPID) },
	"netns":      func([]string) error { return syscall.Unshare(syscall.CLONE_NEWNET) },
	"setuid":     func([]string) error { return syscall.Setuid(0) },
	"setgid":     func([]string) error { return syscall.Setgid(0) },
	"setgroups":  func([]string) error { return syscall.Setgroups([]int{0}) },
	"hostname":   func([]string) error { return syscall.Sethostname([]byte("mine")) },
	"reboot":     func([]string) error { return syscall.Reboot(syscall.LINUX_REBOOT_CMD_CAD_OFF) },
	"mknod":      func([]string) error { return syscall.Mknod("/tmp/disk", syscall.S_IFBLK|0o666, 254<<8) },
	"settime":    func([]string) error { return syscall.Settimeofday(&syscall.Timeval{Sec: time.Now().Unix()}) },
	"klog":       func([]string) error { _, err := syscall.Klogctl(3, make([]byte, 100)); return err },
	"ptrace": func(args []string) error {
		pid, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		return syscall.PtraceAttach(pid)
	},
	"raw": func([]string) error {
		_, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_RAW, syscall.IPPROTO_ICMP)
		return err
	},
	"packet": func([]string) error {
		_, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW, 0)
		return err
	},
	"bpf":          call(321, 0, 0, 0),          // BPF_MAP_CREATE
	"keyctl":       call(250, 0, 0xfffffffd, 1), // KEYCTL_GET_KEYRING_ID of the session
	"add_key":      call(248, 0, 0, 0),
	"perf":         call(298, 0, 0, 0),
	"userfaultfd":  call(323, 0, 0, 0),
	"init_module":  call(175, 0, 0, 0),
	"finit_module": call(313, 0, 0, 0),
	"kexec":        call(246, 0, 0, 0),
	"swapon":       call(167, 0, 0, 0),
	"acct":         call(163, 0, 0, 0),
	"open_handle":  call(304, ^uintptr(0), 0, 0),
	"iopl":         call(172, 3, 0, 0),
	"quotactl":     call(179, 0, 0, 0),
	"move_mount":   call(429, 0, 0, 0),
	"fsopen":       call(430, 0, 0, 0),
	"setns":        func([]string) error { return setns("/proc/1/ns/mnt") },
	"dial":         dial,
	"abstract":     func(args []string) error { return dial([]string{"unix", "@" + args[0]}) },
	"tiocsti":      tiocsti,
	"nice":         func([]string) error { return syscall.Setpriority(syscall.PRIO_PROCESS, 0, -10) },
	"rlimit_raise": func([]string) error { return raise() },
}

// call asks with numbers of amd64. An answer that the arguments are wrong would mean that
// the caller may ask.
func call(number, a, b, c uintptr) func([]string) error {
	return func([]string) error {
		_, _, errno := syscall.Syscall6(number, a, b, c, 0, 0, 0)
		switch errno {
		case syscall.EPERM, syscall.EACCES, syscall.ENOSYS:
			return errno
		case 0:
			return nil
		}
		fmt.Println("it may ask:", errno)
		return nil
	}
}

func setns(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall(308, f.Fd(), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func dial(args []string) error {
	c, err := net.DialTimeout(args[0], args[1], 3*time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err
}

func tiocsti([]string) error {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	b := byte('x')
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCSTI, uintptr(unsafe.Pointer(&b)))
	if errno != 0 {
		return errno
	}
	return nil
}

// raise lifts the bound on the size of files.
func raise() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		return err
	}
	l.Max *= 2
	l.Cur = l.Max
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
}

func main() {
	ask, known := asks[os.Args[1]]
	if !known {
		fmt.Println("UNKNOWN", os.Args[1])
		return
	}
	if err := ask(os.Args[2:]); err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println("GIVEN")
}
