// Package failpoint names places where a test may end, stop or delay the process,
// so that a crash can be played at every instant that matters and not at random
// ones only. A place is a line such as failpoint.Hit("publish.before").
//
// Without the build tag `failpoint` every function here is empty, is inlined and
// costs nothing; nothing is read from the environment. With the tag, on Unix:
//
//   - CADRE_FAILPOINTS says what happens where: `name=kill@3` kills the process at
//     the third hit of the place, `name=stop@1` stops it as SIGSTOP does,
//     `name=delay:200ms` delays every hit and `name=delay:200ms@2` the second one,
//     `name=error@2` lets Err give an error. Several are separated by `;`.
//   - CADRE_FAILPOINTS_LOG names a file that gets a line `name n` for every hit,
//     in the order of the hits and before anything is done about it.
//   - CADRE_CLOCK_OFFSET_FILE names a file with a Go duration that Now adds.
//
// A value that cannot be understood ends the process with a sentence and exit code
// 2 at the first use. Counts begin with the process.
//
// It promises nothing about speed with the tag. A binary with the tag is for tests
// and is never released.
package failpoint
