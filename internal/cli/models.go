package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	modelv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/model/v1"
)

func (c *app) modelsCommand() *cobra.Command {
	req := &modelv1.ListModelsRequest{}
	var wide bool
	cmd := &cobra.Command{
		Use: "models", Short: "Show which models can be named, with prices and abilities", Args: noArgs,
		Long: `Shows the catalogue: what is built in, with the day on which each price was
looked up, and what the server's own file (models.json in the data folder, or
$CADRE_MODELS) adds or replaces. Prices are in US dollars per million tokens; an
unknown price is shown as unknown. A model that is not listed can be used as well:
its price is unknown then.

✓ can be used now, - needs a key, * is used when no model is named.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.models.List(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return err
			}
			if c.output == "name" {
				for _, m := range res.Msg.GetModels() {
					c.printf("%s\n", m.GetName())
				}
				return nil
			}
			return c.show(res.Msg, func() { c.modelTable(res.Msg, wide) })
		},
	}
	cmd.Flags().StringVar(&req.Provider, "provider", "", "only models of this provider: openai, openai-chat, anthropic, gemini")
	_ = cmd.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions([]string{"openai", "openai-chat", "anthropic", "gemini"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&req.UsableOnly, "usable", false, "only models that can be used now")
	cmd.Flags().BoolVar(&wide, "wide", false, "also show where each price comes from, and what is missing")
	c.outputFlag(cmd)
	return cmd
}

func (c *app) modelTable(list *modelv1.ListModelsResponse, wide bool) {
	w := tabwriter.NewWriter(c.out, 0, 4, 3, ' ', 0)
	head := "\tMODEL\tWINDOW\tIN\tCACHED\tOUT\tCAN\tPRICE OF"
	if wide {
		head += "\tSOURCE\tNEEDS"
	}
	_, _ = fmt.Fprintln(w, head)
	for _, m := range list.GetModels() {
		cells := append([]string{modelMark(m, list.GetDefaultModel()), m.GetName(), size(m.GetContextWindow())}, prices(m.GetPrice())...)
		cells = append(cells, abilities(m.GetAbilities()), orDash(m.GetPrice().GetAsOf()))
		if wide {
			cells = append(cells, orDash(m.GetPrice().GetSource()), orDash(oneLine(m.GetNeeds(), 80)))
		}
		_, _ = fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush()
	if d := list.GetDefaultModel(); d != "" {
		c.note("without a model's name %s is used", d)
	} else {
		c.note("no model is used by default: set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY for the server, or name a model")
	}
}

func modelMark(m *modelv1.Model, byDefault string) string {
	switch {
	case m.GetName() == byDefault:
		return "*"
	case m.GetUsable():
		return "✓"
	}
	return "-"
}

// prices are the cells of a price. Longer requests may cost more, which `+` marks.
func prices(p *modelv1.ModelPrice) []string {
	if p == nil {
		return []string{"unknown", "unknown", "unknown"}
	}
	mark := ""
	if p.GetLong() != nil {
		mark = "+"
	}
	return []string{dollarsPerMillion(p.GetInput()) + mark, dollarsPerMillion(p.GetCachedInput()) + mark, dollarsPerMillion(p.GetOutput()) + mark}
}

func dollarsPerMillion(v float64) string {
	if v == 0 {
		return "free"
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
}

func abilities(a *modelv1.ModelAbilities) string {
	var all []string
	for _, one := range []struct {
		has  bool
		name string
	}{{a.GetTools(), "tools"}, {a.GetImages(), "images"}, {a.GetStructuredOutput(), "schema"}, {a.GetReasoning(), "thinking"}} {
		if one.has {
			all = append(all, one.name)
		}
	}
	return orDash(strings.Join(all, ","))
}

// size writes a number of tokens: 200k, 1M.
func size(n int64) string {
	switch {
	case n == 0:
		return "unknown"
	case n >= 1_000_000:
		return strings.TrimSuffix(fmt.Sprintf("%.2f", float64(n)/1e6), ".00") + "M"
	case n >= 1000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
