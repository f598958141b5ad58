package localprocess

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// What a filter sees of a call (struct seccomp_data), and what it answers; see seccomp(2).
const (
	seesNumber = 0
	seesArch   = 4
	seesArgs   = 16 // eight bytes each, the low half first on the processors that there are

	allow   = 0x7fff0000
	refuse  = 0x00050000 | uint32(unix.EPERM)
	unknown = 0x00050000 | uint32(unix.ENOSYS) // libraries then use the older call
)

// arches are the kernel's names of processors (AUDIT_ARCH).
var arches = map[string]uint32{"amd64": 0xc000003e, "arm64": 0xc00000b7}

// refused are calls that no tool of an agent needs: they change what the kernel keeps for all,
// look into other processes, or are where kernels had their faults.
var refused = append([]uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
	unix.SYS_SYSLOG, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_VHANGUP, unix.SYS_MBIND, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_SET_MEMPOLICY,
}, refusedHere...)

// Terminal controls that put words into another's input.
const (
	tiocsti   = 0x5412
	tioclinux = 0x541c
)

// filterOf is the program that the kernel asks about each call, as bubblewrap reads it.
func filterOf(arch string) ([]byte, error) {
	name, known := arches[arch]
	if !known {
		return nil, sandbox.ErrUnusable.Saying("%s=%s knows no system calls of %s: choose docker", sandbox.EnvProvisioner, Name, arch)
	}
	answer := func(with uint32) bpf.Instruction { return bpf.RetConstant{Val: with} }
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: seesArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: name, SkipTrue: 1}, answer(refuse),
		bpf.LoadAbsolute{Off: seesNumber, Size: 4},
	}
	if arch == "amd64" { // the calls of its 32-bit relative have numbers of their own
		program = append(program, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 0x40000000, SkipTrue: 1}, answer(refuse))
	}
	for _, number := range refused {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1}, answer(refuse))
	}
	program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1}, answer(unknown))
	for _, c := range []struct {
		number uint32
		arg    uint32
		test   bpf.JumpTest
		value  uint32
	}{
		{unix.SYS_CLONE, 0, bpf.JumpBitsNotSet, unix.CLONE_NEWUSER},
		{unix.SYS_UNSHARE, 0, bpf.JumpBitsNotSet, unix.CLONE_NEWUSER},
		{unix.SYS_IOCTL, 1, bpf.JumpNotEqual, tiocsti},
		{unix.SYS_IOCTL, 1, bpf.JumpNotEqual, tioclinux},
		{unix.SYS_SOCKET, 0, bpf.JumpNotEqual, unix.AF_VSOCK}, // no network namespace holds these
		{unix.SYS_SOCKET, 0, bpf.JumpNotEqual, unix.AF_PACKET},
	} {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.number, SkipTrue: 4},
			bpf.LoadAbsolute{Off: seesArgs + 8*c.arg, Size: 4},
			bpf.JumpIf{Cond: c.test, Val: c.value, SkipTrue: 1}, answer(refuse),
			bpf.LoadAbsolute{Off: seesNumber, Size: 4})
	}
	raw, err := bpf.Assemble(append(program, answer(allow)))
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, i := range raw {
		out = binary.NativeEndian.AppendUint16(out, i.Op)
		out = append(out, i.Jt, i.Jf)
		out = binary.NativeEndian.AppendUint32(out, i.K)
	}
	return out, nil
}
