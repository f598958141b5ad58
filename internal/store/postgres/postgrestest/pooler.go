package postgrestest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Pooler starts a pooler in transaction mode before the server and answers what makes an
// address of the server one behind it. It ends with the test.
func (c *Cluster) Pooler(t testing.TB) func(address string) string {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		if path = "/usr/sbin/pgbouncer"; !executable(path) {
			if os.Getenv("CI") == "" {
				t.Skip("no pooler: pgbouncer was not found")
			}
			t.Fatal("pgbouncer was not found: install the package of that name")
		}
	}
	behind, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd, err := c.pool(path, port, behind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	})
	host := fmt.Sprintf("127.0.0.1:%d", port)
	wait(t, host)
	return func(address string) string { return strings.Replace(address, behind.Host, host, 1) }
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0
}

func (c *Cluster) pool(binary string, port int, behind *url.URL) (*exec.Cmd, error) {
	dir, err := os.MkdirTemp(c.Dir, "pooler-")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
* = host=%s port=%s user=cadre
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 8
max_client_conn = 500
`, behind.Hostname(), behind.Port(), port)
	// The user of the server must be able to read it.
	if err := errors.Join(os.WriteFile(config, []byte(text), 0o644), os.Chmod(dir, 0o755)); err != nil {
		return nil, err
	}
	cmd := c.command(binary, "-q", config)
	return cmd, cmd.Start()
}

// wait returns when something listens.
func wait(t testing.TB, host string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		conn, err := net.DialTimeout("tcp", host, time.Second)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-t.Context().Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatalf("nothing listens at %s", host)
}
