// Command cadre is the server, the agent runtime and the command line of Cadre.
package main

import (
	"os"

	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/cli"
)

// version is set by the build.
var version = "dev"

func main() {
	os.Exit(cli.Main(app.CommandLine(version), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
