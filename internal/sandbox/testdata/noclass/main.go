// Command noclass leaves the caller's class out, and must not compile.
package main

import "github.com/cadre-dev/cadre/internal/sandbox"

func main() { _ = sandbox.NewEnv("session:s", "token") }
