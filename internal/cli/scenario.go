package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	"github.com/cadre-dev/cadre/internal/agenttest"
	"github.com/cadre-dev/cadre/internal/schema"
)

// scenario is one test that was read, with what it refers to.
type scenario struct {
	file   string
	test   *agenttest.Test
	agent  *agentv1.Agent
	model  string // for requests; "" for the agent's own
	record string // file that the traffic is recorded to; "" records nothing
}

// loadScenarios reads all files. What is wrong in any of them is answered for all,
// so that nothing runs when a file is not sound.
func (c *app) loadScenarios(files []string, record bool) ([]*scenario, error) {
	var all []*scenario
	var faults problems
	recorders := map[string]string{} // files by the cassettes that they write
	for _, file := range files {
		s, found := c.loadScenario(file, record)
		if s != nil && len(found) == 0 && s.record != "" {
			if first := recorders[s.record]; first != "" {
				found = problems{{file: file, text: "it records to the same cassette as " + first + ": give it another one"}}
			}
			recorders[s.record] = file
		}
		faults = append(faults, found...)
		all = append(all, s)
	}
	if len(faults) > 0 {
		return nil, exitError{exitUsage, faults}
	}
	return all, nil
}

func (c *app) loadScenario(file string, record bool) (*scenario, problems) {
	data, err := c.readAll(file)
	if err != nil {
		return nil, problems{{file: file, text: reasonOf(err)}}
	}
	src := newSource(file, string(data))
	docs, broken := src.parse(string(data))
	if broken != nil {
		return nil, problems{*broken}
	}
	if len(docs) != 1 || len(docs[0].Content) != 1 {
		return nil, problems{{file: file, text: "a test is one document of YAML, and this file has another number of them"}}
	}
	budget := mostNodes
	root, ok := unaliased(docs[0].Content[0], &budget)
	if !ok {
		return nil, problems{src.at(root.Line, root.Column, "its aliases make more than %d values of it; write them out, or fewer", mostNodes)}
	}
	s := &scenario{file: file}
	if s.test, err = agenttest.Read(root); err != nil {
		var p *agenttest.Problem
		if errors.As(err, &p) {
			return nil, problems{src.at(p.Line, p.Column, "%s", p.Text)}
		}
		return nil, problems{{file: file, text: err.Error()}}
	}
	if found := c.loadAgent(s, src); len(found) > 0 {
		return nil, found
	}
	return s, s.settle(root, src, record)
}

// loadAgent reads the agent that a test names, or that stands in it.
func (c *app) loadAgent(s *scenario, src *source) problems {
	at := s.test.Agent.At
	var docs []*document
	var found problems
	if n := s.test.Agent.Inline; n != nil {
		d, wrong := src.decode(inlineAgent(n))
		if len(wrong) > 0 {
			return wrong
		}
		localize(d.message, s.file)
		docs = []*document{d}
	} else {
		path := s.path(s.test.Agent.File)
		if _, err := os.Stat(path); err != nil {
			return problems{src.at(at.Line, at.Column, "the agent's file %s: %s", path, reasonOf(err))}
		}
		if docs, found = c.readFile(path); len(found) > 0 {
			return found
		}
	}
	for _, d := range docs {
		if a, ok := d.message.(*agentv1.Agent); ok && s.agent == nil {
			s.agent = a
		} else if ok {
			return problems{src.at(at.Line, at.Column, "the file has more than one agent: name one that has a single one")}
		}
	}
	if s.agent == nil {
		return problems{src.at(at.Line, at.Column, "there is no agent in it")}
	}
	return nil
}

// inlineAgent makes a resource of a spec's fields. What is a whole resource already
// stays one.
func inlineAgent(n *yaml.Node) *yaml.Node {
	if _, kind := child(n, "kind"); kind != nil {
		return n
	}
	word := func(s string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Line: n.Line, Column: n.Column}
	}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column, Content: []*yaml.Node{
		word("apiVersion"), word("agentic.cadre.dev/v1"), word("kind"), word("Agent"),
		word("metadata"), {Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{word("slug"), word("inline")}, Line: n.Line, Column: n.Column},
		word("spec"), n,
	}}
}

// path is a path of the test's file, which is relative to it.
func (s *scenario) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(s.file), p)
}

// settle decides on the model and looks at what the test refers to.
func (s *scenario) settle(root *yaml.Node, src *source, record bool) problems {
	at := func(path, format string, args ...any) problems {
		n := spot(root, path)
		return problems{src.at(n.Line, n.Column, format, args...)}
	}
	s.model = absoluteModel(s.test.Model, filepath.Dir(s.file))
	if w := s.test.Workspace; w != nil && w.Copy != "" {
		if info, err := os.Stat(s.path(w.Copy)); err != nil || !info.IsDir() {
			return at("workspace.copy", "%s is no folder", s.path(w.Copy))
		}
	}
	for i, t := range s.test.Turns {
		for n, file := range t.Attach {
			if _, err := (&extraFlags{attach: []string{s.path(file)}}).check(); err != nil {
				return at(fmt.Sprintf("turns[%d].attach[%d]", i, n), "%s", strings.TrimPrefix(err.Error(), "--attach "))
			}
		}
		if _, err := schema.Parse(t.Schema); t.Schema != "" && err != nil {
			return at(fmt.Sprintf("turns[%d].schema", i), "%v", err)
		}
		if len(t.Expect.Files) > 0 && s.test.Workspace == nil {
			return at("turns", "files are expected, and the test has no workspace: give it one, `workspace: {}` for an empty folder")
		}
	}
	if s.test.Cassette == "" {
		return nil
	}
	path, err := filepath.Abs(s.path(s.test.Cassette))
	if err != nil {
		return at("cassette", "%s", reasonOf(err))
	}
	if !record {
		s.model = "replay:" + path
		if _, err := os.Stat(path); err != nil {
			return at("cassette", "there is no recording %s (%s): make one with `cadre test %s --record`", s.test.Cassette, reasonOf(err), s.file)
		}
		return nil
	}
	name := s.model
	if name == "" {
		name = s.agent.GetSpec().GetModel()
	}
	if name == "" || strings.HasPrefix(name, "scripted:") || strings.HasPrefix(name, "replay:") {
		return at("cassette", "%q is no model that can be recorded: name one in `model`, such as openai/gpt-5", name)
	}
	s.record = path
	return nil
}
