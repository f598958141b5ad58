package cli

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	budgetv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/budget/v1"
	"github.com/cadre-dev/cadre/internal/near"
)

// What a budget's arguments and flags take.
var (
	budgetScopes  = []string{"org", "agent", "session", "execution", "member"}
	budgetPeriods = []string{"day", "week", "month"}
)

// budgetFlags name a budget.
type budgetFlags struct{ org, period string }

func (f *budgetFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.org, "org", "", "organization that the budget belongs to (default: default)")
	cmd.Flags().StringVar(&f.period, "period", "", "when it begins anew, in UTC: day, week or month (default: never)")
	_ = cmd.RegisterFlagCompletionFunc("period", cobra.FixedCompletions(budgetPeriods, cobra.ShellCompDirectiveNoFileComp))
}

// budget reads the arguments.
func (f *budgetFlags) budget(args []string) (*budgetv1.Budget, error) {
	b := &budgetv1.Budget{Org: f.org}
	word := args[0]
	if word == "org" {
		word = "organization"
	}
	b.Scope = budgetv1.BudgetScope(budgetv1.BudgetScope_value[word])
	if b.GetScope() == 0 {
		return nil, usage("%s cannot have a budget; write %s.%s", args[0], near.List(budgetScopes), near.Hint(args[0], budgetScopes))
	}
	if f.period != "" {
		b.Period = budgetv1.BudgetPeriod(budgetv1.BudgetPeriod_value[f.period])
		if b.GetPeriod() == 0 {
			return nil, usage("--period %s is not known; write %s.%s", f.period, near.List(budgetPeriods), near.Hint(f.period, budgetPeriods))
		}
	}
	if len(args) == 2 {
		b.Subject = args[1]
	}
	switch {
	case b.GetScope() != budgetv1.BudgetScope_organization && b.GetSubject() == "":
		return nil, usage("say whose budget it is: %s NAME", args[0])
	case b.GetScope() == budgetv1.BudgetScope_organization && b.GetOrg() == "":
		b.Org = b.GetSubject()
	}
	return b, nil
}

func (c *app) budgetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "budget", Short: "Bound what an organization, an agent, a session or a member may use", Args: noArgs,
		Long: `A budget bounds the tokens or the cost of model requests. Before each request of a
turn all budgets that it falls under are looked at; when one has no room, the turn is
cut short (exit code 5) and the session rests. A request is let go while less than the
bound is used, so that the last one may pass it; what a request under way can use at
most counts as used. A turn that finds a budget full of requests under way waits for them.

A model whose price is unknown is refused under a budget that bounds the cost alone.`,
	}
	cmd.AddCommand(c.budgetSetCommand(), c.budgetGetCommand(), c.budgetListCommand(), c.budgetDeleteCommand())
	return cmd
}

// budgetArgs are a scope and whose budget it is.
func budgetArgs(cmd *cobra.Command, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return usage("%s takes a scope (%s) and whose budget it is; see `%s --help`", cmd.CommandPath(), near.List(budgetScopes), cmd.CommandPath())
	}
	return nil
}

func (c *app) budgetSetCommand() *cobra.Command {
	var f budgetFlags
	var tokens int64
	var usd float64
	var thresholds []int32
	cmd := &cobra.Command{
		Use: "set SCOPE [NAME]", Short: "Set a budget, or put it in place of the one before", Args: budgetArgs,
		Example: `  cadre budget set org --period month --usd 200
  cadre budget set agent reviewer --period day --tokens 2000000 --threshold 50,90
  cadre budget set session ses_01… --tokens 100000`,
		ValidArgs: budgetScopes,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := f.budget(args)
			if err != nil {
				return err
			}
			if tokens < 0 || usd < 0 || math.IsNaN(usd) || tokens == 0 && usd == 0 {
				return usage("say what the budget bounds: --tokens, --usd or both, above 0")
			}
			b.MaxTokens, b.MaxUsd, b.Thresholds = tokens, usd, thresholds
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.budgets.Set(cmd.Context(), connect.NewRequest(&budgetv1.SetBudgetRequest{Budget: b, IdempotencyKey: keyOr("")}))
			if err != nil {
				return err
			}
			return c.showBudget(res.Msg)
		},
	}
	f.add(cmd)
	cmd.Flags().Int64Var(&tokens, "tokens", 0, "most tokens, input and output together (default: no bound)")
	cmd.Flags().Float64Var(&usd, "usd", 0, "most US dollars (default: no bound)")
	cmd.Flags().Int32SliceVar(&thresholds, "threshold", nil, "percentages at which an event tells of it (default: 80,100)")
	c.outputFlag(cmd)
	return cmd
}

func (c *app) budgetGetCommand() *cobra.Command {
	var f budgetFlags
	cmd := &cobra.Command{
		Use: "get SCOPE [NAME]", Short: "Show a budget and what is used of it", Args: budgetArgs, ValidArgs: budgetScopes,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := f.budget(args)
			if err != nil {
				return err
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.budgets.Get(cmd.Context(), connect.NewRequest(&budgetv1.GetBudgetRequest{
				Org: b.GetOrg(), Scope: b.GetScope(), Subject: b.GetSubject(), Period: b.GetPeriod(),
			}))
			if err != nil {
				return err
			}
			return c.showBudget(res.Msg)
		},
	}
	f.add(cmd)
	c.outputFlag(cmd)
	return cmd
}

func (c *app) budgetListCommand() *cobra.Command {
	req := &budgetv1.ListBudgetsRequest{}
	cmd := &cobra.Command{
		Use: "list", Short: "Show the budgets of an organization and what is used of them", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.budgets.List(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return err
			}
			if c.output == "name" {
				for _, b := range res.Msg.GetBudgets() {
					c.printf("%s\n", budgetName(b))
				}
				return nil
			}
			return c.show(res.Msg, func() {
				c.budgetTable(res.Msg.GetBudgets())
				if res.Msg.GetTruncated() {
					c.note("there are more; `cadre budget get` shows any of them")
				}
			})
		},
	}
	cmd.Flags().StringVar(&req.Org, "org", "", "organization (default: default)")
	c.outputFlag(cmd)
	return cmd
}

func (c *app) budgetDeleteCommand() *cobra.Command {
	var f budgetFlags
	cmd := &cobra.Command{
		Use: "delete SCOPE [NAME]", Short: "Delete a budget", Args: budgetArgs, ValidArgs: budgetScopes,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := f.budget(args)
			if err != nil {
				return err
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.budgets.Delete(cmd.Context(), connect.NewRequest(&budgetv1.DeleteBudgetRequest{
				Org: b.GetOrg(), Scope: b.GetScope(), Subject: b.GetSubject(), Period: b.GetPeriod(), IdempotencyKey: keyOr(""),
			}))
			if err != nil {
				return err
			}
			if c.output == "name" {
				c.printf("%s\n", budgetName(res.Msg))
				return nil
			}
			return c.show(res.Msg, func() { c.printf("budget of %s deleted\n", budgetName(res.Msg)) })
		},
	}
	f.add(cmd)
	c.outputFlag(cmd)
	return cmd
}

func (c *app) showBudget(b *budgetv1.Budget) error {
	if c.output == "name" {
		c.printf("%s\n", budgetName(b))
		return nil
	}
	return c.show(b, func() { c.budgetTable([]*budgetv1.Budget{b}) })
}

// budgetName is a budget's name, for people.
func budgetName(b *budgetv1.Budget) string {
	name := b.GetScope().String() + " " + b.GetSubject()
	if b.GetPeriod() != 0 {
		name += " per " + b.GetPeriod().String()
	}
	return name
}

func (c *app) budgetTable(all []*budgetv1.Budget) {
	if len(all) == 0 {
		c.note("no budgets")
		return
	}
	w := tabwriter.NewWriter(c.out, 0, 4, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "SCOPE\tNAME\tPERIOD\tTOKENS\tCOST\tUNDER WAY\tBEGINS ANEW")
	for _, b := range all {
		s := b.GetSpend()
		period, anew := "-", "-"
		if b.GetPeriod() != 0 {
			period, anew = b.GetPeriod().String(), b.GetResetsAt().AsTime().Format(time.RFC3339)
		}
		used, cost := fmt.Sprint(s.GetTokens()), dollars(s.GetCostNanoUsd())
		if b.GetMaxTokens() > 0 {
			used += fmt.Sprintf(" of %d", b.GetMaxTokens())
		}
		if b.GetMaxUsd() > 0 {
			cost += " of " + dollars(int64(math.Round(b.GetMaxUsd()*1e9)))
		}
		cells := []string{b.GetScope().String(), b.GetSubject(), period, used, cost, fmt.Sprintf("%d tokens", s.GetHeldTokens()), anew}
		_, _ = fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush()
}
