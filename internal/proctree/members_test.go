package proctree

import (
	"slices"
	"syscall"
	"testing"
)

// fixed is a table that does not change.
type fixed struct {
	system
	rows   []process
	marks  map[int]string
	spaces map[int]string
}

func (f fixed) table() ([]process, error)       { return f.rows, nil }
func (f fixed) marker(pid int) string           { return f.marks[pid] }
func (f fixed) namespace(pid int) string        { return f.spaces[pid] }
func (f fixed) signal(identity, syscall.Signal) {}

// TestFindTakesMembersOnly on made-up tables. The tree began with process 100 at
// time 50.
func TestFindTakesMembersOnly(t *testing.T) {
	t.Parallel()
	root := identity{100, 50}
	mine := func(m string) bool { return m == "mine" }
	row := func(pid, ppid, session int, start int64) process {
		return process{pid: pid, ppid: ppid, session: session, group: session, start: start}
	}
	dead := func(p process) process { p.zombie = true; return p }
	for _, c := range []struct {
		name string
		s    search
		sys  fixed
		want []int
	}{
		{"the root, its session and its children", search{root: root, session: 100, since: 50},
			fixed{rows: []process{row(100, 1, 100, 50), row(101, 1, 100, 51), row(102, 100, 102, 52), row(103, 102, 103, 53), row(200, 1, 200, 60)}},
			[]int{100, 101, 102, 103}},
		{"the session after its root", search{root: root, session: 100, since: 50},
			fixed{rows: []process{row(101, 1, 100, 51)}}, []int{101}},
		{"not the session when its number was given away", search{root: root, session: 100, since: 50},
			fixed{rows: []process{row(100, 1, 100, 70), row(101, 100, 100, 71)}}, nil},
		{"not a recorded session without its root", search{root: root, since: 50},
			fixed{rows: []process{row(101, 1, 100, 51)}}, nil},
		{"the session of somebody marked", search{root: root, since: 50, marked: mine},
			fixed{rows: []process{row(101, 1, 100, 51), row(102, 1, 100, 52), row(200, 1, 200, 60)}, marks: map[int]string{101: "mine", 200: "another"}},
			[]int{101, 102}},
		{"nobody older than the root", search{root: root, session: 100, since: 50, marked: mine},
			fixed{rows: []process{row(100, 1, 100, 50), row(90, 1, 90, 40)}, marks: map[int]string{90: "mine"}}, []int{100}},
		{"the namespace and what is nested in it", search{root: root, space: "ns", since: 50},
			fixed{rows: []process{row(100, 1, 100, 50), row(105, 1, 105, 51), row(106, 105, 106, 52), row(200, 1, 200, 60)}, spaces: map[int]string{100: "ns", 105: "ns", 106: "inner"}},
			[]int{100, 105, 106}},
		{"not a namespace whose root is gone", search{root: root, space: "ns", since: 50},
			fixed{rows: []process{row(100, 1, 100, 70), row(105, 1, 105, 71)}, spaces: map[int]string{100: "ns", 105: "ns"}}, nil},
		{"no zombies, but their children", search{root: root, session: 100, since: 50},
			fixed{rows: []process{dead(row(100, 1, 100, 50)), row(101, 100, 101, 51)}}, []int{101}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found, err := c.s.find(&watcher{sys: c.sys})
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, p := range found {
				got = append(got, p.pid)
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestFindRemembers: who was seen as a member stays one, wherever it goes.
func TestFindRemembers(t *testing.T) {
	t.Parallel()
	s := search{root: identity{100, 50}, session: 100, since: 50, memory: &memory{}}
	child := process{pid: 101, ppid: 100, session: 100, start: 51}
	if got, _ := s.find(&watcher{sys: fixed{rows: []process{{pid: 100, ppid: 1, session: 100, start: 50}, child}}}); len(got) != 2 {
		t.Fatalf("got %v, want two", got)
	}
	child.ppid, child.session = 1, 101
	if got, _ := s.find(&watcher{sys: fixed{rows: []process{child}}}); len(got) != 1 {
		t.Errorf("got %v, want the child that left", got)
	}
	child.start = 99
	if got, _ := s.find(&watcher{sys: fixed{rows: []process{child}}}); len(got) != 0 {
		t.Errorf("got %v, want nobody: the pid is another's", got)
	}
}
