// Package postgrestest gives tests a PostgreSQL server: the one that
// CADRE_TEST_DATABASE_URL names, else one that it starts from the installed
// binaries, as a user without privileges, on a free port of the loopback
// interface.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// EnvURL names a server whose user may create databases.
const EnvURL = "CADRE_TEST_DATABASE_URL"

// Cluster is a server. Make it with Start, or share one with Main and URL.
type Cluster struct {
	Dir  string // its data; "" of one that was given
	url  string
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
	cred *syscall.Credential
	log  string
}

var shared struct {
	sync.Once
	cluster *Cluster
	err     error
}

// Main runs a package's tests and ends the server that they shared.
func Main(m *testing.M) {
	m.Run() // its result is the process's
	if shared.cluster != nil {
		shared.cluster.Stop()
	}
}

// Shared is the server that the package's tests share; the package's TestMain must be
// Main. Without binaries the test is skipped, except where CI is set.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	shared.Do(func() { shared.cluster, shared.err = open() })
	if shared.err != nil {
		missing(t, shared.err)
	}
	return shared.cluster
}

func missing(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errNone) && os.Getenv("CI") == "" {
		t.Skipf("no PostgreSQL: %v", err)
	}
	t.Fatalf("PostgreSQL: %v", err)
}

func open() (*Cluster, error) {
	if given := os.Getenv(EnvURL); given != "" {
		return &Cluster{url: given}, nil
	}
	return start("", nil)
}

// Start makes a server of the test's own, with more settings of postgresql.conf. It is
// stopped at the test's end.
func Start(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	c, err := start("", settings)
	if err != nil {
		missing(t, err)
	}
	t.Cleanup(c.Stop)
	return c
}

// databases counts, so that each test has one of its own.
var databases struct {
	sync.Mutex
	n int
}

// URL makes an empty database and answers its address. It is dropped at the test's end.
func (c *Cluster) URL(t testing.TB, options ...string) string {
	t.Helper()
	databases.Lock()
	databases.n++
	name := fmt.Sprintf("cadre_%d_%d", os.Getpid(), databases.n)
	databases.Unlock()
	c.Admin(t, "CREATE DATABASE "+name+" "+strings.Join(options, " "))
	t.Cleanup(func() {
		// A test may have ended its server, and the database with it.
		_ = c.admin(context.Background(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	return c.Named(name)
}

// Named is the address of a database of this server.
func (c *Cluster) Named(name string) string {
	u, err := url.Parse(c.url)
	if err != nil {
		panic(err)
	}
	u.Path = "/" + name
	return u.String()
}

// Admin runs a statement as the server's owner.
func (c *Cluster) Admin(t testing.TB, statement string) {
	t.Helper()
	if err := c.admin(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Exec runs a statement on the database at an address.
func Exec(t testing.TB, address, statement string) {
	t.Helper()
	if err := (&Cluster{url: address}).admin(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func (c *Cluster) admin(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, c.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
	return err
}

var errNone = errors.New("initdb and postgres were not found: install the package postgresql, or set " + EnvURL)

// binaries is the folder of initdb and postgres.
func binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errNone
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}

func start(dir string, settings []string) (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	c := &Cluster{}
	if os.Geteuid() == 0 { // the server refuses to run as root
		if c.cred, err = unprivileged(); err != nil {
			return nil, err
		}
	}
	if c.Dir, err = os.MkdirTemp("", "cadre-postgres-"); err != nil {
		return nil, err
	}
	if c.cred != nil {
		if err := os.Chown(c.Dir, int(c.cred.Uid), int(c.cred.Gid)); err != nil {
			return nil, err
		}
	}
	c.log = filepath.Join(c.Dir, "log")
	if out, err := c.command(filepath.Join(bin, "initdb"), "-D", filepath.Join(c.Dir, "data"), "-U", "cadre", "-A", "trust", "-E", "UTF8", "--no-locale", "-N").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if err := c.guard(); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		if err = c.run(bin, settings); err == nil || try == 3 {
			return c, err
		}
	}
}

// Restart starts the server again after Kill or Stop, on the same port.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.serve(bin, c.cmd.Args[1:]); err != nil {
		t.Fatal(err)
	}
}

// Kill ends the server at once, as a power cut would.
func (c *Cluster) Kill(t testing.TB) {
	t.Helper()
	pids, _ := exec.Command("pgrep", "-P", strconv.Itoa(c.cmd.Process.Pid)).Output()
	_ = c.cmd.Process.Signal(syscall.SIGKILL)
	<-c.done
	for pid := range strings.FieldsSeq(string(pids)) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			continue
		}
		for syscall.Kill(n, syscall.SIGKILL) == nil && !dead(n) { // until it is gone with its shared memory
			runtime.Gosched()
		}
	}
	_ = os.Remove(filepath.Join(c.Dir, "data", "postmaster.pid"))
}

// Guarded is a user that needs a password, on servers that tests start.
const Guarded = "guarded"

// guard has the server ask one user for a password.
func (c *Cluster) guard() error {
	path := filepath.Join(c.Dir, "data", "pg_hba.conf")
	rest, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte("host all "+Guarded+" 127.0.0.1/32 scram-sha-256\n"), rest...), 0o600)
}

// Given tells whether the server was given and not started.
func (c *Cluster) Given() bool { return c.cmd == nil }

// dead tells whether a process has ended and nobody has asked how.
func dead(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// run starts the server on a free port.
func (c *Cluster) run(bin string, settings []string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return err
	}
	args := []string{"-D", filepath.Join(c.Dir, "data"), "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200"}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	c.url = fmt.Sprintf("postgres://cadre@127.0.0.1:%d/postgres", port)
	return c.serve(bin, args)
}

func (c *Cluster) serve(bin string, args []string) error {
	c.cmd = c.command(filepath.Join(bin, "postgres"), args...)
	out, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	c.cmd.Stdout, c.cmd.Stderr = out, out
	dieWithParent(c.cmd)
	c.done = make(chan struct{})
	started := make(chan error)
	go func() { // the thread that starts it must live as long as it does
		runtime.LockOSThread()
		defer close(c.done)
		err := c.cmd.Start()
		started <- err
		if err == nil {
			_ = c.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	return c.ready()
}

// ready waits until the server answers.
func (c *Cluster) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := c.admin(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			said, _ := os.ReadFile(c.log)
			return fmt.Errorf("the server did not start: %w\n%s", err, said)
		case <-tick.C:
		}
	}
}

// Stop ends the server and removes its data.
func (c *Cluster) Stop() {
	if c.cmd == nil {
		return
	}
	_ = c.cmd.Process.Signal(syscall.SIGINT) // fast shutdown
	<-c.done
	_ = os.RemoveAll(c.Dir)
}

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if c.cred != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.cred}
	}
	return cmd
}

// unprivileged is a user that may run the server.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("root cannot run the server, and there is no user postgres or nobody")
}
