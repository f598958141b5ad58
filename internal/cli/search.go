package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	searchv1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/search/v1"
	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/resource"
)

func (c *app) searchCommand() *cobra.Command {
	req := &searchv1.SearchRequest{}
	cmd := &cobra.Command{
		Use: "search [QUERY...]", Short: "Find resources of every kind, and what was said in turns",
		Long: `Finds what has all the words of the query: in names, labels, descriptions and texts
of resources, and in the inputs and answers of turns. The last word may be the
beginning of one, with up to two letters only in names and labels; letter case and
accents make no difference. A word in a name counts most. Without a query the newest
resources are shown.

A turn is found with the passage in which a word stands and with its session, which
` + "`cadre attach`" + ` shows.`,
		Example: `  cadre search release notes
  cadre search --kind agents review
  cadre search --kind executions 'disk full' -o json
  cadre search --org '*' --page 2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Query = strings.Join(args, " ")
			if err := searchRequest(req); err != nil {
				return err
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.search.Search(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return err
			}
			if c.output == "name" {
				for _, h := range res.Msg.GetHits() {
					c.printf("%s\n", hitName(h))
				}
				return nil
			}
			return c.show(res.Msg, func() { c.hitTable(res.Msg) })
		},
	}
	cmd.Flags().StringArrayVar(&req.Kinds, "kind", nil, "only resources of this kind; may be given several times")
	cmd.Flags().StringVar(&req.Org, "org", "", "organization; * for all (default: default)")
	cmd.Flags().Int32Var(&req.Page, "page", 1, "which page to show")
	cmd.Flags().Int32Var(&req.PageSize, "limit", 20, "how many a page has, at most 100")
	cmd.Flags().BoolVar(&req.ExcludePublic, "exclude-public", false, "leave out what is public")
	cmd.Flags().BoolVar(&req.CrossOrgPublic, "cross-org-public", false, "also find what is public in other organizations")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kindNames("List"), cobra.ShellCompDirectiveNoFileComp))
	c.outputFlag(cmd)
	return cmd
}

// searchRequest checks what the server would take for something else.
func searchRequest(req *searchv1.SearchRequest) error {
	if req.GetPage() < 1 {
		return usage("--page %d cannot be: the first page is 1", req.GetPage())
	}
	if req.GetPageSize() < 1 || req.GetPageSize() > 100 {
		return usage("--limit %d cannot be: write a number from 1 to 100", req.GetPageSize())
	}
	for i, word := range req.GetKinds() {
		if long := shorter[strings.ToLower(word)]; long != "" {
			req.Kinds[i] = long
		} else if _, ok := resource.ParseKind(word); !ok {
			names := kindNames("List")
			known := names
			for _, k := range resource.Kinds() {
				known = append(known, strings.ToLower(resource.Meta(k).GetName()))
			}
			return usage("--kind %s: there is no such kind.%s The kinds are %s", word, near.Hint(word, known), strings.Join(names, ", "))
		}
	}
	return nil
}

func (c *app) hitTable(res *searchv1.SearchResponse) {
	if len(res.GetHits()) == 0 {
		switch {
		case res.GetTotal() > 0:
			c.note("page %d is empty: there is %s", res.GetPage(), count(int(res.GetTotal()), "hit"))
		default:
			c.note("nothing found")
		}
		return
	}
	w := tabwriter.NewWriter(c.out, 0, 4, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "SCORE\tNAME\tAGE\tWHAT")
	for _, h := range res.GetHits() {
		_, _ = fmt.Fprintf(w, "%.2f\t%s\t%s\t%s\n", h.GetScore(), hitName(h), age(h.GetCreatedAt()), hitWords(h))
	}
	_ = w.Flush()
	shown := int64(res.GetPage()-1)*int64(res.GetPageSize()) + int64(len(res.GetHits()))
	switch {
	case res.GetMore():
		c.note("more than %d: the newest were looked at; add words or --kind", res.GetTotal())
	case shown < res.GetTotal():
		c.note("%d of %d; --page %d shows more", shown, res.GetTotal(), res.GetPage()+1)
	}
}

// hitName is what `cadre get` takes.
func hitName(h *searchv1.SearchHit) string {
	name := h.GetId()
	if h.GetSlug() != "" {
		name = h.GetSlug()
	}
	k, _ := resource.ParseKind(h.GetKind())
	if h.GetOrg() != "" && h.GetOrg() != resource.DefaultOrg && h.GetSlug() != "" && resource.Meta(k).GetPrefix() != "" {
		name = h.GetOrg() + "/" + name
	}
	return strings.ToLower(resource.Meta(k).GetName()) + "/" + name
}

// hitWords says in a line what was found.
func hitWords(h *searchv1.SearchHit) string {
	what := h.GetSnippet()
	if what == "" {
		what = h.GetDescription()
	}
	if what == "" {
		what = h.GetName()
	}
	what = oneLine(what, 100)
	if h.GetSessionId() != "" && h.GetSessionId() != h.GetId() {
		what = h.GetSessionId() + "  " + what
	}
	return what
}
