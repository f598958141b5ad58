package cli

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	usagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/usage/v1"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/near"
)

// groupings are what --by takes.
var groupings = []string{"agent", "session", "execution", "model", "day", "org"}

func (c *app) usageCommand() *cobra.Command {
	req := &usagev1.SummarizeUsageRequest{}
	var by, since, until string
	cmd := &cobra.Command{
		Use: "usage [AGENT|SESSION|EXECUTION]", Short: "Show tokens and cost, by agent, session, model or day", Args: cobra.MaximumNArgs(1),
		Long: `Adds up the model requests of an organization, or of one agent, session or turn.
Each request counts once, at the price that was known when its answer came. A
request whose price is unknown is counted and never taken for free; one without an
answer counts at the most that it can cost, and is marked estimated.`,
		Example: `  cadre usage                         by agent, from the beginning
  cadre usage --since 7d --by day
  cadre usage --by model --org '*'
  cadre usage ses_01… --by execution`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := usageRequest(req, args, by, since, until, time.Now()); err != nil {
				return err
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.usage.Summarize(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return err
			}
			if c.output == "name" {
				for _, g := range res.Msg.GetGroups() {
					c.printf("%s\n", g.GetKey())
				}
				return nil
			}
			return c.show(res.Msg, func() { c.usageTable(res.Msg, by) })
		},
	}
	cmd.Flags().StringVar(&by, "by", "agent", "what to add up over: "+strings.Join(groupings, ", "))
	cmd.Flags().StringVar(&since, "since", "", "from when: 24h, 7d, a day or a time such as 2026-11-30T12:00:00Z")
	cmd.Flags().StringVar(&until, "until", "", "until when, in the same forms")
	cmd.Flags().StringVar(&req.Org, "org", "", "organization; * for all (default: default)")
	cmd.Flags().Int32Var(&req.Limit, "limit", 0, "show at most this many (default: 100)")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(groupings, cobra.ShellCompDirectiveNoFileComp))
	c.outputFlag(cmd)
	return cmd
}

// usageRequest reads the arguments.
func usageRequest(req *usagev1.SummarizeUsageRequest, args []string, by, since, until string, now time.Time) error {
	word := by
	if word == "org" {
		word = "organization"
	}
	n, ok := usagev1.GroupBy_value[word]
	if !ok || n == 0 {
		return usage("--by %s is not known; write %s.%s", by, near.List(groupings), near.Hint(by, groupings))
	}
	req.By = usagev1.GroupBy(n)
	if req.GetLimit() < 0 || req.GetLimit() > 1000 {
		return usage("--limit %d cannot be: write a number from 1 to 1000", req.GetLimit())
	}
	var err error
	if req.Since, err = moment("--since", since, now); err != nil {
		return err
	}
	if req.Until, err = moment("--until", until, now); err != nil {
		return err
	}
	if len(args) == 1 {
		switch id.Prefix(args[0]) {
		case "ses":
			req.SessionId = args[0]
		case "aex":
			req.ExecutionId = args[0]
		default:
			req.Agent = args[0]
		}
	}
	return nil
}

// moment reads a time: how long ago, a day, or a moment. "" is none.
func moment(flag, s string, now time.Time) (*timestamppb.Timestamp, error) {
	if s == "" {
		return nil, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return timestamppb.New(now.Add(-time.Duration(n) * 24 * time.Hour)), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return timestamppb.New(now.Add(-d)), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return timestamppb.New(t), nil
		}
	}
	return nil, usage("%s %s is no time: write how long ago (24h, 7d), a day (2026-11-30) or a moment (2026-11-30T12:00:00Z)", flag, s)
}

func (c *app) usageTable(res *usagev1.SummarizeUsageResponse, by string) {
	if len(res.GetGroups()) == 0 {
		c.note("no model requests")
		return
	}
	w := tabwriter.NewWriter(c.out, 0, 4, 3, ' ', tabwriter.AlignRight)
	row := func(g *usagev1.UsageGroup, key string) {
		u := g.GetUsage()
		_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%s\t   %s\n", g.GetModelCalls(), u.GetInputTokens(), u.GetCachedInputTokens(), u.GetOutputTokens(), costWords(u), key)
	}
	_, _ = fmt.Fprintf(w, "CALLS\tIN\tCACHED\tOUT\tCOST\t   %s\n", strings.ToUpper(by))
	for _, g := range res.GetGroups() {
		row(g, g.GetKey())
	}
	if len(res.GetGroups()) > 1 || res.GetTruncated() {
		row(res.GetTotal(), "total")
	}
	_ = w.Flush()
	if res.GetTruncated() {
		c.note("there are more: the total counts them all, and --limit shows more")
	}
	if n := res.GetTotal().GetUsage().GetUnpricedCalls(); n > 0 {
		c.note("the price of %s is unknown and not in the cost; tell it in the server's models.json", count(int(n), "model request"))
	}
	if res.GetTotal().GetUsage().GetEstimated() {
		c.note("partly estimated: of some requests no answer told what they used")
	}
}

// costWords is what requests cost, for people.
func costWords(u *messagev1.Usage) string {
	known := dollars(u.GetCostNanoUsd())
	switch {
	case u.GetUnpricedCalls() == 0:
		return known
	case u.GetCostNanoUsd() == 0:
		return "unknown"
	}
	return known + " + unknown"
}

// dollars writes billionths of a dollar with as many places as small sums need.
func dollars(nano int64) string {
	switch v := float64(nano) / 1e9; {
	case nano == 0:
		return "$0"
	case v < 0.01:
		return fmt.Sprintf("$%.6f", v)
	case v < 1:
		return fmt.Sprintf("$%.4f", v)
	default:
		return fmt.Sprintf("$%.2f", v)
	}
}
