package gemini

import "strings"

// control is how a model is told to think.
type control int

const (
	byLevel  control = iota // a word
	byBudget                // a number of tokens
	never                   // it does not think
)

// generation is a row of what models of a generation take.
type generation struct {
	prefix      string
	control     control
	least, most int  // of a budget
	twoLevels   bool // there is nothing between LOW and HIGH
}

// generations are looked through in order; the first that begins an id counts. A
// model that nobody knows is of the newest generation.
var generations = []generation{
	{prefix: "gemini-1", control: never},
	{prefix: "gemini-2.0", control: never},
	{prefix: "gemma", control: never},
	{prefix: "learnlm", control: never},
	{prefix: "gemini-2.5-pro", control: byBudget, least: 128, most: 32768},
	{prefix: "gemini-2.5", control: byBudget, least: 0, most: 24576},
	{prefix: "gemini-3-pro", control: byLevel, twoLevels: true},
	{prefix: "", control: byLevel},
}

func generationOf(id string) generation {
	for _, g := range generations {
		if strings.HasPrefix(id, g.prefix) {
			return g
		}
	}
	return generation{}
}

// budgets are shares of thought in tokens; max is the most that a model takes.
var budgets = map[string]int{"none": 0, "minimal": 512, "low": 1024, "medium": 8192, "high": 24576, "max": 1 << 20}

// levels are the API's words. Models that take a level cannot all be told not to
// think, or to think less than that; LOW and HIGH are what all take.
var levels = map[string]string{"none": "LOW", "minimal": "LOW", "low": "LOW", "medium": "MEDIUM", "high": "HIGH", "max": "HIGH"}

// think gives the thinking's configuration; nil leaves it to the provider.
func (g generation) think(effort string) *thinking {
	t := &thinking{Include: effort != "none"}
	n, known := budgets[effort]
	switch {
	case !known || g.control == never:
		return nil
	case g.control == byBudget:
		n = min(max(n, g.least), g.most)
		t.Budget = &n
	case g.twoLevels && effort == "medium":
		t.Level = "HIGH"
	default:
		t.Level = levels[effort]
	}
	return t
}
