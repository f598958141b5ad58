package localprocess

import "golang.org/x/sys/unix"

// refusedHere are calls that only this processor has.
var refusedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS_USELIB}
