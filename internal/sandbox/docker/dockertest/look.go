package dockertest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/moby/moby/client"
)

// Has answers what the engine has of a sandbox, its containers and its volumes, by name: all
// that it tells of each.
func (e *Engine) Has(t testing.TB, id string) map[string]string {
	t.Helper()
	ctx, told := context.Background(), map[string]string{}
	tell := func(name string, what any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		told[name] += string(text)
	}
	f := client.Filters{}.Add("label", "cadre.dev/sandbox-id="+id)
	containers, err := e.Client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: f})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers.Items {
		seen, err := e.Client.ContainerInspect(ctx, c.ID, client.ContainerInspectOptions{})
		tell("container "+c.Names[0], seen, err)
		if c.State == "running" {
			top, err := e.Client.ContainerTop(ctx, c.ID, client.ContainerTopOptions{})
			tell("container "+c.Names[0], top, err)
		}
	}
	volumes, err := e.Client.VolumeList(ctx, client.VolumeListOptions{Filters: f})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range volumes.Items {
		tell("volume "+v.Name, v, nil)
	}
	return told
}
