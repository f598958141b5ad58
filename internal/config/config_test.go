package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/fault"
)

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	for in, want := range map[string]string{
		"":                config.DefaultListen,
		":0":              "127.0.0.1:0",
		"127.0.0.1:1":     "127.0.0.1:1",
		"[::1]:9":         "[::1]:9",
		"localhost:9":     "localhost:9",
		"0.0.0.0:7234":    "",
		"10.0.0.1:7234":   "",
		"[::]:7234":       "",
		"example.com:80":  "",
		"7234":            "",
		"127.0.0.1:http":  "",
		"127.0.0.1:":      "",
		"127.0.0.1:-1":    "",
		"127.0.0.1:7e4":   "",
		"127.0.0.1:70000": "",
	} {
		t.Setenv(config.EnvListen, "")
		got, err := config.Listen(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q gave %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestALockedFolderNamesItsHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if pid := config.Holder(dir); pid != 0 {
		t.Fatalf("a free folder is held by %d", pid)
	}
	lock, err := config.Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	if pid := config.Holder(dir); pid != os.Getpid() {
		t.Errorf("the folder is held by %d, want %d", pid, os.Getpid())
	}
	_, err = config.Acquire(dir)
	if fault.ReasonOf(err) != "DATA_FOLDER_HELD" || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second server got %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := config.Acquire(dir)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestAskingForTheHolderKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := config.Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for range 2000 {
			config.Holder(dir)
		}
	}()
	for range 50 {
		lock, err := config.Acquire(dir)
		if err != nil {
			t.Errorf("the folder is free: %v", err)
			break
		}
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	}
	<-asked
}

func TestAKeyIsMadeOnceAndDamageIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := config.Key(dir, "k")
	if err != nil || len(first) != 32 {
		t.Fatalf("got %d bytes, %v", len(first), err)
	}
	second, err := config.Key(dir, "k")
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("the key changed: %v", err)
	}
	if info, _ := os.Stat(filepath.Join(dir, "k")); info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode is %o", info.Mode().Perm())
	}
	if err := os.WriteFile(filepath.Join(dir, "k"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Key(dir, "k"); fault.ReasonOf(err) != "KEY_DAMAGED" {
		t.Errorf("a damaged key gave %v", err)
	}
}

func TestAFolderThatCannotBeWrittenSaysSo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		err := config.Prepare(dir)
		if fault.ReasonOf(err) != "DATA_FOLDER_UNUSABLE" || !strings.Contains(err.Error(), "--data") {
			t.Errorf("%s gave %v", dir, err)
		}
	}
}

func TestServerFileIsRemovedByItsOwnBootOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := config.WriteServer(dir, config.ServerFile{URL: "http://x", BootID: "b1"}); err != nil {
		t.Fatal(err)
	}
	if err := config.RemoveServer(dir, "b2"); err != nil {
		t.Fatal(err)
	}
	if s, err := config.ReadServer(dir); err != nil || s.URL != "http://x" {
		t.Fatalf("another boot removed the file: %v, %v", s, err)
	}
	if err := config.RemoveServer(dir, "b1"); err != nil {
		t.Fatal(err)
	}
	if _, err := config.ReadServer(dir); err == nil {
		t.Fatal("the file is still there")
	}
}
