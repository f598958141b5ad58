// Package config knows where a server and its clients meet: the data folder,
// its lock, the file that says where the server listens, and the installation's
// own key. Drivers keep their configuration themselves.
package config

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Environment variables and their defaults.
const (
	EnvData       = "CADRE_DATA"   // the data folder; default ~/.cadre
	EnvListen     = "CADRE_LISTEN" // the server's address; default DefaultListen
	EnvServer     = "CADRE_SERVER" // the address that clients call
	DefaultListen = "127.0.0.1:7234"
)

// DataDir is the data folder: the flag's value, CADRE_DATA, or ~/.cadre. The
// answer is absolute; the folder need not exist.
func DataDir(flag string) (string, error) {
	dir := firstOf(flag, os.Getenv(EnvData))
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fault.New(fault.FailedPrecondition, "NO_HOME", "there is no home folder: name a data folder with --data or %s", EnvData).Because(err)
		}
		dir = filepath.Join(home, ".cadre")
	}
	return filepath.Abs(dir)
}

// Prepare creates the data folder, readable by its owner alone, and proves that
// it can be written.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return dataFault(dir, err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return dataFault(dir, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func dataFault(dir string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.New(fault.FailedPrecondition, "DISK_FULL",
			"the data folder %s cannot be written (%s); free some space, or name another with --data", dir, reason(err)).Because(err)
	}
	return fault.New(fault.FailedPrecondition, "DATA_FOLDER_UNUSABLE",
		"the data folder %s cannot be written (%s); make it writable for this user, or name another with --data", dir, reason(err)).Because(err)
}

// reason is the system's own word for an error, without the path.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// Listen is the server's address: the flag's value, CADRE_LISTEN or the
// default. Any address but loopback is refused, since nothing but the operator's
// token guards the server yet.
func Listen(flag string) (string, error) {
	addr := firstOf(flag, os.Getenv(EnvListen), DefaultListen)
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", fault.New(fault.InvalidArgument, "BAD_ADDRESS", "%q is no address to listen on: write host:port, such as %s or :0", addr, DefaultListen)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if host != "localhost" {
		ip := net.ParseIP(host)
		if ip == nil || !ip.IsLoopback() {
			return "", fault.New(fault.FailedPrecondition, "ADDRESS_NOT_LOOPBACK",
				"cadre listens on loopback only, and %s is not: use 127.0.0.1, [::1] or localhost, and reach it from elsewhere through a tunnel", host)
		}
	}
	return net.JoinHostPort(host, port), nil
}

// ServerFile says where the server of a data folder is.
type ServerFile struct {
	URL       string    `json:"url"`
	PID       int       `json:"pid"`
	BootID    string    `json:"bootId"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"startedAt"`
	Store     string    `json:"store,omitempty"` // the database's driver
	Place     string    `json:"place,omitempty"` // where the database is; "" of one in the data folder
}

// ServerFileName is the server file below the data folder.
const ServerFileName = "server.json"

// WriteServer replaces the data folder's server.json.
func WriteServer(dir string, s ServerFile) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return Replace(filepath.Join(dir, ServerFileName), append(data, '\n'))
}

// Replace writes a small file of the data folder, whole or not at all, that only its owner
// can read. Two processes must not write one file at once.
func Replace(path string, data []byte) error {
	dir, name := filepath.Split(path)
	tmp := filepath.Join(dir, "."+name+".tmp")
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return dataFault(filepath.Clean(dir), err)
	}
	return os.Rename(tmp, path)
}

// ReadServer reads it; fs.ErrNotExist when no server ran or the last one ended well.
func ReadServer(dir string) (ServerFile, error) {
	var s ServerFile
	data, err := os.ReadFile(filepath.Join(dir, ServerFileName))
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s: %w", filepath.Join(dir, ServerFileName), err)
	}
	return s, nil
}

// RemoveServer removes it, when it is the one of this boot.
func RemoveServer(dir, bootID string) error {
	s, err := ReadServer(dir)
	if err != nil || s.BootID != bootID {
		return nil
	}
	return os.Remove(filepath.Join(dir, ServerFileName))
}

// Key reads a key of this installation, 32 random bytes in a file that only its
// owner can read, and makes it on first use.
func Key(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, name)
	key, err := os.ReadFile(path)
	if err == nil && len(key) == 32 {
		return key, nil
	}
	if err == nil {
		return nil, fault.New(fault.FailedPrecondition, "KEY_DAMAGED", "the key file %s is damaged: restore it from a backup, or remove it", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, dataFault(dir, err)
	}
	key = make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, dataFault(dir, err)
	}
	_, werr := f.Write(key)
	return key, errors.Join(werr, f.Sync(), f.Close())
}

// TokenFile is the operator's token below the data folder. Who can read it is
// the operator.
const TokenFile = "operator.token"

// TokenPrefix tells operator tokens from all others.
const TokenPrefix = "cdr_op_"

// ReadToken answers the operator's token of a data folder. fs.ErrNotExist when
// there is none yet.
func ReadToken(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, TokenFile))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if !strings.HasPrefix(token, TokenPrefix) {
		return "", errors.New("it holds no operator token")
	}
	return token, nil
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w = strings.TrimSpace(w); w != "" {
			return w
		}
	}
	return ""
}

// DigestKey is the file of the key that bodies are digested with.
const DigestKey = "digest.key"

// RunTokenKey is the file of the key that the tokens of runs are signed with.
const RunTokenKey = "runtoken.key"

// KeyFiles are the secrets of an installation below its data folder. No backup holds
// them.
var KeyFiles = []string{DigestKey, TokenFile, RunTokenKey}

// Fingerprint tells a key file from others without telling the key; "" when there is
// none.
func Fingerprint(dir, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", dataFault(dir, err)
	}
	sum := sha256.Sum256(append([]byte("fingerprint of "+name+"\n"), data...))
	return hex.EncodeToString(sum[:8]), nil
}
